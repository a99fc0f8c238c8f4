"""Another vector index joins the embedded store by the replica port alone."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from documents import STAMP, PlainAnalyzer, batch, make_document, vector_of
from dowse._model import ChunkKey, Keys, Scores, Vector
from dowse._model.ports import Store
from dowse._store.replicas import FileSum, ReplicaManifest, describe, sum_files
from dowse._store.sql.database import Database, decode_vector
from dowse._store.store import EmbeddedStore


class OneFile:
    """All vectors in memory."""

    is_whole = True

    def __init__(self, path: Path) -> None:
        content = np.load(path)
        pairs = zip(content["keys"].tolist(), content["vectors"], strict=True)
        self._vectors: dict[ChunkKey, Vector] = dict(pairs)

    def keys(self) -> set[ChunkKey]:
        return set(self._vectors)

    def nearest(self, vector: Vector, limit: int, among: Keys | None = None) -> Scores:
        allowed = self.keys() if among is None else self.keys() & set(among.tolist())
        scores = [(key, float(self._vectors[key] @ vector)) for key in allowed]
        return sorted(scores, key=lambda pair: (-pair[1], pair[0]))[:limit]

    def of(self, keys: Sequence[ChunkKey]) -> dict[ChunkKey, Vector]:
        return {key: self._vectors[key] for key in keys if key in self._vectors}


class OneFileReplica:
    """Writes one new file with every batch: as simple as a replica can be."""

    name = "flat"
    terms_only = False

    def __init__(self, base: Path) -> None:
        self._base = base

    def create(self, database: Database) -> ReplicaManifest:
        folder = self._base / f"{self.name}-{uuid.uuid4().hex}"
        folder.mkdir()
        return ReplicaManifest(database.identity, -1, folder.name)

    def take(
        self, manifest: ReplicaManifest, database: Database, changed: list[ChunkKey] | None
    ) -> ReplicaManifest:
        del changed  # all are taken
        rows = [(key, decode_vector(kept)) for key, kept in database.vector_rows()]
        name = f"{database.generation}.npz"
        np.savez(
            self._base / manifest.folder / name,
            keys=np.array([key for key, _ in rows], np.int64),
            vectors=np.array([vector for _, vector in rows], np.float32),
        )
        files = sum_files(self._base / manifest.folder, [name], {})
        return describe(database, manifest.folder, files, {})

    def is_current(self, manifest: ReplicaManifest) -> bool:
        return bool(manifest.files)

    def left_of(self, manifest: ReplicaManifest) -> Mapping[str, FileSum]:
        return manifest.files

    def is_worn(self, manifest: ReplicaManifest, database: Database, *, thorough: bool) -> bool:
        return bool(manifest.files) and database.is_empty() and thorough

    def open(self, manifest: ReplicaManifest) -> OneFile:
        (name,) = manifest.files
        return OneFile(self._base / manifest.folder / name)


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[list[EmbeddedStore]]:
    made = [
        EmbeddedStore(tmp_path / "usual", PlainAnalyzer()),
        EmbeddedStore(tmp_path / "other", PlainAnalyzer(), vectors=OneFileReplica),
    ]
    for store in made:
        with store.write() as writing:
            writing.start(STAMP)
            for number in range(5):
                writing.apply(batch(make_document(f"{number}.md", f"number {number}\n\nmore")))
            writing.apply(batch(gone=["3.md"]))
            writing.tidy(100, thorough=True)
    yield made
    for store in made:
        store.close()


def answers(store: Store) -> tuple[list[ChunkKey], list[float], list[ChunkKey]]:
    with store.read() as reading:
        found = reading.vectors.nearest(vector_of("number 2"), 5)
        some = reading.matching([])[::2]
        among = [key for key, _ in reading.vectors.nearest(vector_of("more"), 9, some)]
        return [key for key, _ in found], [round(score, 5) for _, score in found], among


def test_another_vector_index_answers_as_the_usual_one(stores: list[EmbeddedStore]) -> None:
    usual, other = stores
    assert answers(other) == answers(usual)
    assert other.check() == usual.check() == []


def test_another_vector_index_is_checked_and_rebuilt_like_the_usual_one(
    stores: list[EmbeddedStore], tmp_path: Path
) -> None:
    usual, _ = stores
    (file,) = (tmp_path / "other").glob("flat-*/*.npz")
    file.write_bytes(file.read_bytes()[:-1])
    again = EmbeddedStore(tmp_path / "other", PlainAnalyzer(), vectors=OneFileReplica)
    assert [finding.repair for finding in again.check()] == ["dowse doctor --repair"]
    again.repair()
    assert again.check() == []
    assert answers(again) == answers(usual)
    again.close()


def test_a_reading_looks_at_the_truth_once(
    stores: list[EmbeddedStore], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del stores
    made: list[Database] = []
    first = Database.__init__

    def counted(database: Database, *given: object) -> None:
        made.append(database)
        first(database, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Database, "__init__", counted)
    store = EmbeddedStore(tmp_path / "usual", PlainAnalyzer())
    with store.read() as reading:
        assert reading.catalogue.counts().documents == 4
    assert len(made) == 1
    store.close()
