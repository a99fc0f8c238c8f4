"""Every file of the replicas is damaged in every way: it is noticed, told, and mended."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from documents import STAMP, PlainAnalyzer, batch, make_document, vector_of
from dowse._model import Announce, Event, silent
from dowse._store.keyword import KeywordReplica
from dowse._store.replicas import ReplicaManifest, write_manifest
from dowse._store.store import EmbeddedStore
from dowse._store.vectors import VectorReplica
from dowse.errors import Damaged

_REPAIR = "dowse doctor --repair"


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0b0001_0000
    path.write_bytes(content)


def delete(path: Path) -> None:
    path.unlink()


HARMS: list[Callable[[Path], None]] = [truncate, flip_a_bit, delete]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index with several segments in both replicas, and deletions in each."""
    folder = tmp_path_factory.mktemp("damage") / "index"
    store = EmbeddedStore(folder, PlainAnalyzer())
    with store.write() as writing:
        writing.start(STAMP)
        writing.apply(
            batch(
                *(make_document(f"{n}.md", f"word{n} all\n\n```\ncode{n}\n```") for n in range(20))
            )
        )
        writing.apply(batch(make_document("1.md", "changed all"), gone=["2.md"]))
    store.close()
    return folder


def files(index: Path) -> list[str]:
    """All files of the replicas but those in which tantivy only keeps notes for cleaning up."""
    found = [path for path in index.rglob("*") if path.is_file() and path.name[0] != "."]
    names = [path.relative_to(index).as_posix() for path in found]
    return sorted(name for name in names if name.startswith(("keyword", "vectors")))


class Copies:
    """Copies of an index to damage, and stores that have never seen them before."""

    def __init__(self, index: Path, folder: Path) -> None:
        self._index = index
        self._folder = folder
        self._stores: list[EmbeddedStore] = []

    def copy(self) -> Path:
        folder = self._folder / f"copy{len(list(self._folder.iterdir()))}"
        shutil.copytree(self._index, folder)
        return folder

    def open(self, folder: Path, announce: Announce = silent) -> EmbeddedStore:
        self._stores.append(EmbeddedStore(folder, PlainAnalyzer(), announce))
        return self._stores[-1]

    def close(self) -> None:
        for store in self._stores:
            store.close()


@pytest.fixture
def copies(index: Path, tmp_path: Path) -> Iterator[Copies]:
    copies = Copies(index, tmp_path)
    yield copies
    copies.close()


def answers(store: EmbeddedStore) -> dict[str, Any]:
    """What the replicas answer; scores of keyword search depend on deletions not yet merged."""
    with store.read() as reading:
        return {
            "all": {key for key, _ in reading.keyword.search("body", ["all"], 100)},
            "word7": {key for key, _ in reading.keyword.search("body", ["word7"], 100)},
            "code": {key for key, _ in reading.keyword.search("code", ["code7"], 100)},
            "nearest": [
                (key, round(score, 4)) for key, score in reading.vectors.nearest(vector_of("x"), 99)
            ],
        }


def remove_replicas(folder: Path) -> None:
    for path in [*folder.glob("keyword*"), *folder.glob("vectors*")]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def assert_sound(store: EmbeddedStore, expected: dict[str, Any]) -> None:
    assert store.check() == []
    assert answers(store) == expected


def test_the_index_under_test_has_every_kind_of_file(index: Path) -> None:
    kinds = {name.split("/")[-1].split("-")[0].split(".")[-1] for name in files(index)}
    assert kinds == {
        *("json", "term", "idx", "pos", "store", "fast", "fieldnorm", "del"),
        *("keys", "vectors", "codes", "dead", "npy"),
    }


def _heals_without_a_word(name: str, harm: Callable[[Path], None]) -> bool:
    """Without a manifest there is nothing that could be damaged: the replica is built anew."""
    return harm is delete and name in {"keyword.json", "vectors.json"}


@pytest.mark.parametrize("harm", HARMS)
def test_a_reader_notices_damage_and_repair_fixes_it(
    copies: Copies, index: Path, harm: Callable[[Path], None]
) -> None:
    expected = answers(copies.open(index))
    for name in files(index):
        folder = copies.copy()
        harm(folder / name)
        complaints = copies.open(folder).check()
        assert complaints, name
        assert {finding.repair for finding in complaints} == {_REPAIR}
        if _heals_without_a_word(name, harm):
            assert answers(copies.open(folder)) == expected  # built anew without a word
        else:
            with pytest.raises(Damaged) as caught:
                answers(copies.open(folder))
            assert caught.value.hint == f"Repair it with: {_REPAIR}", name
            copies.open(folder).repair()
        assert_sound(copies.open(folder), expected)


@pytest.mark.parametrize("harm", HARMS)
def test_a_writer_fixes_damage_on_its_own_and_says_so(
    copies: Copies, index: Path, harm: Callable[[Path], None]
) -> None:
    expected = answers(copies.open(index))
    for name in files(index):
        folder = copies.copy()
        harm(folder / name)
        events: list[Event] = []
        store = copies.open(folder, events.append)
        with store.write(), store.read() as reading:
            assert len(reading.keyword.search("body", ["all"], 100)) == len(expected["all"])
        told = [event.note for event in events if event.stage == "repair"]
        assert len(told) == (0 if _heals_without_a_word(name, harm) else 1), name
        assert all(note.endswith("It is built again.") for note in told)
        store.close()
        assert_sound(copies.open(folder), expected)


@pytest.mark.parametrize("harm", HARMS)
def test_notes_of_tantivy_are_reported_or_do_not_matter(
    copies: Copies, index: Path, harm: Callable[[Path], None]
) -> None:
    """They may be ahead of the commit when a writer is killed, so no sum can vouch for them."""
    expected = answers(copies.open(index))
    folder = copies.copy()
    harm(next(folder.glob("keyword-*/.managed.json")))
    for lock in folder.rglob(".*.lock"):
        lock.unlink()
    try:
        assert answers(copies.open(folder)) == expected
    except Damaged as damage:
        assert _REPAIR in damage.hint  # noqa: PT017  (either is right)
        assert copies.open(folder).check()
    store = copies.open(folder)
    with store.write() as writing:
        writing.apply(batch(make_document("new.md", "brandnew all")))
    assert_sound(copies.open(folder), answers(store))


@pytest.mark.parametrize("pattern", ["keyword-*", "vectors-*", "[kv]*-*"])
def test_deleted_folders(copies: Copies, index: Path, pattern: str) -> None:
    expected = answers(copies.open(index))
    folder = copies.copy()
    for path in folder.glob(pattern):
        shutil.rmtree(path)
    with pytest.raises(Damaged, match=_REPAIR):
        answers(copies.open(folder))
    assert copies.open(folder).check()
    copies.open(folder).repair()
    assert_sound(copies.open(folder), expected)


def test_replicas_deleted_with_their_manifests_are_built_again(copies: Copies, index: Path) -> None:
    expected = answers(copies.open(index))
    folder = copies.copy()
    remove_replicas(folder)
    assert copies.open(folder).check()
    assert answers(copies.open(folder)) == expected
    assert_sound(copies.open(folder), expected)


def test_a_replica_of_another_index_is_never_used(copies: Copies, tmp_path: Path) -> None:
    other = copies.open(tmp_path / "other")
    with other.write() as writing:
        writing.start(STAMP)
        for _ in range(2):
            writing.apply(batch(make_document("other.md", "all")))
    other.close()
    folder = copies.copy()
    remove_replicas(folder)
    for path in [*(tmp_path / "other").glob("keyword*"), *(tmp_path / "other").glob("vectors*")]:
        copy = shutil.copytree if path.is_dir() else shutil.copy
        copy(path, folder / path.name)
    with copies.open(folder).read() as reading:
        assert len(reading.keyword.search("body", ["all"], 100)) == 19
        assert len(reading.vectors.nearest(vector_of("x"), 100)) == 37


def test_an_old_manifest_heals_without_complaint(copies: Copies) -> None:
    """tantivy has committed, but the writer died before it wrote the manifest."""
    folder = copies.copy()
    old = (folder / "keyword.json").read_bytes()
    with copies.open(folder).write() as writing:
        writing.apply(batch(make_document("new.md", "brandnew all")))
    expected = answers(copies.open(folder))
    (folder / "keyword.json").write_bytes(old)
    files_before = {path.name for path in folder.glob("keyword-*")}
    events: list[Event] = []
    assert answers(copies.open(folder, events.append)) == expected
    assert events == []
    assert {path.name for path in folder.glob("keyword-*")} == files_before  # extended, not rebuilt
    assert_sound(copies.open(folder), expected)


def test_damage_that_an_interrupted_writer_left_is_rebuilt(copies: Copies) -> None:
    folder = copies.copy()
    old = (folder / "keyword.json").read_bytes()
    segments = {path.name for path in folder.glob("keyword-*/*.term")}
    with copies.open(folder).write() as writing:
        writing.apply(batch(make_document("new.md", "brandnew all")))
    (folder / "keyword.json").write_bytes(old)
    flip_a_bit(next(path for path in folder.glob("keyword-*/*.term") if path.name in segments))
    store = copies.open(folder)
    with store.read() as reading:
        assert len(reading.keyword.search("body", ["brandnew"], 9)) == 1
    assert store.check() == []


def test_an_old_commit_under_a_new_manifest_is_damage(copies: Copies) -> None:
    folder = copies.copy()
    meta = next(folder.glob("keyword-*/meta.json"))
    old = meta.read_bytes()
    with copies.open(folder).write() as writing:
        writing.apply(batch(make_document("new.md", "brandnew all")))
    meta.write_bytes(old)
    with pytest.raises(Damaged, match=_REPAIR):
        answers(copies.open(folder))


class PowerCut(BaseException):
    """Stands for the end of a process: nothing in between may catch it."""


def _cut_before_manifest(monkeypatch: pytest.MonkeyPatch, replica: str) -> None:
    def cut(path: Path, manifest: ReplicaManifest) -> None:
        if path.stem == replica:
            raise PowerCut
        write_manifest(path, manifest)

    monkeypatch.setattr("dowse._store.replicas.write_manifest", cut)


def _cut_before_take(
    monkeypatch: pytest.MonkeyPatch, replica: type[KeywordReplica | VectorReplica]
) -> None:
    def cut(*_: object) -> ReplicaManifest:
        raise PowerCut

    monkeypatch.setattr(replica, "take", cut)


@pytest.mark.parametrize("same_process", [True, False])
@pytest.mark.parametrize(
    "cut",
    [
        lambda patch: _cut_before_take(patch, KeywordReplica),
        lambda patch: _cut_before_manifest(patch, "keyword"),
        lambda patch: _cut_before_take(patch, VectorReplica),
        lambda patch: _cut_before_manifest(patch, "vectors"),
    ],
    ids=["before keyword", "keyword manifest", "before vectors", "vector manifest"],
)
def test_a_batch_that_is_kept_reaches_the_replicas_whenever_its_writer_ends(
    copies: Copies,
    monkeypatch: pytest.MonkeyPatch,
    cut: Callable[[pytest.MonkeyPatch], None],
    same_process: bool,
) -> None:
    folder = copies.copy()
    events: list[Event] = []
    store = copies.open(folder, events.append)
    with monkeypatch.context() as patch:
        cut(patch)
        with pytest.raises(PowerCut), store.write() as writing:
            writing.apply(batch(make_document("3.md", "brandnew all"), gone=["4.md"]))
    store = store if same_process else copies.open(folder, events.append)
    with store.read() as reading:
        assert len(reading.keyword.search("body", ["brandnew"], 10)) == 1
        assert (
            reading.keyword.search("body", ["word3"], 10)
            == reading.keyword.search("body", ["word4"], 10)
            == []
        )
        assert (
            len(reading.vectors.nearest(vector_of("x"), 100)) == reading.catalogue.counts().embedded
        )
    assert events == []
    assert store.check() == []


def test_check_does_not_trust_what_it_has_seen_before(copies: Copies) -> None:
    folder = copies.copy()
    store = copies.open(folder)
    assert_sound(store, answers(store))
    flip_a_bit(next(folder.glob("vectors-*/vectors-*.npy")))
    assert [finding.repair for finding in store.check()] == [_REPAIR]


def test_a_writer_that_trusted_a_file_fixes_it_when_it_turns_out_broken(copies: Copies) -> None:
    folder = copies.copy()
    events: list[Event] = []
    store = copies.open(folder, events.append)
    with store.write() as writing:
        for path in [*folder.glob("keyword-*/*"), *folder.glob("vectors-*/*")]:
            path.unlink()
        writing.apply(batch(make_document("new.md", "brandnew all")))
    with store.read() as reading:
        assert len(reading.keyword.search("body", ["all"], 100)) == 20
    assert [event.stage for event in events] == ["repair", "repair"]
    assert_sound(copies.open(folder), answers(store))
