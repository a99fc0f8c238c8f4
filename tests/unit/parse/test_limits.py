"""Nothing that can be written makes parsing fail, hang or lose the text."""

from __future__ import annotations

import pytest

from dowse._index.markdown.document import parse
from dowse._model import Document
from rows import check_rows

TIMES = 30_000

REPEATED = [
    "[", "]", "(", "[[", "![", "![]]", "[a](", "[a](b.md) ", "[[a]] ", "`", "`` ` ", "<", "<!--",
    "*a _b ", "**", "> ", ">", "- ", "-\n", "1. ", "#", "# a\n", "a\n===\n", "```\n", "|", "{",
    "|a|\n|-|\n", "\n", " ", "\t", "\\", "&", "$", "%%", "#tag ", "[a]: b\n", "[^1]: x\n", "]:",
    "<div>\n", "e\u0301", "漢", "x", "word ", "<!--![]http://x(", "[[\n](<!", "---\n", "+++\n",
    "\0", "    a\n", "> ```\n",
]  # fmt: skip


def covers(document: Document) -> bool:
    edges = [block.start for block in document.blocks] + [len(document.text)]
    ends = [block.end for block in document.blocks]
    return edges[0] == document.body and edges[1:] == ends


@pytest.mark.parametrize("unit", REPEATED)
def test_repetitions(unit: str) -> None:  # a test for each, so that one that hangs is named
    def check(before: str) -> None:
        assert covers(parse("a.md", before + unit * (TIMES // len(unit))))

    check_rows(["", "x ", "> ", "# "], check)


@pytest.mark.parametrize("mark", [">", "> ", "- ", "1. ", "* ", "> - ", "+ 1) "])
def test_a_line_with_a_thousand_levels_is_text_and_reported(mark: str) -> None:
    document = parse("a.md", f"first\n\n{mark * 1000}text [[link]]\n\n# Heading\n" * 2)

    (problem,) = document.problems
    assert problem.reason.startswith("Line 3: quotes or lists are nested 64 deep")
    assert not problem.whole
    assert covers(document)
    assert [heading.text for heading in document.headings] == ["Heading", "Heading"]
    assert [link.line for link in document.links] == [3, 8]


def test_in_code_such_lines_are_as_they_should_be() -> None:
    document = parse("a.md", f"```\n{'>' * 100}\n```\n\n# Heading\n")

    assert document.problems == ()
    assert document.code_blocks[0].text == ">" * 100
    assert document.headings[0].text == "Heading"


def test_fewer_levels_are_markdown() -> None:
    document = parse("a.md", ">" * 60 + " [[link]]\n\n# Heading\n")

    assert document.problems == ()
    assert document.links[0].target == "link"
    assert document.headings[0].text == "Heading"


def test_lists_indented_a_thousand_times_are_read() -> None:
    deep = "".join(f"{'  ' * level}- item {level}\n" for level in range(1000))
    document = parse("a.md", f"{deep}\n# Heading\n")

    assert covers(document)
    assert document.headings[0].text == "Heading"


@pytest.mark.parametrize("rule", ["- " * 200, "* " * 200, "-" * 500, "_ " * 200])
def test_long_rules_are_no_nesting(rule: str) -> None:
    assert parse("a.md", f"text\n\n{rule}\n\n# Heading\n").problems == ()


def test_a_line_with_too_many_brackets_is_reported_and_the_others_are_read() -> None:
    knot = "![]http://x(" * 400
    document = parse("a.md", f"[[One]]\n{knot}\n[[Two]] [three](three.md)\n")

    assert [link.target for link in document.links] == ["One", "Two", "three.md"]
    (problem,) = document.problems
    assert problem.reason == (
        "Line 2: too many brackets to look for links; break the line to have them found."
    )


def test_a_paragraph_with_very_many_links_is_read() -> None:
    links = " | ".join(f"[{n}](page-{n}.md)" for n in range(2000))
    document = parse("a.md", f"{links}\n")

    assert [link.target for link in document.links] == [f"page-{n}.md" for n in range(2000)]
    assert document.problems == ()


def test_a_megabyte_has_its_last_line_right() -> None:
    text = "A paragraph with [[links]] and `code`.\n\n" * 25_000
    document = parse("a.md", f"{text}## End\n")

    assert len(document.text) > 1_000_000
    assert len(document.links) == 25_000
    assert document.links[-1].line == 49_999
    assert document.headings[0].start == len(text)
