"""The vector index: exact and by bit scan, extended, merged, with rows that go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from dowse._model import Matrix, Scores, Vector
from dowse._store.replicas import ReplicaManifest, verify
from dowse._store.sql.database import Database, VectorRow
from dowse._store.vectors import VectorIndex, VectorReplica


@dataclass
class Rows:
    """Vectors by key, as a replica sees the truth."""

    dimensions: int
    identity: str = "index/model"
    generation: int = 0
    generation_id: str = ""
    vectors: dict[int, Vector] = field(default_factory=dict)

    def vector_rows(self, among: Iterable[int] | None = None) -> Iterator[VectorRow]:
        wanted = self.vectors if among is None else [key for key in among if key in self.vectors]
        for key in sorted(wanted):
            yield key, self.vectors[key].astype("<f2").tobytes()

    def nearest(self, vector: Vector, limit: int) -> Scores:
        """What an exact search over halves must give."""
        kept = {key: one.astype(np.float16).astype(np.float64) for key, one in self.vectors.items()}
        exact = vector.astype(np.float64)
        scores = [(key, float(np.float32(one @ exact))) for key, one in kept.items()]
        return sorted(scores, key=lambda pair: (-pair[1], pair[0]))[:limit]


class Driver:
    """A replica and the rows it follows."""

    def __init__(self, folder: Path, dimensions: int, exact_rows: int) -> None:
        self.rows = Rows(dimensions)
        self.replica = VectorReplica(folder, exact_rows)
        self.folder = folder
        self.manifest = self.replica.create(cast("Database", self.rows))
        self._take(None)

    def change(self, put: dict[int, Vector], gone: Iterable[int] = ()) -> None:
        gone = list(gone)
        for key in gone:
            self.rows.vectors.pop(key, None)
        self.rows.vectors |= put
        self._take(sorted({*put, *gone}))

    def _take(self, changed: list[int] | None) -> None:
        self.rows.generation += 1
        self.manifest = self.replica.take(self.manifest, cast("Database", self.rows), changed)
        verify(self.folder / self.manifest.folder, self.manifest.files)

    def open(self) -> VectorIndex:
        return self.replica.open(self.manifest)

    def segments(self) -> list[int]:
        return list(self.manifest.detail.values())


def clustered(count: int, dimensions: int, seed: int = 1) -> Matrix:
    """Unit vectors around a hundred centres, as embeddings of texts lie."""
    centres = np.random.default_rng(0).standard_normal((100, dimensions))
    rng = np.random.default_rng(seed)
    rows = centres[rng.integers(100, size=count)]
    rows = rows + 0.7 * rng.standard_normal((count, dimensions))
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / lengths, dtype=np.float32)


def numbered(vectors: Matrix, first: int = 1) -> dict[int, Vector]:
    return dict(enumerate(vectors, first))


@pytest.mark.parametrize("exact_rows", [20_000, 0])
def test_rows_come_go_and_change(tmp_path: Path, exact_rows: int) -> None:
    driver = Driver(tmp_path, 48, exact_rows)
    vectors = clustered(400, 48)
    rng = np.random.default_rng(5)
    fresh = 1
    for _ in range(25):
        known = list(driver.rows.vectors)
        put = numbered(vectors[rng.integers(400, size=rng.integers(0, 30))], fresh)
        fresh += len(put)
        gone = rng.permutation(known)[: rng.integers(0, 8)].tolist()
        again = [key for key in rng.permutation(known)[:2].tolist() if key not in gone]
        put |= {key: vectors[rng.integers(400)] for key in again if rng.integers(2)}
        driver.change(put, gone)
        index = driver.open()
        assert index.keys() == set(driver.rows.vectors)
        query = vectors[rng.integers(400)]
        for limit in (1, 7, 1000):
            assert index.nearest(query, limit) == driver.rows.nearest(query, limit)


def test_the_bit_scan_finds_what_the_exact_search_finds(tmp_path: Path) -> None:
    vectors = clustered(5000, 384)
    driver = Driver(tmp_path, 384, exact_rows=0)
    driver.change(numbered(vectors))
    index = driver.open()
    exact = VectorReplica(tmp_path, exact_rows=10_000).open(driver.manifest)
    found = expected = 0
    for query in clustered(60, 384, seed=2):
        best = {key for key, _ in exact.nearest(query, 30)}
        scanned = index.nearest(query, 30)
        assert scanned == sorted(scanned, key=lambda pair: (-pair[1], pair[0]))
        found += len(best & {key for key, _ in scanned})
        expected += len(best)
    assert found / expected >= 0.99


def test_the_bit_scan_scores_exactly(tmp_path: Path) -> None:
    vectors = clustered(3000, 64)
    driver = Driver(tmp_path, 64, exact_rows=0)
    driver.change(numbered(vectors))
    found = driver.open().nearest(vectors[17], 5)
    expected = dict(driver.rows.nearest(vectors[17], 3000))
    assert found[0][0] == 18
    assert found == [(key, expected[key]) for key, _ in found]


def test_the_bit_scan_passes_over_rows_that_are_gone(tmp_path: Path) -> None:
    driver = Driver(tmp_path, 32, exact_rows=0)
    driver.change(numbered(clustered(3000, 32)))
    driver.change({}, gone=range(1, 1400))
    index = driver.open()
    assert index.keys() == set(range(1400, 3001))
    query = driver.rows.vectors[1400]
    assert {key for key, _ in index.nearest(query, 3000)} == set(range(1400, 3001))


def test_segments_stay_few_and_grow_like_a_counter(tmp_path: Path) -> None:
    driver = Driver(tmp_path, 8, exact_rows=100)
    vectors = clustered(10, 8)
    rewritten = 0
    for batch in range(60):
        driver.change(numbered(vectors, 1 + 10 * batch))
        rewritten += driver.segments()[-1]
        assert len(driver.segments()) <= 12
    assert sum(driver.segments()) == 600
    assert rewritten < 600 * 10  # not once per batch
    assert driver.open().keys() == set(range(1, 601))


def test_files_that_no_manifest_mentions_are_never_read(tmp_path: Path) -> None:
    driver = Driver(tmp_path, 8, exact_rows=100)
    driver.change(numbered(clustered(10, 8)))
    before = driver.manifest
    expected = driver.open().keys()
    driver.change(numbered(clustered(10, 8), 11))
    driver.manifest = before  # a writer that died before its manifest was written
    assert driver.open().keys() == expected
    driver.change(numbered(clustered(5, 8), 21))
    assert driver.open().keys() == {*expected, *range(21, 26)}


def test_a_mostly_dead_index_is_written_again(tmp_path: Path) -> None:
    driver = Driver(tmp_path, 8, exact_rows=100)
    driver.change(numbered(clustered(1000, 8)))
    driver.change({}, gone=range(1, 991))
    assert sum(driver.segments()) == 10
    assert driver.open().keys() == set(range(991, 1001))


def test_keys_without_a_vector_are_nothing_to_remember(tmp_path: Path) -> None:
    driver = Driver(tmp_path, 8, exact_rows=100)
    driver.change(numbered(clustered(100, 8)))
    driver.change({}, gone=range(500, 900))  # chunks that came without a vector
    assert driver.open().keys() == set(range(1, 101))
    driver.change(numbered(clustered(1, 8), 600))
    assert driver.open().keys() == {*range(1, 101), 600}


@pytest.mark.parametrize("exact_rows", [100, 0])
def test_zero_vectors(tmp_path: Path, exact_rows: int) -> None:
    driver = Driver(tmp_path, 8, exact_rows)
    driver.change({1: np.zeros(8, np.float32), 2: np.eye(8, dtype=np.float32)[0]})
    index = driver.open()
    assert index.nearest(np.eye(8, dtype=np.float32)[0], 10) == [(2, 1.0), (1, 0.0)]
    assert index.nearest(np.zeros(8, np.float32), 10) == [(1, 0.0), (2, 0.0)]


@pytest.mark.parametrize("exact_rows", [100, 0])
@pytest.mark.parametrize("dimensions", [0, 1, 7, 8, 63, 65])
def test_any_number_of_dimensions(tmp_path: Path, dimensions: int, exact_rows: int) -> None:
    driver = Driver(tmp_path, dimensions, exact_rows)
    assert driver.open().nearest(np.ones(dimensions, np.float32), 10) == []
    if dimensions:
        driver.change(numbered(clustered(50, dimensions)))
        query = clustered(1, dimensions, seed=9)[0]
        assert driver.open().nearest(query, 50) == driver.rows.nearest(query, 50)


@pytest.mark.parametrize("exact_rows", [10_000, 0])
def test_equal_scores_come_by_key_also_at_the_cut(tmp_path: Path, exact_rows: int) -> None:
    driver = Driver(tmp_path, 16, exact_rows)
    twin = clustered(1, 16)[0]
    driver.change(dict.fromkeys(range(2000, 0, -1), twin))
    assert [key for key, _ in driver.open().nearest(twin, 5)] == [1, 2, 3, 4, 5]


def test_a_manifest_of_the_same_rows_is_the_same(tmp_path: Path) -> None:
    manifests: list[ReplicaManifest] = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        driver = Driver(tmp_path / name, 16, 10)
        driver.change(numbered(clustered(50, 16)))
        manifests.append(driver.manifest)
    assert manifests[0].files == manifests[1].files


@pytest.mark.parametrize(("exact_rows", "allowed"), [(10_000, 500), (1000, 900), (1000, 3000)])
def test_only_allowed_keys_are_found_and_none_is_missed_for_it(
    tmp_path: Path, exact_rows: int, allowed: int
) -> None:
    driver = Driver(tmp_path, 96, exact_rows)
    vectors = clustered(6000, 96)
    driver.change(numbered(vectors[:4000]))
    driver.change(numbered(vectors[4000:], 4001), gone=range(1, 50))
    index = driver.open()
    among = np.sort(np.random.default_rng(7).permutation(6000)[:allowed] + 1)
    wanted = set(among.tolist())
    missed = missed_without = 0
    for query in clustered(20, 96, seed=3):
        everything = driver.rows.nearest(query, 6000)
        expected = [pair for pair in everything if pair[0] in wanted][:20]
        found = index.nearest(query, 20, among)
        assert set(found) <= set(everything)
        missed += len(set(expected) - set(found))
        missed_without += len(set(everything[:20]) - set(index.nearest(query, 20)))
    assert missed <= missed_without
    if allowed <= exact_rows:
        assert missed == 0


@pytest.mark.parametrize("exact_rows", [100, 0])
def test_vectors_come_back_by_key(tmp_path: Path, exact_rows: int) -> None:
    driver = Driver(tmp_path, 8, exact_rows)
    assert driver.open().of([1, 2]) == {}
    vectors = clustered(30, 8)
    driver.change(numbered(vectors[:20]))
    driver.change(numbered(vectors[20:], 21), gone=[3])
    found = driver.open().of([25, 3, 99, 1])
    assert list(found) == [25, 1]
    assert found[25].tolist() == vectors[24].astype(np.float16).astype(np.float32).tolist()
    assert found[1].dtype == np.float32


def test_the_next_generation_reads_only_new_segments(tmp_path: Path) -> None:
    driver = Driver(tmp_path, 8, exact_rows=0)
    driver.change(numbered(clustered(100, 8)))
    before = driver.open()
    driver.change(numbered(clustered(2, 8), 101), gone=[1])
    after = driver.open()
    assert after._segments[0] is before._segments[0]
    assert after.keys() == set(range(2, 103))
    assert before.keys() == set(range(1, 101))


def test_a_segment_of_the_same_number_with_other_rows_is_read(tmp_path: Path) -> None:
    driver = Driver(tmp_path, 8, exact_rows=0)
    manifest = driver.manifest
    driver.change(numbered(clustered(10, 8)))
    lost = driver.open()
    driver.rows.vectors.clear()
    driver.manifest = manifest  # a backup was put back
    driver.change(numbered(clustered(20, 8, seed=3)))
    assert driver.segments() == [20]
    assert driver.open().keys() == set(range(1, 21))
    assert lost.is_whole is False


def test_codes_that_an_older_version_wrote_row_by_row_are_read(tmp_path: Path) -> None:
    driver = Driver(tmp_path, 128, exact_rows=0)
    driver.change(numbered(clustered(6000, 128)))
    query = clustered(1, 128, seed=4)[0]
    expected = driver.open().nearest(query, 20)
    (number,) = driver.manifest.detail
    path = tmp_path / driver.manifest.folder / f"codes-{number}.npy"
    codes = np.load(path)
    assert codes.flags.f_contiguous
    np.save(path, np.ascontiguousarray(codes))
    assert (
        VectorReplica(tmp_path, exact_rows=0).open(driver.manifest).nearest(query, 20) == expected
    )


def test_rows_that_came_in_another_order_than_their_keys_are_found(tmp_path: Path) -> None:
    driver = Driver(tmp_path, 16, exact_rows=0)
    vectors = clustered(40, 16)
    driver.change(numbered(vectors[20:], 21))
    driver.change(numbered(vectors[:20], 1))
    assert len(driver.segments()) == 1
    index = driver.open()
    assert list(index.of([3, 30, 50])) == [3, 30]
    among = np.array([2, 19, 22, 40, 77])
    assert {key for key, _ in index.nearest(vectors[1], 10, among)} == {2, 19, 22, 40}
