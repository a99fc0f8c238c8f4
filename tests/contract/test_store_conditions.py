"""Which chunks meet conditions, in every store."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from documents import STAMP, PlainAnalyzer, batch, make_document
from dowse._model import Batch, Condition
from dowse._model.ports import Store
from dowse._text.matching import Sign
from store_steps import SHELF, MakeStore, apply, documents_of, fill, where


def field(name: str, *values: str, sign: Sign = "=", negated: bool = False) -> Condition:
    return Condition("field", values, negated=negated, name=name, sign=sign)


@pytest.fixture(scope="module")
def shelf(make_lasting_store: MakeStore) -> Store:
    store = make_lasting_store("shelf", PlainAnalyzer())
    fill(store, batch(*SHELF))
    return store


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (where("category", "GUIDE"), "AB"),
        (where("category", "guid"), ""),
        (where("category", ""), "G"),
        (where("category"), ""),
        (where("author", "lee"), "B"),
        (where("author", "ZOE\u0308"), "G"),
        (where("author", "x", "bo"), "B"),
        (where("author", ""), "BG"),
        (where("tag", "fruit"), "AB"),
        (where("tag", "fruit/red"), "A"),
        (where("tag", "fruit/"), ""),
        (where("tag", "red"), ""),
        (where("tag", "draft", "FRUITS"), "AG"),
        (where("title", "alpha"), "A"),
        (where("title", "STRASSE"), "G"),
        (where("title", "a"), "ABG"),
        (where("title", "%"), ""),
        (where("title", "' OR 1 = 1 --"), ""),
        (where("title", "\0"), ""),
        (where("path", "sub/b"), "B"),
        (where("path", "gamma"), "G"),
        (where("file", "ALPHA"), "A"),
        (where("file", "a.m"), "AG"),
        (where("file", "notes"), ""),
        (field("status", "in progress"), "A"),
        (field("STATUS", "Progress"), "A"),
        (field("status", "prog"), ""),
        (field("status", "in*"), "A"),
        (field("status", sign="has"), "AB"),
        (field("status", sign="empty"), "B"),
        (field("people", "bo"), "A"),
        (field("people", "nobody", "ann lee"), "A"),
        (field("done", "true"), "A"),
        (field("done", "false"), ""),
        (field("rating", "4.50"), "A"),
        (field("rating", "5", sign=">"), "B"),
        (field("rating", "4.5", sign=">="), "AB"),
        (field("rating", "4.5", sign="<"), ""),
        (field("due", "2026"), "A"),
        (field("due", "2025-05"), "B"),
        (field("due", "2026", sign="<"), "B"),
        (field("due", "2026-03-01", sign=">"), ""),
        (field("due", "2026-03-01", sign="<="), "AB"),
        (field("nobody has it", "x"), ""),
        (field("nobody has it", sign="has"), ""),
        (field("status", "' OR 1 = 1 --"), ""),
        (field("status", "("), ""),
        (where("under", "notes/"), "AB"),
        (where("under", "NOTES/SUB"), "B"),
        (where("under", "sub"), ""),
        (where("under", ""), "ABG"),
        (where("source", "md"), "A"),
        (where("source", "TXT", "markdown"), "BG"),
        (where("source", ".md"), ""),
        (where("language", "python"), "a"),
        (where("language", "JS", "python"), "ab"),
        (where("language", ""), "a"),
        (where("language", "rust"), ""),
        (where("after", bound=5.0), "AB"),
        (where("after", bound=5.1), "A"),
        (where("before", bound=5.0), "G"),
        (where("before", bound=5.1), "BG"),
        (where("after", bound=float("-inf")), "ABG"),
        (where("before", bound=float("-inf")), ""),
        (where("phrase", "red", "apple"), "ag"),
        (where("phrase", "apple", "red"), ""),
        (where("phrase", "red", "pear", "red"), "g"),
        (where("phrase", "red", "red"), ""),
        (where("phrase", "pear"), "Bg"),
        (where("phrase", "Red"), ""),
        (where("phrase", "nowhere", "apple"), ""),
        (where("phrase", "note", "red"), "a"),
        (where("phrase"), "ABG"),
    ],
)
def test_what_each_condition_covers(shelf: Store, condition: Condition, expected: str) -> None:
    with shelf.read() as reading:
        everything = reading.matching([])
        assert documents_of(reading, everything) == "ABG"
        found = reading.matching([condition])
        assert documents_of(reading, found) == expected
        others = reading.matching([replace(condition, negated=True)])
        assert sorted([*found.tolist(), *others.tolist()]) == everything.tolist()


def test_all_conditions_must_hold(shelf: Store) -> None:
    with shelf.read() as reading:
        red = where("phrase", "red", "apple")
        for conditions, expected in [
            ([where("tag", "fruit"), where("under", "notes/sub")], "B"),
            ([where("tag", "fruit"), where("under", "other")], ""),
            ([where("tag", "fruit"), red], "a"),
            ([where("tag", "fruit", negated=True), red], "g"),
            ([where("language", "js", negated=True), where("author", "bo")], "b"),
            ([red, where("phrase", "pie", negated=True)], "a"),
            ([where("after", bound=0.0), where("before", bound=6.0), where("source", "txt")], "B"),
            ([where("category", "guide"), where("category", "guide", negated=True)], ""),
        ]:
            assert documents_of(reading, reading.matching(conditions)) == expected
            assert documents_of(reading, reading.matching(conditions[::-1])) == expected


def test_conditions_follow_every_change(store: Store) -> None:
    fill(store, batch(*SHELF))
    alpha, beta, _ = SHELF
    fruit, late = where("tag", "fruit"), where("after", bound=50.0)

    def covered(*conditions: Condition) -> list[str]:
        with store.read() as reading:
            stored = reading.catalogue.chunks(reading.matching(conditions).tolist())
            return sorted({chunk.document.id for chunk in stored})

    changed = replace(alpha.chunked.document.fields, tags=("stone",), modified=60.0)
    apply(store, batch(make_document("notes/Alpha.md", "grey stone", fields=changed)))
    assert covered(fruit) == ["notes/sub/beta.txt"]
    assert covered(late) == covered(where("tag", "stone")) == ["notes/Alpha.md"]
    assert covered(where("language", "python")) == []
    assert covered(where("phrase", "red", "apple")) == ["other/GAMMA.markdown"]
    state = replace(beta.state, mtime_ns=70_000_000_000)  # no date of its own: the file's counts
    apply(store, Batch(touched=(("notes/sub/beta.txt", state), ("notes/Alpha.md", state))))
    assert covered(late) == ["notes/Alpha.md", "notes/sub/beta.txt"]
    assert covered(where("after", bound=65.0)) == ["notes/sub/beta.txt"]
    moved = make_document("new/place.md", "moved", fields=beta.chunked.document.fields)
    apply(store, Batch(put=(moved,), gone=("notes/sub/beta.txt",)))
    assert covered(fruit) == covered(where("under", "new/")) == ["new/place.md"]
    assert covered(where("path", "beta")) == []
    apply(store, batch(gone=["new/place.md"]))
    assert covered(fruit) == []
    with store.write() as writing:
        writing.start(STAMP)
    with store.read() as reading:
        assert reading.matching([]).tolist() == []
        assert reading.matching([where("under", "")]).tolist() == []
