"""Where links lead: cases in a table, each a small set of documents and one link."""

from __future__ import annotations

import posixpath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from documents import link
from dowse._model import Link, LinkKind
from dowse._text import links
from dowse._text.links import choose, names_of, names_of_target
from rows import check_rows

_Case = tuple[str, LinkKind, str, str, dict[str, tuple[str, ...]], str | None]
_CASES: list[_Case] = [
    # what the case shows, kind, source, target, documents with their aliases, where it leads
    ("a file name", "wikilink", "s.md", "note", {"note.md": ()}, "note.md"),
    ("an ending may be written", "wikilink", "s.md", "note.md", {"note.md": ()}, "note.md"),
    ("or be another", "wikilink", "s.md", "note.md", {"note.txt": ()}, "note.txt"),
    ("in another folder", "wikilink", "s.md", "note", {"a/b/note.md": ()}, "a/b/note.md"),
    ("large and small letters", "wikilink", "s.md", "NOTE", {"Note.md": ()}, "Note.md"),
    ("also beyond ASCII", "wikilink", "s.md", "STRASSE Ä", {"straße ä.md": ()}, "straße ä.md"),
    ("spaces around it", "wikilink", "s.md", "  note ", {"note.md": ()}, "note.md"),
    ("no such document", "wikilink", "s.md", "note", {"notes.md": ()}, None),
    ("not a part of a name", "wikilink", "s.md", "b/note", {"ab/note.md": ()}, None),
    ("dots in a name", "wikilink", "s.md", "v1.2", {"v1.2.md": (), "v1.md": ()}, "v1.2.md"),
    ("other formats in full", "wikilink", "s.md", "p.pdf", {"p.pdf": ()}, "p.pdf"),
    ("other formats need it", "wikilink", "s.md", "p", {"p.pdf": ()}, None),
    ("an embed", "embed", "s.md", "note", {"note.md": ()}, "note.md"),
    ("a related entry", "related", "s.md", "note", {"note.md": ()}, "note.md"),
    ("a related path", "related", "a/s.md", "b/note.md", {"b/note.md": ()}, "b/note.md"),
    ("beside before root", "wikilink", "a/s.md", "n", {"n.md": (), "a/n.md": ()}, "a/n.md"),
    ("path before name", "wikilink", "s.md", "a/n", {"x/a/n.md": (), "a/n.md": ()}, "a/n.md"),
    ("part of a path", "wikilink", "s.md", "a/n", {"x/a/n.md": (), "n.md": ()}, "x/a/n.md"),
    ("upwards", "wikilink", "a/b/s.md", "../n", {"a/n.md": (), "n.md": ()}, "a/n.md"),
    ("nearest by steps", "wikilink", "a/b/s.md", "n", {"a/n.md": (), "c/n.md": ()}, "a/n.md"),
    ("the root is near", "wikilink", "a/b/s.md", "n", {"n.md": (), "a/c/d/n.md": ()}, "n.md"),
    ("root before cousin", "wikilink", "a/b/s.md", "n", {"a/x/n.md": (), "n.md": ()}, "n.md"),
    ("then by ending", "wikilink", "s.md", "n", {"n.txt": (), "n.mdx": ()}, "n.mdx"),
    ("then the shorter", "wikilink", "s.md", "n", {"aa/n.md": (), "b/n.md": ()}, "b/n.md"),
    ("then by id", "wikilink", "s.md", "n", {"b/n.md": (), "a/n.md": ()}, "a/n.md"),
    ("an alias", "wikilink", "s.md", "Short", {"long.md": ("short",)}, "long.md"),
    ("one of many aliases", "wikilink", "s.md", "b", {"x.md": ("a", "B", "")}, "x.md"),
    ("a name before an alias", "wikilink", "s.md", "n", {"x.md": ("n",), "a/n.md": ()}, "a/n.md"),
    ("the nearest alias", "wikilink", "a/s.md", "n", {"x.md": ("n",), "a/y.md": ("n",)}, "a/y.md"),
    ("an alias with a slash", "wikilink", "s.md", "tcp/ip", {"x.md": ("TCP/IP",)}, "x.md"),
    ("in full, not in part", "wikilink", "s.md", "ip", {"x.md": ("TCP/IP",)}, None),
    ("an alias like a file", "wikilink", "s.md", "a.md", {"x.md": ("a.md",)}, "x.md"),
    ("an alias with dots", "wikilink", "s.md", "Node.js", {"x.md": ("node.js",)}, "x.md"),
    ("an alias that ends so", "wikilink", "s.md", "either/or/", {"x.md": ("either/or/",)}, "x.md"),
    ("no alias in Markdown links", "relative", "s.md", "short", {"x.md": ("short",)}, None),
    ("relative, beside", "relative", "a/s.md", "n.md", {"a/n.md": (), "n.md": ()}, "a/n.md"),
    ("relative, not elsewhere", "relative", "a/s.md", "n.md", {"n.md": ()}, None),
    ("relative, upwards", "relative", "a/s.md", "../b/n.md", {"b/n.md": ()}, "b/n.md"),
    ("relative, out of the root", "relative", "s.md", "../../n.md", {"n.md": ()}, None),
    ("relative, without ending", "relative", "s.md", "n", {"n.md": ()}, "n.md"),
    ("relative, with a dot", "relative", "a/s.md", "./n.md", {"a/n.md": ()}, "a/n.md"),
    ("from the site's root", "relative", "a/s.md", "/n.md", {"a/n.md": (), "n.md": ()}, "n.md"),
    ("from any root above", "relative", "a/s.md", "/n", {"docs/n.md": ()}, "docs/n.md"),
    ("below a site's address", "relative", "s.md", "/docs/a/n/", {"a/n.md": ()}, "a/n.md"),
    ("as much of it as can be", "relative", "s", "/a/n", {"n.md": (), "a/n.md": ()}, "a/n.md"),
    (
        "below a root's address",
        "relative",
        "@r/s.md",
        "/x/n",
        {"n.md": (), "@r/n.md": ()},
        "@r/n.md",
    ),
    ("an index page", "relative", "s.md", "guide/", {"guide/index.md": ()}, "guide/index.md"),
    ("Hugo's index page", "relative", "s.md", "guide", {"guide/_index.md": ()}, "guide/_index.md"),
    ("a readme", "wikilink", "s.md", "guide", {"x/guide/README.md": ()}, "x/guide/README.md"),
    ("a page before a folder", "wikilink", "s.md", "g", {"g/index.md": (), "g.md": ()}, "g.md"),
    ("an index by its own name", "wikilink", "a/s.md", "index", {"a/index.md": ()}, "a/index.md"),
    ("the folder it is in", "relative", "a/s.md", ".", {"a/index.md": ()}, "a/index.md"),
    ("the folder above", "relative", "a/s.md", "..", {"README.md": ()}, "README.md"),
    ("the site itself", "relative", "a/s.md", "/", {"index.md": (), "a/index.md": ()}, "index.md"),
    ("the own root first", "wikilink", "@r/s.md", "n", {"n.md": (), "@r/a/n.md": ()}, "@r/a/n.md"),
    ("then other roots", "wikilink", "@r/s.md", "n", {"n.md": ()}, "n.md"),
    ("a root by its name", "wikilink", "s.md", "@r/n", {"@r/n.md": (), "n.md": ()}, "@r/n.md"),
    ("from one to another", "wikilink", "@q/s.md", "@r/n", {"@r/n.md": ()}, "@r/n.md"),
    ("its own site", "relative", "@r/a/s.md", "/n", {"n.md": (), "@r/n.md": ()}, "@r/n.md"),
    ("a folder like a root", "relative", "@in/s.md", "../n.md", {"n.md": ()}, "n.md"),
    ("an anchor alone", "relative", "a/s.md", "", {"a/index.md": ()}, "a/s.md"),
    ("an anchor alone in a root", "wikilink", "s.md", " ", {"README.md": ()}, "s.md"),
    ("itself", "wikilink", "a/s.md", "s", {"a/s.md": (), "s.md": ()}, "a/s.md"),
]


def test_where_a_link_leads() -> None:
    def check(case: _Case) -> None:
        _, kind, source, target, documents, expected = case
        written = link(target, kind)
        names = [name for one, aliases in documents.items() for name in names_of(one, aliases)]
        looked_up = names_of_target(source, written)
        known = [name for name in names if name.name in looked_up]
        assert choose(source, written, known) == expected
        # Knowing more names than those looked up changes nothing.
        assert choose(source, written, names) == expected

    check_rows(_CASES, check)


_ODD = ["", "/", "//", ".", "..", "../..", "a//b", "\0", "a/./b", "~"]
_odd_text = st.one_of(st.sampled_from(_ODD), st.text("a./~#@\0 ", max_size=6))


@settings(deadline=None, max_examples=300, derandomize=True)
@given(
    _odd_text,
    st.sampled_from(["wikilink", "embed", "relative", "related"]),
    st.sampled_from(["s.md", "a/s.md", "@r/s.md", "@s.md"]),
)
def test_odd_targets_are_looked_up_without_complaint(
    target: str, kind: LinkKind, source: str
) -> None:
    written = link(target, kind)
    assert names_of_target(source, written)
    assert choose(source, written, []) in {None, source}


@settings(deadline=None, max_examples=100, derandomize=True)
@given(st.one_of(st.sampled_from(["/", "//", ".", "..", "\0", " ", "a/", "@", "#x"]), _odd_text))
def test_odd_aliases_are_names_without_complaint(alias: str) -> None:
    for name in names_of("a/b.md", [alias]):
        assert name.name


@pytest.mark.parametrize(
    ("target", "label", "documents", "expected"),
    [
        ("note", "What it says", ["note.md", "what it says.md"], "note.md"),
        ("What it says", "some.note", ["some.note.md"], "some.note.md"),
        ("What it says", "some.note#part", ["some.note.md"], "some.note.md"),
        ("What it says", "some.note", ["other.md"], None),
    ],
)
def test_a_label_that_comes_first_is_understood_where_the_target_is_not(
    target: str, label: str, documents: list[str], expected: str | None
) -> None:
    written = replace(link(target, "wikilink"), label=label)
    names = [name for one in documents for name in names_of(one, ())]
    assert choose("s.md", written, names) == expected
    assert choose("s.md", replace(written, kind="relative"), names) in {None, "note.md"}


@settings(deadline=None, max_examples=300, derandomize=True)
@given(st.text("aÄ./ #%", max_size=8), st.sampled_from(["wikilink", "relative"]))
def test_a_target_is_looked_up_by_the_last_part_of_its_path(target: str, kind: LinkKind) -> None:
    written = Link(kind, target, "", "", 1)
    for source in ("a.md", "x/y/a.md", "@more/x/a.md"):
        path = links._paths(source, written)[0]
        assert names_of_target(source, written) == [posixpath.basename(path)]
