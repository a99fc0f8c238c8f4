"""Offsets count characters and lines count line feeds, whatever stands before them."""

from __future__ import annotations

import pytest

from dowse._index.markdown.document import parse
from dowse._model import Document

BEFORE = [
    "",
    "plain\n\n",
    "ümläut und ß\n\n",
    "漢字かな交じり文\n\n",
    "👩‍👩‍👧 🎉 e\u0301\n\n",
    "\ttabs\tand\x0bother\x0cspace\u2028\u2029\x85\n\n",
    "nul \0 in the text\n\n",
    "lone \ud800 surrogate\n\n",
    "lone\rreturns\r\n\n",
    "---\ntitle: ü 🎉\n---\n",
    "\n\n\n",
]


@pytest.fixture(params=BEFORE, ids=[repr(text[:12]) for text in BEFORE])
def before(request: pytest.FixtureRequest) -> str:
    text: str = request.param
    return text


def line(document: Document, offset: int) -> int:
    return document.text.count("\n", 0, offset) + 1


def test_headings(before: str) -> None:
    document = parse("a.md", f"{before}## Über 🎉 uns\n")

    (heading,) = document.headings
    assert heading.text == "Über 🎉 uns"
    assert heading.start == len(before)


def test_code_blocks(before: str) -> None:
    fence = "```py\nprint('ü🎉')\n```"
    document = parse("a.md", f"{before}ä:\n\n{fence}\n\nafter\n")

    (code,) = document.code_blocks
    assert document.text[code.start : code.end] == fence
    assert code.text == "print('ü🎉')"
    assert (code.first_line, code.last_line) == (
        line(document, code.start),
        line(document, code.end),
    )


def test_links_and_tags(before: str) -> None:
    document = parse("a.md", f"{before}Größe 🎉 [[Ziel ü|🎉]] und [ä](ö.md) #größe\n")

    assert [(link.target, link.label) for link in document.links] == [
        ("Ziel ü", "🎉"),
        ("ö.md", "ä"),
    ]
    assert {link.line for link in document.links} == {before.count("\n") + 1}
    assert document.fields.tags == ("größe",)


def test_blocks(before: str) -> None:
    document = parse("a.md", f"{before}# ü\n\n| 漢 | 字 |\n|----|----|\n| 🎉 | b |\n\n- ä\n- ö\n")

    cut = [document.text[block.start : block.end] for block in document.blocks]
    assert "".join(cut) == document.text[document.body :]
    assert cut[-2:] == ["- ä\n", "- ö\n"]
    assert document.blocks[-3].kind == "table"


def test_a_nul_does_not_end_the_text() -> None:
    document = parse("a.md", "a\0b\n\n\0\n\n# After\0all\n\n[[li\0nk]]\n")

    assert document.headings[0].text == "After\0all"
    assert document.links[0].target == "li\0nk"


def test_only_line_feeds_end_lines() -> None:
    document = parse("a.md", "one\rtwo\u2028three\x0bfour [[x]]\n[[y]]")

    assert [link.line for link in document.links] == [1, 2]


def test_tabs_count_as_columns() -> None:
    document = parse("a.md", "-\tone\n\n\ttwo\n\n\t```\n\tcode\n\t```\n#\ttitle\n")

    assert document.code_blocks[0].text == "code"
    assert document.headings[0].text == "title"
