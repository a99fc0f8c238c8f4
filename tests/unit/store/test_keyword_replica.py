"""The keyword index: made, extended, replayed, and open at one commit only."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from documents import PlainAnalyzer, stream_of
from dowse._model import Fields
from dowse._model.ports import Analyzer
from dowse._store.keyword import KeywordIndex, KeywordReplica
from dowse._store.replicas import ReplicaManifest, verify
from dowse._store.sql.database import Database, KeywordRow
from dowse._text.analyzer import TextAnalyzer
from dowse._text.options import KeywordOptions
from dowse.errors import Damaged, DowseError


@dataclass
class Rows:
    """Texts by key, as a replica sees the truth."""

    identity: str = "index/model"
    generation: int = 0
    generation_id: str = ""
    texts: dict[int, str] = field(default_factory=dict)

    def keyword_rows(
        self, analyzer: Analyzer, among: Iterable[int] | None = None
    ) -> Iterator[KeywordRow]:
        wanted = self.texts if among is None else [key for key in among if key in self.texts]
        for key in sorted(wanted):
            yield key, analyzer.code_stream(self.texts[key]), ""

    def chunk_keys(self) -> set[int]:
        return set(self.texts)


class Driver:
    """A replica and the texts it follows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows = Rows()
        self.replica = KeywordReplica(folder, PlainAnalyzer())
        self.manifest = self.replica.create(self._truth)
        self.take(None)

    @property
    def _truth(self) -> Database:
        return cast("Database", self.rows)

    def change(self, put: dict[int, str], gone: Iterable[int] = ()) -> None:
        for key in gone:
            self.rows.texts.pop(key, None)
        self.rows.texts |= put
        self.take(sorted({*put, *gone}))

    def take(self, changed: list[int] | None) -> None:
        self.rows.generation += 1
        self.manifest = self.replica.take(self.manifest, self._truth, changed)

    def open(self) -> KeywordIndex:
        index = self.replica.open(self.manifest)
        assert index is not None
        return index

    def found(self, *terms: str) -> set[int]:
        return {key for key, _ in self.open().search("body", terms, 1000)}


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    return Driver(tmp_path)


def test_rows_come_go_and_change(driver: Driver) -> None:
    driver.change({1: "apple", 2: "apple pear", 3: "plum"})
    assert driver.found("apple") == {1, 2}
    driver.change({2: "cherry", 4: "apple"}, gone=[1, 77])
    assert driver.found("apple") == {4}
    assert driver.found("apple", "cherry", "plum") == {2, 3, 4}
    assert driver.open().keys() == {2, 3, 4}


def test_taking_the_same_changes_twice_is_taking_them_once(driver: Driver) -> None:
    driver.change({1: "apple", 2: "pear"})
    for _ in range(3):
        driver.take([1, 2])
    assert driver.open().keys() == {1, 2}
    assert len(driver.open().search("body", ["apple"], 10)) == 1


def test_the_manifest_lists_every_file_that_matters(driver: Driver) -> None:
    for number in range(12):
        driver.change({number: f"apple {number}"}, gone=[number - 3])
    folder = driver.folder / driver.manifest.folder
    on_disk = {path.name for path in folder.iterdir() if path.name[0] != "."}
    assert set(driver.manifest.files) == on_disk
    verify(folder, driver.manifest.files)


def test_what_a_killed_writer_left_is_swept_before_the_next_one_writes(driver: Driver) -> None:
    driver.change({1: "apple", 2: "apple"})
    folder = driver.folder / driver.manifest.folder
    segment = next(folder.glob("*.term")).stem
    committed = driver.manifest.detail["commit"]
    for stamp in range(committed, committed + 20):  # deletions that were written, not committed
        (folder / f"{segment}.{stamp}.del").write_bytes(b"half")
    (folder / "0123456789abcdef0123456789abcdef.term").write_bytes(b"half")
    driver.change({3: "apple"}, gone=[1])
    assert driver.found("apple") == {2, 3}
    assert "0123456789abcdef0123456789abcdef.term" not in driver.manifest.files


def test_segments_are_merged(driver: Driver) -> None:
    for number in range(20):
        driver.change({number: f"apple {number}"})
    assert driver.open()._searcher.num_segments < 10
    assert driver.found("apple") == set(range(20))


def test_an_index_opens_only_at_the_commit_of_its_manifest(driver: Driver) -> None:
    driver.change({1: "apple"})
    old, opened = driver.manifest, driver.open()
    driver.change({2: "apple"})
    assert driver.replica.open(old) is None
    assert not driver.replica.is_current(old)
    assert opened.keys() == {1}  # what is open stays as it was
    assert driver.open().keys() == {1, 2}


def test_a_folder_that_is_gone_is_damage(driver: Driver) -> None:
    with pytest.raises(Damaged):
        driver.replica.open(ReplicaManifest("index/model", 1, "keyword-none", {}, {"commit": 1}))


def test_an_interrupted_change_leaves_the_last_commit_and_no_lock(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.change({1: "apple"})

    def interrupt(*_: object) -> Iterator[KeywordRow]:
        yield 2, "apple", ""
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Rows, "keyword_rows", interrupt)
        with pytest.raises(KeyboardInterrupt) as caught:
            driver.change({2: "apple"})
    assert caught.traceback  # which keeps all variables alive, a writer among them
    assert driver.open().keys() == {1}
    driver.take([2])
    assert driver.open().keys() == {1, 2}


def test_a_second_writer_of_the_same_folder_is_reported(driver: Driver) -> None:
    entered, leave = threading.Event(), threading.Event()

    class Slow(Rows):
        def keyword_rows(self, *_: object) -> Iterator[KeywordRow]:
            entered.set()
            leave.wait(30)
            yield from ()

    thread = threading.Thread(
        target=driver.replica.take, args=(driver.manifest, cast("Database", Slow()), [])
    )
    thread.start()
    assert entered.wait(30)
    with pytest.raises(DowseError):
        driver.take([])
    leave.set()
    thread.join()


def test_terms_of_any_length_are_taken(driver: Driver) -> None:
    driver.change({1: "x" * 100_000 + " apple", 2: "日" * 30_000})
    assert driver.found("apple") == {1}
    assert driver.open().keys() == {1, 2}


def test_a_text_without_terms_is_held_but_never_found(driver: Driver) -> None:
    driver.change({1: "", 2: "apple"})
    assert driver.open().keys() == {1, 2}
    assert driver.found("apple", "") == {2}


@pytest.mark.parametrize("listed", [0, 1000])
def test_listing_keys_and_picking_hits_find_the_same(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, listed: int
) -> None:
    monkeypatch.setattr("dowse._store.keyword._LISTED", listed)
    rng = random.Random(4)
    words = [f"w{number}" for number in range(12)]
    for first in range(0, 600, 100):  # several segments, with holes in them
        texts = {first + n: " ".join(rng.choices(words, k=rng.randint(1, 9))) for n in range(100)}
        driver.change(texts, gone=range(first - 95, first - 60))
    index = driver.open()
    for share in (1, 3, 40):
        among = np.array(range(0, 600, share), np.int64)
        for size in (1, 3, 12):
            terms = rng.sample(words, size)
            everything = index.search("body", terms, 1000)
            expected = [pair for pair in everything if pair[0] % share == 0]
            for limit in (1, 7, 50, 1000):
                assert index.search("body", terms, limit, among) == expected[:limit]
                assert index.search("body", terms, limit) == everything[:limit]


def test_phrases_whatever_weight_their_terms_have(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(2)
    streams: dict[int, list[tuple[str, int]]] = {}
    for key in range(400):
        position, stream = rng.choice([0, 7]), streams.setdefault(key, [])
        for _ in range(rng.randint(1, 8)):
            stream += [(rng.choice("abc"), position)] * rng.randint(1, 4)
            position += rng.choice([1, 1, 1, 100])

    def rows(*_: object) -> Iterator[KeywordRow]:
        return ((key, stream_of(stream), "") for key, stream in streams.items())

    monkeypatch.setattr(Rows, "keyword_rows", rows)
    driver.take(None)
    assert_phrases(driver.open(), streams, "abc")


def test_phrases_of_fields_whatever_they_weigh(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(2)
    analyzer = TextAnalyzer(KeywordOptions(title=2.5, headers=0.6, tags=3, stopwords=False))
    letters = ["aa", "bb", "cc"]

    def text() -> str:
        return " ".join(rng.choices(letters, k=rng.randint(0, 5)))

    chunks = {key: (Fields(title=text(), tags=(text(),)), [text()], text()) for key in range(400)}

    def rows(*_: object) -> Iterator[KeywordRow]:
        return ((key, analyzer.chunk_stream(*chunk), "") for key, chunk in chunks.items())

    monkeypatch.setattr(Rows, "keyword_rows", rows)
    driver.take(None)
    placed = {key: analyzer.chunk_terms(*chunk) for key, chunk in chunks.items()}
    assert_phrases(driver.open(), placed, letters)


def assert_phrases(
    index: KeywordIndex, streams: Mapping[int, Sequence[tuple[str, int]]], letters: Sequence[str]
) -> None:
    for size in (1, 2, 3, 4):
        for phrase in product(letters, repeat=size):
            expected = [
                key
                for key, stream in streams.items()
                for start in {position for _, position in stream}
                if all((term, start + step) in stream for step, term in enumerate(phrase))
            ]
            assert index.phrase("body", phrase).tolist() == sorted(set(expected))


def test_frequencies_pass_over_what_is_deleted(driver: Driver) -> None:
    driver.change(dict.fromkeys(range(10), "apple"))
    driver.change({}, gone=[1, 2, 3])
    assert driver.open().frequencies("body", ["apple", "pear"]) == {"apple": 7, "pear": 0}
    assert driver.open().size == 7
