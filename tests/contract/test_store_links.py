"""How every store resolves links and knows neighbours and communities."""

from __future__ import annotations

import pytest

from documents import batch, link, make_document
from dowse._model import Link
from dowse._model.ports import Store
from store_steps import SHELF, apply, documents_of, fill, targets


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
