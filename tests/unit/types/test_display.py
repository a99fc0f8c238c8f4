"""Results in a console and in a notebook."""

from __future__ import annotations

from msgspec.structs import replace

from dowse._model import Answer, Hit, OtherPassage, Response, also_at

_HIT = Hit(
    id="a",
    section="s",
    document="guides/restore.md",
    title="Restore",
    header_path=("Restore", "Steps"),
    line=5,
    first_line=3,
    last_line=9,
    score=0.934,
    text="Stop the writer.",
    snippet="Stop the **writer**.",
    date="1970-01-01T00:00:00+00:00",
    tags=(),
    links_out=(),
    links_in=(),
    stale=False,
    match="strong",
    reason="exact title",
)
_RESPONSE = Response(query="stop it", hits=(_HIT, replace(_HIT, id="b", match="weak", reason="")))


def test_a_response_is_a_collection_of_hits() -> None:
    assert [hit.id for hit in _RESPONSE] == ["a", "b"]
    assert len(_RESPONSE) == 2
    assert _RESPONSE
    assert not replace(_RESPONSE, hits=())


def test_a_console_shows_one_line_for_each_hit() -> None:
    assert repr(_RESPONSE).splitlines() == [
        "<Response to 'stop it': 2 hits>",
        "  strong  guides/restore.md:5  Restore › Steps  (exact title)",
        "  weak  guides/restore.md:5  Restore › Steps",
    ]
    assert repr(_HIT) == "<Hit strong  guides/restore.md:5  Restore › Steps  (exact title)>"


def test_no_good_match_is_said_above_the_hits() -> None:
    poor = replace(_RESPONSE, no_good_match=True)
    assert repr(poor).startswith("<Response to 'stop it': 2 hits, no good match>")
    shown = poor._repr_html_()
    assert shown.index("No good match. Nearest:") < shown.index("<li>")


def test_places_in_a_pdf_are_pages() -> None:
    pages = [("Page 3", "Masts"), ("Page 9",), ("Page 9",)]
    more = tuple(OtherPassage("c", path, 5, 7, 0.5) for path in pages)
    hit = replace(_HIT, document="Manual.PDF", header_path=("Page 12", "Oil"), more=more)
    assert (hit.page, hit.place, hit.headings) == (12, "Manual.PDF p. 12", ("Oil",))
    assert also_at(hit) == "3 more: p. 3, 9"
    assert replace(hit, document="Manual.md").page is None
    assert replace(hit, header_path=("Page of honour",)).place == "Manual.PDF:5"


def test_a_title_cannot_command_the_terminal() -> None:
    shown = repr(replace(_HIT, title="\x1b[2J\u202egood", header_path=(), document="a\nb.md"))
    assert shown == "<Hit strong  a\\nb.md:5  \\x1b[2J\\u202egood  (exact title)>"


def test_a_notebook_shows_passages_with_marked_words() -> None:
    shown = _RESPONSE._repr_html_()
    assert shown.count("<li>") == 2
    assert "Stop the <mark>writer</mark>." in shown
    assert "<code>guides/restore.md:5</code> strong, exact title" in shown


def test_text_of_documents_is_never_markup_in_a_notebook() -> None:
    evil = "<script>alert('**1**')</script>\"&"
    hit = replace(_HIT, document=evil, title=evil, header_path=(evil, evil), snippet=evil)
    answer = Answer(evil, (), (), "")
    shown = Response(query=evil, hits=(hit,), notices=(evil,), answer=answer)._repr_html_()
    assert "<script" not in shown
    assert "&lt;script&gt;alert(&#x27;<mark>1</mark>&#x27;)&lt;/script&gt;&quot;&amp;" in shown
