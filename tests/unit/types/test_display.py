"""Results in a console and in a notebook."""

from __future__ import annotations

from dataclasses import replace

from dowse.types import Answer, Hit, Response, Trace

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
    modified=0.0,
    tags=(),
    links_out=(),
    links_in=(),
    stale=False,
    trace=Trace((), ()),
)
_RESPONSE = Response("stop it", (_HIT, replace(_HIT, id="b", score=0.5)), {}, 0, {}, ())


def test_a_response_is_a_collection_of_hits() -> None:
    assert [hit.id for hit in _RESPONSE] == ["a", "b"]
    assert len(_RESPONSE) == 2
    assert _RESPONSE
    assert not replace(_RESPONSE, hits=())


def test_a_console_shows_one_line_for_each_hit() -> None:
    assert repr(_RESPONSE).splitlines() == [
        "<Response to 'stop it': 2 hits>",
        "  0.93  guides/restore.md:5  Restore › Steps",
        "  0.50  guides/restore.md:5  Restore › Steps",
    ]
    assert repr(_HIT) == "<Hit 0.93  guides/restore.md:5  Restore › Steps>"


def test_a_title_cannot_command_the_terminal() -> None:
    shown = repr(replace(_HIT, title="\x1b[2J\u202egood", header_path=(), document="a\nb.md"))
    assert shown == "<Hit 0.93  a\\nb.md:5  \\x1b[2J\\u202egood>"


def test_a_notebook_shows_passages_with_marked_words() -> None:
    shown = _RESPONSE._repr_html_()
    assert shown.count("<li>") == 2
    assert "Stop the <mark>writer</mark>." in shown
    assert "<code>guides/restore.md:5</code> 0.93" in shown


def test_text_of_documents_is_never_markup_in_a_notebook() -> None:
    evil = "<script>alert('**1**')</script>\"&"
    hit = replace(_HIT, document=evil, title=evil, header_path=(evil, evil), snippet=evil)
    answer = Answer(evil, (), (), "")
    shown = Response(evil, (hit,), {}, 0, {}, (evil,), answer=answer)._repr_html_()
    assert "<script" not in shown
    assert "&lt;script&gt;alert(&#x27;<mark>1</mark>&#x27;)&lt;/script&gt;&quot;&amp;" in shown
