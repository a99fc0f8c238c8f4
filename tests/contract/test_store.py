"""What every store promises; a new engine joins by one line in ENGINES."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import engines
from documents import (
    DIMENSIONS,
    STAMP,
    PlainAnalyzer,
    batch,
    link,
    make_document,
    state_of,
    vector_of,
    vectors_of,
)
from dowse.errors import EmbedError, Locked, StampMismatch
from dowse.ports import Analyzer, Reading, Store
from dowse.store.embedded.store import EmbeddedStore
from dowse.store.memory import MemoryStore
from dowse.text.values import Sign
from dowse.types import (
    Batch,
    Condition,
    ConditionKind,
    Counts,
    Fields,
    FileState,
    IndexedDocument,
    Keys,
    Link,
    Scores,
    short_id,
    text_key,
)

ENGINES: dict[str, Callable[[Path, Analyzer], Store]] = {
    "embedded": EmbeddedStore,
    "memory": lambda _, analyzer: MemoryStore(analyzer),
    **engines.REMOTE,
}

MakeStore = Callable[[str, Analyzer], Store]


@pytest.fixture(params=ENGINES)
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeStore]:
    made: list[Store] = []

    def make(name: str, analyzer: Analyzer) -> Store:
        made.append(ENGINES[request.param](tmp_path / name, analyzer))
        return made[-1]

    yield make
    for store in made:
        assert store.check() == []
        if request.param in engines.REMOTE:
            store.discard()
        store.close()


@pytest.fixture
def store(make_store: MakeStore) -> Store:
    return make_store("index", PlainAnalyzer())


def fill(store: Store, *batches: Batch) -> None:
    """Starts an empty index and hands it batches."""
    with store.write() as writing:
        writing.start(STAMP)
        for one in batches:
            writing.apply(one)


def apply(store: Store, *batches: Batch) -> None:
    with store.write() as writing:
        for one in batches:
            writing.apply(one)


def targets(store: Store) -> list[tuple[str, str | None]]:
    """Where all links lead: the target as written, and the document."""
    with store.read() as reading:
        return [(edge.link.target, edge.target) for edge in reading.links.all()]


def found_in(reading: Reading, *terms: str) -> list[str]:
    found = reading.catalogue.chunks([key for key, _ in reading.keyword.search("body", terms, 10)])
    return [chunk.document.id for chunk in found]


def found_now(store: Store) -> tuple[int, int]:
    """How many chunks a new reader finds for alpha: by word, and by vector."""
    with store.read() as reading:
        words = reading.keyword.search("body", ["alpha"], 10)
        return len(words), len(reading.vectors.nearest(vector_of("alpha"), 10))


def keys_in_order(reading: Reading) -> list[int]:
    """All chunks in the order of their documents and texts: keys need not be in any order."""
    chunks = reading.catalogue.chunks(reading.matching([]).tolist())
    chunks.sort(key=lambda one: (one.document.id, one.chunk.start))
    return [one.key for one in chunks]


def texts(reading: Reading, scores: list[tuple[int, float]]) -> list[str]:
    return [chunk.text.strip() for chunk in reading.catalogue.chunks([key for key, _ in scores])]


# ── An index from its beginning ──────────────────────────────────────────────


def test_the_roots_of_an_index_are_noted_and_change_no_generation(store: Store) -> None:
    with store.write() as writing:
        assert writing.catalogue.roots() == []
        writing.note_roots(["/notes", "/more"])
        writing.note_roots(["/notes"])
        writing.start(STAMP)
        before = writing.catalogue.generation
        writing.note_roots(["/notes", "/ünïcode"])
        assert writing.catalogue.generation == before
    with store.read() as reading:
        assert reading.catalogue.roots() == ["/notes", "/ünïcode"]


def test_a_new_index_is_empty_and_answers_everything(store: Store) -> None:
    with store.read() as reading:
        assert reading.catalogue.generation == 0
        assert reading.catalogue.stamp() is None
        assert reading.catalogue.files() == {}
        assert reading.catalogue.documents() == []
        assert reading.catalogue.document("a.md") is None
        assert reading.catalogue.find("ab") == []
        assert reading.catalogue.chunks([1, 2]) == []
        assert reading.links.all() == []
        assert reading.links.communities() == {}
        assert reading.catalogue.counts() == Counts(0, 0, 0, 0, 0, 0, 0, 0, 0)
        assert reading.keyword.search("body", ["word"], 10) == []
        assert reading.keyword.search("code", ["word"], 10) == []
        assert reading.vectors.nearest(vector_of("word"), 10) == []
        assert reading.vocabulary.most_frequent(10) == []
        assert reading.text_vectors.known([text_key("word")]) == {}
        assert reading.text_vectors.waiting() == []
        assert reading.links.of(["a.md"]) == []
        assert reading.catalogue.keys_of(["a.md"]).tolist() == []
        assert reading.matching([]).tolist() == []
        assert reading.matching([Condition("phrase", ("a", "b"), negated=True)]).tolist() == []
        assert reading.vectors.of([1]) == {}
        assert reading.keyword.size == 0
        assert reading.keyword.frequencies("body", ["word"]) == {"word": 0}
        assert reading.vocabulary.beginning("w", 10) == []
        assert reading.vocabulary.spelled_like("word", 10) == []


def test_start_stamps_the_index(store: Store) -> None:
    stamp = {**STAMP, "chunk": {"version": 1, "sizes": [200, 1500]}, "name": "ünïcode"}
    with store.write() as writing:
        writing.start(stamp)
        assert writing.catalogue.stamp() == stamp
    with store.read() as reading:
        found = reading.catalogue.stamp()
        assert found == stamp
        assert found is not None
        found["model"] = "changed by a caller"
        assert reading.catalogue.stamp() == stamp


def test_start_empties_the_index_but_keeps_vectors(store: Store) -> None:
    document = make_document("a.md", "alpha\n\nbeta", links=[link("b")])
    fill(store, batch(document))
    with store.write() as writing:
        writing.set_communities({"a.md": 0})
        writing.start(STAMP)
        assert writing.catalogue.counts() == Counts(0, 0, 0, 0, 0, 0, 0, 0, 0)
        assert found_now(store) == (0, 0)
        assert writing.links.communities() == {}
        assert len(writing.text_vectors.known(list(vectors_of(document)))) == 2
        writing.apply(Batch(put=(document,)))
        assert writing.text_vectors.waiting() == []
        assert found_now(store) == (1, 2)


def test_vectors_of_another_model_are_never_mixed_in(store: Store) -> None:
    document = make_document("a.md", "alpha")
    fill(store, batch(document))
    with store.write() as writing:
        writing.start({"model": "another", "dimensions": DIMENSIONS})
        assert writing.text_vectors.known(list(vectors_of(document))) == {}
        writing.apply(Batch(put=(document,)))
        assert writing.text_vectors.waiting() == ["alpha"]
        assert found_now(store) == (1, 0)
        writing.start(STAMP)
        assert len(writing.text_vectors.known(list(vectors_of(document)))) == 1


def test_without_a_model_everything_but_vectors_works(store: Store) -> None:
    with store.write() as writing:
        writing.start({"model": "none", "dimensions": 0})
        writing.apply(Batch(put=(make_document("a.md", "alpha"),)))
        assert found_now(store) == (1, 0)
        assert writing.text_vectors.waiting() == ["alpha"]


def test_each_batch_is_one_generation(store: Store) -> None:
    with store.write() as writing:
        writing.start(STAMP)
        first = writing.catalogue.generation
        for number in range(3):
            writing.apply(batch(make_document(f"{number}.md", "text")))
            assert writing.catalogue.generation == first + number + 1
    with store.read() as reading:
        assert reading.catalogue.generation == first + 3


def test_discarding_leaves_a_new_index(store: Store) -> None:
    document = make_document("a.md", "alpha")
    fill(store, batch(document))
    with store.read() as reading:
        assert reading.catalogue.counts().documents == 1
    store.discard()
    with store.read() as reading:
        assert reading.catalogue.stamp() is None
        assert reading.catalogue.documents() == []
        assert reading.keyword.search("body", ["alpha"], 10) == []
    fill(store)
    with store.read() as reading:
        assert reading.text_vectors.known(list(vectors_of(document))) == {}


# ── Documents ────────────────────────────────────────────────────────────────

FIELDS = Fields(
    title="Täst „quoted”",
    description="d",
    keywords=("k1", "k2"),
    tags=("a/b",),
    aliases=("Other",),
    author=("X", "Y"),
    category="c",
    created=1.5,
    modified=-2.25,
)


def test_a_document_comes_back_as_it_was_put(store: Store) -> None:
    text = "---\nx: 1\n---\n# Head\n\nalpha\n\n```python\nprint(1)\n```\n\n# Täil\n\nomega 日本\n"
    put = make_document("dir/ä b.md", text, fields=FIELDS, body=13)
    fill(store, batch(put))
    with store.read() as reading:
        found = reading.catalogue.document("dir/ä b.md")
        assert found is not None
        assert found.text == text
        assert found.body == 13
        assert found.sections == put.chunked.sections
        assert found.chunks == put.chunked.chunks
        assert found.entry == reading.catalogue.documents()[0]
        assert found.entry.id == "dir/ä b.md"
        assert found.entry.short_id == short_id("dir/ä b.md")
        assert found.entry.fields == FIELDS
        assert found.entry.modified == -2.25
        assert (found.entry.size, found.entry.mtime_ns) == (put.state.size, put.state.mtime_ns)
        assert found.entry.chunks == len(put.chunked.chunks) == 5
        assert reading.catalogue.files() == {"dir/ä b.md": put.state}
        assert reading.catalogue.document("dir/a b.md") is None


@pytest.mark.parametrize(
    "text", ["", " \n\t\n", "a\0b\nc\0\n\nd", "\ufeff", "\U0001f600" * 50, "x" * 200_000]
)
def test_odd_texts_come_back_unchanged(store: Store, text: str) -> None:
    put = make_document("odd.md", text)
    fill(store, batch(put))
    with store.read() as reading:
        found = reading.catalogue.document("odd.md")
        assert found is not None
        assert found.text == text
        assert found.chunks == put.chunked.chunks
        assert reading.catalogue.find(short_id("odd.md")) == [("odd.md", 1, text.count("\n") + 1)]
        chunks = [
            reading.catalogue.chunks([key])[0]
            for key, _ in reading.vectors.nearest(vector_of("x"), 10)
        ]
        assert sorted(chunk.text for chunk in chunks) == sorted(
            put.chunked.text_of(chunk) for chunk in put.chunked.chunks
        )


def test_documents_are_listed_by_id(store: Store) -> None:
    names = ["b.md", "a/z.md", "a.md", "Z.md", "ä.md", "@r/a.md", "\U0001f600.md", "\uffee.md"]
    fill(store, batch(*(make_document(name, "text") for name in names)))
    with store.read() as reading:
        assert [entry.id for entry in reading.catalogue.documents()] == sorted(names)


def test_replacing_a_document_leaves_nothing_of_the_old_one(store: Store) -> None:
    old = make_document("a.md", "# One\n\nalpha\n\n```\noldcode\n```\n\nbeta", links=[link("b")])
    new = make_document("a.md", "gamma", links=[link("c"), link("d", line=2)])
    fill(store, batch(old), batch(new))
    with store.read() as reading:
        assert reading.catalogue.counts() == Counts(1, 1, 1, 0, 2, 2, 1, 1, 0)
        assert reading.keyword.search("body", ["alpha", "beta", "one"], 10) == []
        assert reading.keyword.search("code", ["oldcode"], 10) == []
        assert texts(reading, reading.vectors.nearest(vector_of("alpha"), 10)) == ["gamma"]
        assert reading.vocabulary.most_frequent(10) == ["gamma"]
        assert [edge.link.target for edge in reading.links.all()] == ["c", "d"]
        assert reading.catalogue.files() == {"a.md": new.state}


def test_a_document_that_is_gone_is_gone_from_everything(store: Store) -> None:
    fill(
        store,
        batch(
            make_document("a.md", "alpha\n\n```\ncode\n```", links=[link("b")]),
            make_document("b.md", "beta", links=[link("a")]),
        ),
    )
    apply(store, batch(gone=["a.md", "never-there.md"]))
    with store.read() as reading:
        assert [entry.id for entry in reading.catalogue.documents()] == ["b.md"]
        assert reading.catalogue.document("a.md") is None
        assert reading.catalogue.find(short_id("a.md")) == []
        assert reading.keyword.search("body", ["alpha"], 10) == []
        assert reading.keyword.search("code", ["code"], 10) == []
        assert texts(reading, reading.vectors.nearest(vector_of("alpha"), 10)) == ["beta"]
        assert reading.vocabulary.most_frequent(10) == ["beta"]
        assert [(edge.source, edge.target) for edge in reading.links.all()] == [("b.md", None)]
        assert reading.catalogue.files().keys() == {"b.md"}


def test_a_rename_in_one_batch(store: Store) -> None:
    fill(
        store,
        batch(make_document("old.md", "alpha"), make_document("x.md", "x", links=[link("new")])),
    )
    apply(store, Batch(put=(make_document("new.md", "alpha"),), gone=("old.md",)))
    with store.read() as reading:
        assert reading.catalogue.files().keys() == {"new.md", "x.md"}
        assert reading.text_vectors.waiting() == []
        chunks = reading.catalogue.chunks(reading.matching([]).tolist())
        assert sorted(chunk.document.id for chunk in chunks) == ["new.md", "x.md"]
    assert targets(store) == [("new", "new.md")]


def test_the_last_of_two_versions_in_one_batch_counts(store: Store) -> None:
    one, two = make_document("a.md", "alpha\n\nbeta"), make_document("a.md", "gamma")
    fill(store, batch(one, two))
    with store.read() as reading:
        assert reading.catalogue.counts().chunks == 1
        assert reading.keyword.search("body", ["alpha"], 10) == []
        assert len(reading.keyword.search("body", ["gamma"], 10)) == 1
        assert reading.vocabulary.most_frequent(10) == ["gamma"]


def test_a_document_may_go_and_come_in_one_batch(store: Store) -> None:
    fill(store, batch(make_document("a.md", "alpha")))
    apply(store, batch(make_document("a.md", "beta"), gone=["a.md"]))
    with store.read() as reading:
        assert reading.vocabulary.most_frequent(10) == ["beta"]
        assert reading.catalogue.counts().documents == 1


def test_touching_changes_only_what_is_known_of_the_file(store: Store) -> None:
    fill(store, batch(make_document("a.md", "alpha")))
    with store.read() as reading:
        keys = reading.keyword.search("body", ["alpha"], 10)
    state = replace(state_of("alpha"), mtime_ns=42)
    apply(store, Batch(touched=(("a.md", state), ("unknown.md", state))))
    with store.read() as reading:
        assert reading.catalogue.files() == {"a.md": state}
        assert reading.catalogue.documents()[0].mtime_ns == 42
        assert reading.catalogue.documents()[0].modified == 42e-9
        assert [key for key, _ in reading.keyword.search("body", ["alpha"], 10)] == [
            key for key, _ in keys
        ]


@pytest.mark.parametrize("mtime_ns", [0, -1, -(10**18), 2**63 - 1])
def test_any_file_time_is_kept(store: Store, mtime_ns: int) -> None:
    fill(store, batch(make_document("a.md", "alpha", mtime_ns=mtime_ns)))
    with store.read() as reading:
        assert reading.catalogue.files()["a.md"].mtime_ns == mtime_ns


def test_a_file_time_beyond_all_calendars_stops_nothing(store: Store) -> None:
    fill(store, batch(make_document("a.md", "alpha", mtime_ns=10**20)))
    apply(store, Batch(touched=(("a.md", FileState(5, -(10**20), "")),)))
    with store.read() as reading:
        assert reading.catalogue.files().keys() == {"a.md"}


def test_which_texts_have_no_vector_yet(store: Store) -> None:
    document = make_document("a.md", "alpha")
    known = list(vectors_of(document))
    unknown = [
        number.to_bytes(16, "big") for number in range(1200)
    ]  # more than one statement takes
    fill(store, Batch((document,), vectors=vectors_of(document)))
    with store.read() as reading:
        assert reading.text_vectors.missing([]) == []
        assert reading.text_vectors.missing(known) == []
        assert reading.text_vectors.missing([*unknown[:600], *known, *unknown[600:]]) == unknown


def test_a_related_entry_is_a_link_only_while_its_document_exists(store: Store) -> None:
    source = make_document("a.md", "alpha", links=[link("b", "related"), link("c", "wikilink")])
    fill(store, batch(source))
    with store.read() as reading:
        assert [edge.link.target for edge in reading.links.all()] == ["c"]
        assert (reading.catalogue.counts().links, reading.catalogue.counts().dangling) == (1, 1)
    apply(store, batch(make_document("b.md", "beta")))
    with store.read() as reading:
        assert [(edge.link.target, edge.target) for edge in reading.links.all()] == [
            ("b", "b.md"),
            ("c", None),
        ]


# ── Finding parts ────────────────────────────────────────────────────────────


def test_find_by_the_start_of_an_id(store: Store) -> None:
    document = make_document("a.md", "# One\n\nalpha\n\n# Two\n\nbeta\n")
    section, chunk = document.chunked.sections[1], document.chunked.chunks[1]
    fill(store, batch(document))
    with store.read() as reading:
        assert reading.catalogue.find(short_id("a.md")) == [("a.md", 1, 8)]
        assert reading.catalogue.find(short_id("a.md")[:6]) == [("a.md", 1, 8)]
        assert reading.catalogue.find(section.id) == [("a.md", 5, 7)]
        assert reading.catalogue.find(section.id[:9]) == [("a.md", 5, 7)]
        assert reading.catalogue.find(chunk.id) == [("a.md", 3, 3)]
        assert reading.catalogue.find("0" * 16) == []
        assert reading.catalogue.find(chunk.id + "0") == []
        assert (
            reading.catalogue.find("%")
            == reading.catalogue.find("zz")
            == reading.catalogue.find("a.md")
            == []
        )


def test_find_lists_everything_an_ambiguous_start_can_mean(store: Store) -> None:
    documents = [make_document(f"{number}.md", f"text {number}") for number in range(40)]
    fill(store, batch(*documents))
    expected = sorted(
        {
            (one.chunked.document.id, 1, 1)
            for one in documents
            for name in (
                short_id(one.chunked.document.id),
                one.chunked.sections[0].id,
                one.chunked.chunks[0].id,
            )
            if name.startswith("a")
        }
    )
    assert len(expected) > 1
    with store.read() as reading:
        assert reading.catalogue.find("a") == expected


def test_chunks_come_in_the_order_asked_for(store: Store) -> None:
    put = make_document("a.md", "# H\n\none\n\ntwo\n\nthree")
    fill(store, batch(put))
    with store.read() as reading:
        keys = keys_in_order(reading)
        asked = [keys[2], 10**9, keys[0], -1, keys[2], keys[3]]
        found = reading.catalogue.chunks(asked)
        assert [chunk.key for chunk in found] == [keys[2], keys[0], keys[2], keys[3]]
        assert found[0].text == "two\n\n"
        assert found[0].chunk == put.chunked.chunks[2]
        assert found[0].chunk.header_path == ("H",)
        assert found[0].document == reading.catalogue.documents()[0]
        assert reading.catalogue.chunks([]) == []


def test_a_chunk_key_is_never_given_out_twice(store: Store) -> None:
    seen: set[int] = set()
    for number in range(4):
        fill(store, batch(make_document("a.md", f"one {number}\n\ntwo {number}")))
        with store.read() as reading:
            keys = {key for key, _ in reading.vectors.nearest(vector_of("x"), 10)}
        assert len(keys) == 2
        assert not keys & seen
        seen |= keys
        apply(store, batch(gone=["a.md"]))


# ── Links ────────────────────────────────────────────────────────────────────


def with_links(store: Store, ids: list[str], source: str, *links: Link) -> list[str | None]:
    fill(
        store,
        batch(
            *(make_document(one, "text") for one in ids), make_document(source, "s", links=links)
        ),
    )
    return [target for _, target in targets(store)]


def test_links_of_every_kind_lead_to_documents(store: Store) -> None:
    links = [
        link("b", "wikilink", 1),
        link("b", "embed", 2),
        link("../docs/b.md", "relative", 3),
        link("docs/b.md", "related", 4),
        link("nowhere", "wikilink", 5),
        link("../nowhere.md", "relative", 6),
    ]
    leads = with_links(store, ["docs/b.md"], "notes/a.md", *links)
    assert leads == ["docs/b.md"] * 4 + [None, None]
    with store.read() as reading:
        assert [edge.link for edge in reading.links.all()] == links
        assert {edge.source for edge in reading.links.all()} == {"notes/a.md"}
        assert reading.catalogue.counts().links == 6
        assert reading.catalogue.counts().dangling == 2


def test_links_keep_what_was_written(store: Store) -> None:
    written = Link("wikilink", "Ünknown", "^block", "a „label”", 7)
    with_links(store, [], "a.md", written)
    with store.read() as reading:
        assert reading.links.all()[0].link == written


def test_edges_come_by_source_and_line(store: Store) -> None:
    fill(
        store,
        batch(
            make_document("b.md", "b", links=[link("x", line=9), link("y", line=2)]),
            make_document("a.md", "a", links=[link("q", line=3), link("p", line=3)]),
        ),
    )
    with store.read() as reading:
        assert [(edge.source, edge.link.target) for edge in reading.links.all()] == [
            ("a.md", "q"),
            ("a.md", "p"),
            ("b.md", "y"),
            ("b.md", "x"),
        ]


def test_a_dangling_link_resolves_when_its_target_appears_and_dangles_when_it_goes(
    store: Store,
) -> None:
    fill(store, batch(make_document("a.md", "a", links=[link("later")])))
    assert targets(store) == [("later", None)]
    apply(store, batch(make_document("deep/in/Later.md", "l")))
    assert targets(store) == [("later", "deep/in/Later.md")]
    apply(store, batch(make_document("later.md", "l")))
    assert targets(store) == [("later", "later.md")]
    apply(store, batch(gone=["later.md"]))
    assert targets(store) == [("later", "deep/in/Later.md")]
    apply(store, batch(gone=["deep/in/Later.md"]))
    assert targets(store) == [("later", None)]


def test_a_link_survives_the_replacement_of_its_target(store: Store) -> None:
    fill(store, batch(make_document("a.md", "a", links=[link("b")]), make_document("b.md", "b")))
    apply(store, batch(make_document("b.md", "changed")))
    assert targets(store) == [("b", "b.md")]


def test_aliases_come_go_and_change(store: Store) -> None:
    fill(
        store,
        batch(
            make_document("a.md", "a", links=[link("Kurz"), link("ops/team", line=2)]),
            make_document("long name.md", "l", aliases=["kurz", "dev/team"]),
        ),
    )
    assert targets(store) == [("Kurz", "long name.md"), ("ops/team", None)]
    apply(store, batch(make_document("long name.md", "l", aliases=["ops/team"])))
    assert targets(store) == [("Kurz", None), ("ops/team", "long name.md")]
    apply(store, batch(make_document("long name.md", "l", aliases=["KURZ"])))
    assert targets(store) == [("Kurz", "long name.md"), ("ops/team", None)]
    apply(store, batch(make_document("kurz.md", "a file goes before an alias")))
    assert targets(store)[0] == ("Kurz", "kurz.md")


@pytest.mark.parametrize(
    ("ids", "source", "target", "expected"),
    [
        (["a/n.md", "b/n.md"], "b/s.md", "n", "b/n.md"),
        (["a/n.md", "b/c/n.md"], "b/s.md", "n", "b/c/n.md"),
        (["n.md", "x/n.md"], "y/s.md", "n", "n.md"),
        (["Ä Note.md"], "s.md", "a\u0308 note", "Ä Note.md"),
        (["Guide/README.md"], "s.md", "guide", "Guide/README.md"),
        (["guide/index.md", "guide.md"], "s.md", "guide", "guide.md"),
        (["docs/guide.md", "x/guide.md"], "blog/s.md", "docs/guide", "docs/guide.md"),
        (["@work/n.md", "n.md"], "@work/deep/s.md", "n", "@work/n.md"),
        (["@work/n.md"], "s.md", "n", "@work/n.md"),
        (["@work/n.md", "n.md"], "@home/s.md", "@work/n", "@work/n.md"),
        (["n.txt", "n.md"], "s.md", "n", "n.md"),
    ],
)
def test_the_nearest_document_wins(
    store: Store, ids: list[str], source: str, target: str, expected: str
) -> None:
    assert with_links(store, ids, source, link(target)) == [expected]


@pytest.mark.parametrize(
    ("ids", "source", "target", "expected"),
    [
        (["docs/a.md", "a.md"], "docs/deep/s.md", "/a.md", "a.md"),
        (["docs/a.md"], "s.md", "/a", "docs/a.md"),
        (["@r/a.md", "a.md"], "@r/deep/s.md", "/a.md", "@r/a.md"),
        (["docs/guide/index.md"], "docs/s.md", "guide/", "docs/guide/index.md"),
        (["a.md"], "docs/s.md", "a.md", None),
    ],
)
def test_relative_links_lead_from_where_they_are_or_from_the_root(
    store: Store, ids: list[str], source: str, target: str, expected: str | None
) -> None:
    assert with_links(store, ids, source, link(target, "relative")) == [expected]


# ── Words and vectors ────────────────────────────────────────────────────────


def test_the_vocabulary_counts_up_and_down(store: Store) -> None:
    one = make_document("1.md", "apple apple pear")
    two = make_document("2.md", "pear pear plum of")
    fill(store, batch(one, two))
    with store.read() as reading:
        assert reading.vocabulary.most_frequent(10) == ["pear", "apple", "plum"]
        assert reading.vocabulary.most_frequent(2) == ["pear", "apple"]
        assert reading.vocabulary.most_frequent(0) == []
        assert reading.catalogue.counts().terms == 3
    apply(store, batch(make_document("2.md", "plum")))
    with store.read() as reading:
        assert reading.vocabulary.most_frequent(10) == ["apple", "pear", "plum"]
    apply(store, batch(gone=["1.md"]))
    with store.read() as reading:
        assert reading.vocabulary.most_frequent(10) == ["plum"]
        assert reading.catalogue.counts().terms == 1


def test_the_vocabulary_leaves_out_the_frontmatter(store: Store) -> None:
    fill(store, batch(make_document("a.md", "---\ntitle: secret\n---\nopen", body=22)))
    with store.read() as reading:
        assert reading.vocabulary.most_frequent(10) == ["open"]


def test_vectors_are_known_unknown_and_remembered(store: Store) -> None:
    known, waiting = make_document("a.md", "alpha"), make_document("b.md", "# B\n\nbeta")
    fill(store, Batch(put=(known, waiting), vectors=vectors_of(known)))
    head, body = (waiting.chunked.embedding_text(chunk) for chunk in waiting.chunked.chunks)
    with store.write() as writing:
        assert writing.text_vectors.waiting() == [head, body]
        assert writing.catalogue.counts().embedded == 1
        found = writing.text_vectors.known([text_key("alpha"), text_key(body)])
        assert found.keys() == {text_key("alpha")}
        assert found[text_key("alpha")].dtype == np.float32
        np.testing.assert_allclose(found[text_key("alpha")], vector_of("alpha"), atol=1e-3)
        writing.remember({text_key(body): vector_of(body), text_key("word"): vector_of("word")})
        assert writing.text_vectors.waiting() == [head]
        assert writing.catalogue.counts().embedded == 2
        assert writing.text_vectors.known([text_key("word")]).keys() == {text_key("word")}
    with store.read() as reading:
        assert texts(reading, reading.vectors.nearest(vector_of(body), 1)) == ["beta"]
        assert len(reading.vectors.nearest(vector_of(body), 10)) == 2


def test_what_is_embedded_before_a_text_is_what_the_index_was_built_with(store: Store) -> None:
    made = make_document("b.md", "# B\n\nbeta", fields=Fields(title="Book"))
    made = replace(made, chunked=replace(made.chunked, context="none"))
    with store.write() as writing:
        writing.start({**STAMP, "chunk": {"context": "none"}})
        writing.apply(Batch(put=(made,)))
        assert writing.text_vectors.waiting() == ["# B\n\n", "beta"]
        writing.remember({text_key("beta"): vector_of("beta")})
        assert writing.text_vectors.waiting() == ["# B\n\n"]


def test_a_batch_brings_vectors_to_chunks_that_were_waiting_elsewhere(store: Store) -> None:
    fill(store, Batch(put=(make_document("a.md", "same text"),)))
    apply(store, batch(make_document("b.md", "same text")))
    with store.read() as reading:
        assert reading.text_vectors.waiting() == []
        assert len(reading.vectors.nearest(vector_of("same text"), 10)) == 2


def test_a_vector_may_be_replaced(store: Store) -> None:
    fill(store, batch(make_document("a.md", "alpha\n\nbeta")))
    with store.write() as writing, store.read() as reading:
        before = reading.vectors.nearest(vector_of("new"), 10)
        writing.remember({text_key("beta"): vector_of("new")})
        writing.remember({text_key("beta"): vector_of("new")})
    with store.read() as reading:
        after = reading.vectors.nearest(vector_of("new"), 10)
        assert {key for key, _ in after} == {key for key, _ in before}
        assert len(after) == len(before) == 2
        assert after[0][1] == pytest.approx(1, abs=1e-3)
        assert texts(reading, after[:1]) == ["beta"]


def test_a_vector_that_does_not_fit_is_refused_and_changes_nothing(store: Store) -> None:
    fill(store)
    document = make_document("a.md", "alpha")
    with store.write() as writing:
        with pytest.raises(StampMismatch, match=r"dowse index --rebuild"):
            writing.apply(Batch((document,), vectors=vectors_of(document, dimensions=3)))
        with pytest.raises(EmbedError):
            writing.remember({text_key("alpha"): np.full(DIMENSIONS, np.nan, np.float32)})
        assert writing.catalogue.documents() == []
        assert writing.text_vectors.known([text_key("alpha")]) == {}


def test_nearest_ranks_by_cosine_and_breaks_ties_by_key(store: Store) -> None:
    documents = [make_document(f"{number}.md", f"text {number}") for number in range(30)]
    twins = [make_document(f"twin{number}.md", "twin") for number in range(3)]
    fill(store, batch(*documents), batch(*twins))
    query = vector_of("query")
    with store.read() as reading:
        found = reading.vectors.nearest(query, 33)
        for chunk, (_, score) in zip(
            reading.catalogue.chunks([k for k, _ in found]), found, strict=True
        ):
            assert score == pytest.approx(float(vector_of(chunk.text) @ query), abs=2e-3)
        assert found == sorted(found, key=lambda pair: (-pair[1], pair[0]))
        assert len({key for key, _ in found}) == 33
        assert reading.vectors.nearest(query, 5) == found[:5]
        assert reading.vectors.nearest(query, 1000) == found
        assert reading.vectors.nearest(query, 0) == []
        best = reading.vectors.nearest(vector_of("twin"), 3)
        assert texts(reading, best) == ["twin"] * 3
        assert [key for key, _ in best] == sorted(key for key, _ in best)


def test_zero_vectors_are_found_last(store: Store) -> None:
    zero = make_document("zero.md", "zero")
    fill(store, batch(make_document("a.md", "alpha")))
    apply(store, Batch((zero,), vectors={text_key("zero"): np.zeros(DIMENSIONS, np.float32)}))
    with store.read() as reading:
        assert texts(reading, reading.vectors.nearest(vector_of("alpha"), 2)) == ["alpha", "zero"]
        assert len(reading.vectors.nearest(np.zeros(DIMENSIONS, np.float32), 10)) == 2


# ── Keyword and code ─────────────────────────────────────────────────────────


def test_keyword_search_finds_any_of_the_terms_best_first(store: Store) -> None:
    fill(
        store,
        batch(
            make_document("1.md", "apple apple apple pear", fields=Fields()),
            make_document("2.md", "apple plum plum plum", fields=Fields()),
            make_document("3.md", "cherry cherry cherry cherry", fields=Fields()),
        ),
    )
    with store.read() as reading:
        assert found_in(reading, "apple") == ["1.md", "2.md"]
        assert found_in(reading, "apple", "plum") == ["2.md", "1.md"]
        assert found_in(reading, "absent", "cherry") == ["3.md"]
        assert reading.keyword.search("body", [], 10) == []
        assert reading.keyword.search("body", ["absent"], 10) == []
        assert reading.keyword.search("body", ["apple"], 0) == []
        assert len(reading.keyword.search("body", ["apple"], 1)) == 1
        scores = [
            score for _, score in reading.keyword.search("body", ["apple", "plum", "cherry"], 10)
        ]
        assert scores == sorted(scores, reverse=True)
        assert all(score > 0 for score in scores)


@pytest.mark.parametrize(
    "term", ["c++", "--no-verify", "日本", "a b", "\0", "'", '"', "*", "AND", ""]
)
def test_terms_are_looked_up_as_they_are(make_store: MakeStore, term: str) -> None:
    class OneTerm(PlainAnalyzer):
        def chunk_terms(self, *_: object) -> list[tuple[str, int]]:
            return [(term, 0), ("other", 1)]

    store = make_store("index", OneTerm())
    fill(store, batch(make_document("a.md", "x")))
    with store.read() as reading:
        assert len(reading.keyword.search("body", [term], 10)) == 1
        assert reading.keyword.search("body", [term + "x"], 10) == []


def test_titles_and_headings_are_searched_too(store: Store) -> None:
    fill(store, batch(make_document("a.md", "# Heading\n\nbody", fields=Fields(title="Title"))))
    with store.read() as reading:
        assert len(reading.keyword.search("body", ["title"], 10)) == 2
        assert len(reading.keyword.search("body", ["heading"], 10)) == 2
        assert len(reading.keyword.search("body", ["body"], 10)) == 1


def test_code_search_finds_the_chunk_in_which_the_code_begins(store: Store) -> None:
    fill(store, batch(make_document("a.md", "before\n\n```py\ndef run\n```\n\nrun after")))
    with store.read() as reading:
        assert texts(reading, reading.keyword.search("code", ["run"], 10)) == [
            "```py\ndef run\n```"
        ]
        assert reading.keyword.search("code", ["after"], 10) == []
        assert reading.keyword.search("code", ["py"], 10) == []
        assert reading.catalogue.counts().code_blocks == 1


# ── Conditions ───────────────────────────────────────────────────────────────

SHELF = (
    make_document(
        "notes/Alpha.md",
        "red apple\n\n```python\nprint apple\n```\n\n```\nplain\n```",
        fields=Fields(
            "The Alpha Note",
            tags=("Fruit/Red", "draft"),
            category="Guide",
            modified=9.0,
            properties=(
                ("done", ("Yes",)),
                ("due", ("2026-03-01",)),
                ("people", ("Ann Lee", "Bo")),
                ("rating", ("4.5",)),
                ("Status", ("In Progress",)),
            ),
        ),
    ),
    make_document(
        "notes/sub/beta.txt",
        "green pear\n\n```js\nlet pear\n```",
        fields=Fields(
            "Beta",
            tags=("fruit",),
            author=("Ann Lee", "Bo"),
            category="guide",
            properties=(("due", ("5 May 2025",)), ("rating", ("10",)), ("status", ())),
        ),
        mtime_ns=5_000_000_000,
    ),
    make_document(
        "other/GAMMA.markdown",
        "red pear red\n\nred apple pie",
        fields=Fields("Gämma straße", tags=("fruits",), author=("Zoë",), modified=-1.5),
    ),
)


def where(
    kind: ConditionKind, *values: str, bound: float = 0.0, negated: bool = False
) -> Condition:
    return Condition(kind, values, bound, negated)


def field(name: str, *values: str, sign: Sign = "=", negated: bool = False) -> Condition:
    return Condition("field", values, negated=negated, name=name, sign=sign)


def documents_of(reading: Reading, keys: Keys) -> str:
    """The first letters of the documents of some chunks, in capitals where all of it is there."""
    assert keys.dtype == np.int64
    assert keys.tolist() == sorted(set(keys.tolist()))
    found = [chunk.document for chunk in reading.catalogue.chunks(keys.tolist())]
    letters = {"notes/Alpha.md": "a", "notes/sub/beta.txt": "b", "other/GAMMA.markdown": "g"}
    whole = {entry.id: entry.chunks for entry in found}
    ids = [entry.id for entry in found]
    return "".join(
        sorted(
            letters[id_].upper() if ids.count(id_) == whole[id_] else letters[id_] for id_ in whole
        )
    )


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
def test_what_each_condition_covers(store: Store, condition: Condition, expected: str) -> None:
    fill(store, batch(*SHELF))
    with store.read() as reading:
        everything = reading.matching([])
        assert documents_of(reading, everything) == "ABG"
        found = reading.matching([condition])
        assert documents_of(reading, found) == expected
        others = reading.matching([replace(condition, negated=True)])
        assert sorted([*found.tolist(), *others.tolist()]) == everything.tolist()


def test_all_conditions_must_hold(store: Store) -> None:
    fill(store, batch(*SHELF))
    with store.read() as reading:
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


class Weighted(PlainAnalyzer):
    """Lists every word of the title three times at its place, as boosts do."""

    def chunk_terms(
        self,
        fields: Fields,
        header_path: Sequence[str],  # noqa: ARG002  (the port's)
        text: str,
    ) -> list[tuple[str, int]]:
        title = [(word, at) for at, word in enumerate(fields.title.split()) for _ in range(3)]
        return title + [(word, 100 + at) for at, word in enumerate(text.split())]


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("a b", ["1.md"]),
        ("a b c", ["1.md"]),
        ("a a", ["2.md"]),
        ("b c", ["1.md", "3.md"]),
        ("c d", []),
        ("b b", []),
    ],
)
def test_a_term_that_weighs_more_is_in_a_phrase_once(
    make_store: MakeStore, phrase: str, expected: list[str]
) -> None:
    store = make_store("index", Weighted())
    fill(
        store,
        batch(
            make_document("1.md", "d e", fields=Fields("a b c")),
            make_document("2.md", "b", fields=Fields("a a")),
            make_document("3.md", "b c", fields=Fields("a c")),
        ),
    )
    with store.read() as reading:
        found = reading.catalogue.chunks(
            reading.matching([where("phrase", *phrase.split())]).tolist()
        )
        assert sorted(chunk.document.id for chunk in found) == expected


# ── Rankings under conditions ────────────────────────────────────────────────


def test_a_filtered_ranking_is_the_unlimited_one_filtered(store: Store) -> None:
    words = ["apple", "pear", "plum", "fig"]
    put = []
    for number in range(60):
        body = " ".join(words[: 1 + number % 4] * (1 + number % 3))
        text = f"{body}\n\n```\n{words[number % 4]}\n```"
        put.append(make_document(f"{number}.md", text, fields=Fields(tags=(f"t{number % 7}",))))
    fill(store, batch(*put[:25]), batch(*put[25:]), batch(gone=["3.md", "30.md"]))
    with store.read() as reading:
        searches: list[Callable[[int, Keys | None], Scores]] = [
            partial(reading.keyword.search, "body", ["apple", "plum", "fig"]),
            partial(reading.keyword.search, "code", ["pear", "fig"]),
            partial(reading.vectors.nearest, vector_of("query")),
        ]
        for tags, search in product((["t1"], ["t1", "t2", "t5"], ["none"]), searches):
            among = reading.matching([where("tag", *tags)])
            everything = search(1000, None)
            expected = [pair for pair in everything if pair[0] in set(among.tolist())]
            for limit in (0, 1, 2, 5, 1000):
                assert search(limit, among) == expected[:limit]
                assert search(limit, None) == everything[:limit]


def test_keys_that_no_chunk_has_allow_nothing(store: Store) -> None:
    fill(store, batch(make_document("a.md", "alpha")))
    with store.read() as reading:
        key = reading.matching([]).tolist()[0]
        for among in (np.array([], np.int64), np.array([key + 1, key + 99], np.int64)):
            assert reading.keyword.search("body", ["alpha"], 10, among) == []
            assert reading.keyword.search("code", ["alpha"], 10, among) == []
            assert reading.vectors.nearest(vector_of("alpha"), 10, among) == []
        mixed = np.array([key, key + 1], np.int64)
        assert [key for key, _ in reading.keyword.search("body", ["alpha"], 10, mixed)] == [key]


def test_ties_are_cut_by_key(store: Store) -> None:
    same = [make_document(f"{number}.md", "apple", fields=Fields()) for number in range(40)]
    better = make_document("better.md", "apple apple", fields=Fields())
    # In several parts, newest keys first to be met by a search that does not care.
    fill(store, batch(*same[:3]), batch(better, *same[3:30]), batch(*same[30:]))
    with store.read() as reading:
        everything = reading.keyword.search("body", ["apple"], 100)
        best = everything[0][0]
        ties = sorted({key for key, _ in everything} - {best})
        for limit in (1, 2, 5, 39, 41):
            found = [key for key, _ in reading.keyword.search("body", ["apple"], limit)]
            assert found == [best, *ties][:limit]
            among = np.array(ties[5:], np.int64)
            found = [key for key, _ in reading.keyword.search("body", ["apple"], limit, among)]
            assert found == ties[5:][:limit]


# ── Neighbours ───────────────────────────────────────────────────────────────


def test_links_of_documents_in_both_directions(store: Store) -> None:
    fill(
        store,
        batch(
            make_document(
                "a.md", "x", links=[link("b"), link("nowhere", line=2), link("a", line=3)]
            ),
            make_document("b.md", "x", links=[link("c"), link("a", line=2)]),
            make_document("c.md", "x", links=[link("a"), link("gone", "related", line=2)]),
            make_document("d.md", "x"),
        ),
    )
    with store.read() as reading:
        everything = reading.links.all()
        for wanted in (["a.md"], ["b.md", "d.md"], ["d.md"], [], ["none.md"], ["c.md", "c.md"]):
            assert reading.links.of(wanted) == [
                edge for edge in everything if edge.source in wanted or edge.target in wanted
            ]
        assert [(e.source, e.target) for e in reading.links.of({"a.md"})] == [
            ("a.md", "b.md"),
            ("a.md", None),
            ("a.md", "a.md"),
            ("b.md", "a.md"),
            ("c.md", "a.md"),
        ]


def test_keys_of_documents(store: Store) -> None:
    fill(store, batch(*SHELF))
    with store.read() as reading:
        assert documents_of(reading, reading.catalogue.keys_of(["notes/Alpha.md"])) == "A"
        wanted = {"other/GAMMA.markdown", "notes/sub/beta.txt", "none"}
        assert documents_of(reading, reading.catalogue.keys_of(wanted)) == "BG"
        assert reading.catalogue.keys_of([]).tolist() == []


def test_vectors_of_chunks(store: Store) -> None:
    document = make_document("a.md", "alpha\n\nbeta\n\ngamma")
    waiting = make_document("b.md", "delta")
    fill(store, batch(document), Batch(put=(waiting,)))
    with store.read() as reading:
        keys = keys_in_order(reading)
        found = reading.vectors.of([keys[2], keys[0], keys[3], 999])
        assert list(found) == [keys[2], keys[0]]
        for chunk in reading.catalogue.chunks(list(found)):
            expected = vector_of(chunk.text).astype(np.float16).astype(np.float32)
            assert found[chunk.key].dtype == np.float32
            assert found[chunk.key].tolist() == expected.tolist()
        assert reading.vectors.of([]) == {}
    apply(store, batch(gone=["a.md"]))
    with store.read() as reading:
        assert reading.vectors.of(keys) == {}


# ── Words ────────────────────────────────────────────────────────────────────


def test_frequencies_count_chunks_and_forget_what_is_gone(store: Store) -> None:
    fill(
        store,
        batch(
            make_document("1.md", "apple apple pear\n\napple", fields=Fields()),
            make_document("2.md", "apple plum", fields=Fields()),
        ),
    )
    with store.read() as reading:
        assert reading.keyword.size == 3
        assert reading.keyword.frequencies("body", ["apple", "plum", "none", ""]) == {
            "apple": 3,
            "plum": 1,
            "none": 0,
            "": 0,
        }
        assert reading.keyword.frequencies("body", []) == {}
    apply(store, batch(gone=["2.md"]))
    with store.read() as reading:
        assert reading.keyword.size == 2
        assert reading.keyword.frequencies("body", ["apple", "plum"]) == {"apple": 2, "plum": 0}


def test_words_by_their_beginning(store: Store) -> None:
    fill(
        store,
        batch(make_document("a.md", "auth auth author author author authentication autumn ärger")),
    )
    with store.read() as reading:
        assert reading.vocabulary.beginning("auth", 10) == ["author", "auth", "authentication"]
        assert reading.vocabulary.beginning("AUTH", 2) == ["author", "auth"]
        assert reading.vocabulary.beginning("authx", 10) == []
        assert reading.vocabulary.beginning("a\u0308", 10) == ["ärger"]
        assert reading.vocabulary.beginning("auth", 0) == []
        assert reading.vocabulary.beginning("", 3) == ["author", "auth", "authentication"]
        assert reading.vocabulary.beginning("auth%", 10) == []


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("serch", ["search", "perch"]),
        ("SERCH", ["search", "perch"]),
        ("saerch", ["search"]),
        ("search", []),
        ("perch", []),
        ("cat", []),
        ("caat", ["cat"]),
        ("conection", ["connection", "connections"]),
        ("connectoin", ["connection", "connections"]),
        ("kannection", ["connection"]),
        ("kannectiom", []),
        ("straße", []),
        ("strasse", []),
        ("", []),
        ("x" * 10_000, []),
    ],
)
def test_words_that_are_spelled_nearly_so(store: Store, word: str, expected: list[str]) -> None:
    text = "search search perch cat connection connections straße"
    fill(store, batch(make_document("a.md", text)))
    with store.read() as reading:
        assert reading.vocabulary.spelled_like(word, 10) == expected
        assert reading.vocabulary.spelled_like(word, 1) == expected[:1]
        assert reading.vocabulary.spelled_like(word, 0) == []


# ── Communities ──────────────────────────────────────────────────────────────


def test_communities_are_replaced_as_a_whole(store: Store) -> None:
    fill(store, batch(*(make_document(f"{name}.md", "x") for name in "abc")))
    with store.write() as writing:
        writing.set_communities({"a.md": 0, "b.md": 0, "c.md": 1, "never-there.md": 1})
        assert writing.links.communities() == {"a.md": 0, "b.md": 0, "c.md": 1}
        assert writing.catalogue.counts().communities == 2
        writing.set_communities({"a.md": 7})
        assert writing.links.communities() == {"a.md": 7}
        writing.apply(batch(make_document("a.md", "changed")))
        assert writing.links.communities() == {"a.md": 7}
        writing.apply(batch(gone=["a.md"]))
        assert writing.links.communities() == {}


def test_tidying_loses_nothing_that_is_needed(store: Store) -> None:
    kept = make_document("kept.md", "kept words")
    gone = [make_document(f"{number}.md", f"gone {number}") for number in range(20)]
    fill(store, batch(kept, *gone))
    with store.write() as writing:
        writing.apply(batch(gone=[one.chunked.document.id for one in gone]))
        writing.remember({text_key("words"): vector_of("words")})
        writing.tidy(10_000)
        writing.tidy(10_000)
        assert writing.text_vectors.waiting() == []
        assert writing.text_vectors.known([text_key("words")]).keys() == {text_key("words")}
    with store.read() as reading:
        assert len(reading.vectors.nearest(vector_of("kept words"), 10)) == 1


# ── Readers and writers ──────────────────────────────────────────────────────


def numbered(number: int, count: int = 5) -> Batch:
    """A batch of documents that all carry the same number."""
    return batch(
        *(make_document(f"{name}.md", f"number{number} of {name}") for name in range(count))
    )


def number_seen(reading: Reading, count: int = 5) -> int:
    """The one number that documents, keyword hits and nearest chunks agree on."""
    documents = [reading.catalogue.document(f"{name}.md") for name in range(count)]
    numbers = {one.text.split()[0].removeprefix("number") for one in documents if one}
    assert len(numbers) == 1
    (number,) = numbers
    assert len(reading.keyword.search("body", [f"number{number}"], 100)) == count
    assert len(reading.keyword.search("body", ["of"], 100)) == count
    chunks = reading.catalogue.chunks(
        [key for key, _ in reading.vectors.nearest(vector_of("x"), 100)]
    )
    assert len(chunks) == count
    assert {chunk.text.split()[0] for chunk in chunks} == {f"number{number}"}
    assert reading.vocabulary.most_frequent(1) == [f"number{number}"]
    return int(number)


def test_a_reader_keeps_its_generation_until_it_is_closed(store: Store) -> None:
    if store.isolation != "generation":
        pytest.skip("this store isolates documents, not generations")
    fill(store, numbered(1))
    with store.read() as before:
        generation = before.catalogue.generation
        for number in (2, 3):
            apply(store, numbered(number))
            assert number_seen(before) == 1
            with store.read() as after:
                assert number_seen(after) == number
                assert after.catalogue.generation > generation
        assert before.catalogue.generation == generation
        with store.write() as writing:
            writing.start({"model": "another", "dimensions": 4})
        assert number_seen(before) == 1
    with store.read() as reading:
        assert reading.catalogue.documents() == []


def test_a_writer_sees_what_it_has_written(store: Store) -> None:
    with store.write() as writing:
        writing.start(STAMP)
        for number in range(3):
            writing.apply(numbered(number))
            assert writing.vocabulary.most_frequent(1) == [f"number{number}"]
            assert writing.catalogue.counts().embedded == 5
            with store.read() as reading:
                assert number_seen(reading) == number


def test_a_second_writer_learns_who_the_first_one_is(store: Store) -> None:
    with store.write():
        with pytest.raises(Locked, match=r"written by (this )?process") as caught, store.write():
            pass
        assert caught.value.hint
        with store.read() as reading:
            assert reading.catalogue.generation == 0
    with store.write() as writing:
        assert writing.catalogue.generation == 0


def test_a_second_writer_can_wait(store: Store) -> None:
    trying = threading.Event()

    def write_second() -> int:
        trying.set()
        with store.write(wait=30) as writing:
            return writing.catalogue.generation

    with ThreadPoolExecutor() as threads, store.write() as first:
        second = threads.submit(write_second)
        assert trying.wait(30)
        first.start(STAMP)
        assert not second.done()
        generation = first.catalogue.generation
    assert second.result() == generation


class Explosive(tuple[IndexedDocument, ...]):
    """Documents the second of which cannot be had."""

    __slots__ = ()

    def __iter__(self) -> Iterator[IndexedDocument]:
        yield self[0]
        raise RuntimeError("no more")


def test_a_batch_that_fails_changes_nothing(store: Store) -> None:
    fill(store, numbered(1))
    bad = Explosive([make_document("0.md", "changed", links=[link("1")])])
    with store.write() as writing:
        generation = writing.catalogue.generation
        with pytest.raises(RuntimeError, match="no more"):
            writing.apply(Batch(put=bad, gone=("1.md",), vectors=vectors_of(bad[0])))
        assert writing.catalogue.generation == generation
        assert writing.vocabulary.most_frequent(1) == ["number1"]
        assert writing.text_vectors.known([text_key("changed")]) == {}
        writing.apply(numbered(2))
    with store.read() as reading:
        assert reading.catalogue.generation == generation + 1
        assert number_seen(reading) == 2


def test_a_failure_of_the_caller_frees_the_lock_and_keeps_finished_batches(store: Store) -> None:
    def fail_between_batches() -> None:
        with store.write() as writing:
            writing.start(STAMP)
            writing.apply(numbered(1))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_between_batches()
    with store.write(), store.read() as reading:
        assert number_seen(reading) == 1


def test_threads_read_whole_documents_while_one_writes(store: Store) -> None:
    def several(number: int) -> IndexedDocument:
        parts = "\n\n".join(f"number{number} part{part}" for part in range(4))
        return make_document("a.md", parts)

    fill(store, batch(several(0)))
    done = threading.Event()

    def read_until_done() -> list[int]:
        seen: list[int] = []
        while not done.is_set() or not seen:
            with store.read() as reading:
                found = reading.catalogue.chunks(
                    [key for key, _ in reading.vectors.nearest(vector_of("x"), 100)]
                )
                numbers = {chunk.text.split()[0] for chunk in found}
                assert (len(numbers), len(found)) == (1, 4)
                words = reading.keyword.search("body", ["part0", "part1", "part2", "part3"], 100)
                assert len(words) in {0, 4}  # none: it was replaced since this reading met it
                seen.append(int(numbers.pop().removeprefix("number")))
        return seen

    with ThreadPoolExecutor(2) as threads:
        readers = [threads.submit(read_until_done) for _ in range(2)]
        try:
            with store.write() as writing:
                for number in range(1, 9):
                    writing.apply(batch(several(number)))
        finally:
            done.set()
        for reader in readers:
            assert reader.result() == sorted(reader.result())


def test_threads_read_whole_generations_while_one_writes(store: Store) -> None:
    if store.isolation != "generation":
        pytest.skip("this store isolates documents, not generations")
    fill(store, numbered(0))
    done = threading.Event()

    def read_until_done() -> list[int]:
        seen: list[int] = []
        while not done.is_set() or not seen:
            with store.read() as reading:
                seen.append(number_seen(reading))
        return seen

    with ThreadPoolExecutor(4) as threads:
        readers = [threads.submit(read_until_done) for _ in range(4)]
        try:
            with store.write() as writing:
                for number in range(1, 16):
                    writing.apply(numbered(number))
        finally:
            done.set()
        for reader in readers:
            assert reader.result() == sorted(reader.result())
    with store.read() as reading:
        assert number_seen(reading) == 15


def test_threads_may_share_one_reading(store: Store) -> None:
    fill(store, numbered(3))
    with store.read() as reading, ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda _: number_seen(reading), range(40))) == [3] * 40


def test_threads_may_search_in_one_reading(store: Store) -> None:
    fill(store, batch(*SHELF))

    def answers(reading: Reading) -> list[object]:
        among = reading.matching([where("tag", "fruit"), where("phrase", "red", "apple")])
        return [
            among.tolist(),
            reading.keyword.search("body", ["red", "pear"], 5),
            reading.keyword.search("body", ["red", "pear"], 5, among),
            reading.vectors.nearest(vector_of("x"), 5, among),
            reading.catalogue.chunks(reading.matching([]).tolist()),
            reading.links.of(["notes/Alpha.md"]),
            reading.vocabulary.spelled_like("appel", 3),
        ]

    with store.read() as reading:
        expected = answers(reading)
    with store.read() as reading, ThreadPoolExecutor(4) as threads:
        assert all(found == expected for found in threads.map(answers, [reading] * 40))


def test_the_same_batches_give_the_same_index(make_store: MakeStore) -> None:
    answers = []
    for name in ("one", "two"):
        store = make_store(name, PlainAnalyzer())
        fill(store, numbered(1), numbered(2), batch(gone=["3.md"]))
        with store.read() as reading:
            answers.append(
                (
                    reading.catalogue.documents(),
                    reading.keyword.search("body", ["number2", "of"], 10),
                    reading.vectors.nearest(vector_of("x"), 10),
                    reading.vocabulary.most_frequent(10),
                    reading.catalogue.generation,
                )
            )
    assert answers[0] == answers[1]


def test_a_store_can_be_used_again_after_closing(store: Store) -> None:
    fill(store, numbered(1))
    store.close()
    with store.read() as reading:
        assert number_seen(reading) == 1


def test_repairing_a_whole_index_changes_no_answer(store: Store) -> None:
    fill(store, numbered(1), numbered(2))
    store.repair()
    assert store.check() == []
    with store.read() as reading:
        assert number_seen(reading) == 2


def test_chunks_are_found_by_title_alias_and_heading(store: Store) -> None:
    fields = Fields(title="Pump hall", aliases=("The hall",))
    hall = make_document("hall.md", "first\n\nsecond\n\n# Opening hours\n\nnine", fields=fields)
    other = make_document("other.md", "# Pump hall!\n\ntext")
    fill(store, batch(hall, other))
    with store.read() as reading:

        def named(name: str, limit: int = 9) -> list[tuple[str, str, tuple[str, ...], int]]:
            found = reading.catalogue.named(name, limit)
            chunks = reading.catalogue.chunks([key for key, _ in found])
            return [
                (name.kind, chunk.text.strip(), name.path, name.line)
                for (_, name), chunk in zip(found, chunks, strict=True)
            ]

        title = ("title", "first", ("Pump hall",), 1)
        assert named("PUMP-hall") == [title, ("heading", "# Pump hall!", ("Pump hall!",), 1)]
        assert named("pump hall", 1) == [title]
        assert named("the hall") == [("alias", "first", ("The hall",), 1)]
        assert named("opening hours") == [("heading", "# Opening hours", ("Opening hours",), 5)]
        assert named("pump") == named("") == []
    apply(store, Batch(gone=("hall.md",)))
    with store.read() as reading:
        assert reading.catalogue.named("the hall", 9) == []
