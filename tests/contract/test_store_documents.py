"""What every store keeps of documents, and how their parts are found."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from documents import batch, link, make_document, state_of, vector_of
from dowse._model import Batch, Counts, Fields, FileState, short_id
from dowse._model.ports import Store
from index_content import waiting_texts
from store_steps import apply, fill, keys_in_order, targets, texts

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
        assert waiting_texts(reading) == []
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


def test_a_store_says_whether_it_has_more_documents_than_a_number(store: Store) -> None:
    fill(store, batch(make_document("a.md", "alpha"), make_document("b.md", "beta")))
    with store.read() as reading:
        assert [reading.catalogue.has_more_than(count) for count in (0, 1, 2, 3)] == [
            True,
            True,
            False,
            False,
        ]


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


def test_files_are_known_by_how_their_ids_begin(store: Store) -> None:
    names = ("a.md", "a/b.md", "a/é/c.md", "a/\U0010ffff.md", "ab.md", "@other/a/b.md")
    fill(store, batch(*(make_document(name, "alpha") for name in names)))
    with store.read() as reading:
        found = reading.catalogue.files
        assert found(["a/"]).keys() == {"a/b.md", "a/é/c.md", "a/\U0010ffff.md"}
        assert found(["a/é", "ab.md", "zz"]).keys() == {"a/é/c.md", "ab.md"}
        assert found(["a/b.md", "a/b"]) == {"a/b.md": found()["a/b.md"]}
        assert found(["", "a/"]) == found()
        assert found([]) == {}
        assert len(found()) == len(names)


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
