"""What goes beyond a limit is left out and reported; all of the text is kept."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse._index.markdown.document import parse
from dowse._model import Document
from dowse._util import limits


def reasons(document: Document) -> list[str]:
    assert not any(problem.whole for problem in document.problems)
    return [problem.reason for problem in document.problems]


def test_a_very_long_heading_is_cut() -> None:
    document = parse("a.md", f"text\n\n# {'word ' * 100}\n\ntext\n")

    (heading,) = document.headings
    assert len(heading.text) <= limits.HEADING
    assert heading.text.startswith("word word")
    assert heading.text.endswith("…")
    (reason,) = reasons(document)
    assert reason == (
        "Line 3: the heading has more than 200 characters, of which only the first weigh as a "
        "heading; shorten it."
    )


def test_a_long_heading_is_kept() -> None:
    title = "w" * limits.HEADING
    document = parse("a.md", f"# {title}\n")

    assert document.headings[0].text == title
    assert document.problems == ()


def test_a_line_longer_than_a_window_is_text_in_which_links_are_found() -> None:
    document = parse("a.md", f"# {'word ' * 40_000} [[Note]] #tag\n\n# Next\n")

    assert [heading.text for heading in document.headings] == ["Next"]
    assert [link.target for link in document.links] == ["Note"]
    assert document.fields.tags == ("tag",)
    assert reasons(document)[0].startswith("Line 1: the line has more than 131,072 characters")


@pytest.mark.parametrize("tag", ["a/" * 10 + "a", "t" * 101])
def test_a_tag_too_deep_or_too_long_is_ignored(tag: str) -> None:
    inline = parse("a.md", f"text\n#{tag} #good\n")
    front = parse("a.md", f"---\ntags: [{tag}, good]\n---\ntext\n")

    assert inline.fields.tags == front.fields.tags == ("good",)
    (reason,) = reasons(inline)
    assert reason == (
        "Line 2: the tag has more than 100 characters or 10 levels and was ignored; shorten it to "
        "have it found."
    )
    assert len(reasons(front)) == 1


def test_tags_and_links_beyond_a_number_are_text() -> None:
    tags = parse("a.md", " ".join(f"#t{number}" for number in range(1100)))
    links = parse("a.md", "\n".join(f"[[{number}]]" for number in range(13_000)))

    assert len(tags.fields.tags) == limits.TAGS
    assert len(links.links) == limits.most_links(len(links.text)) < 13_000
    assert any("there are more than 1,000 tags" in reason for reason in reasons(tags))
    assert reasons(links)[0].startswith(f"Line {len(links.links) + 1}: there are too many links")


def test_a_definition_used_very_often_does_not_multiply() -> None:
    document = parse("a.md", f"[l]: {'x' * 900}.md\n\n" + "[l]\n" * 5000)

    written = sum(len(link.target) for link in document.links)
    assert 0 < written <= len(document.text) + limits.LINK_TEXT
    assert "too many links" in reasons(document)[0]


def test_a_link_too_long_is_ignored() -> None:
    document = parse("a.md", f"[[{'a' * 1001}]] [[b]]\n")

    assert [link.target for link in document.links] == ["b"]
    assert reasons(document)[0].startswith("Line 1: the link has more than 1,000 characters")


def test_links_and_tags_in_a_comment_are_left_out_unless_it_never_closes() -> None:
    document = parse("a.md", "%% [[a]] #a %% [[b]] #b\n\n%% [[c]] #c [[d]] #b\n")

    assert [link.target for link in document.links] == ["b", "c", "d"]
    assert document.fields.tags == ("b", "c")


def test_a_long_code_block_is_one_block_of_which_the_start_is_searched_as_code() -> None:
    code = "value = 1\n" * 30_000
    document = parse("a.md", f"before\n\n```py\n{code}```\n\n# After\n")

    (block,) = document.code_blocks
    assert block.language == "py"
    assert block.text == code[: limits.CODE].removesuffix("\n")
    assert document.text[block.start : block.end] == f"```py\n{code}```"
    assert [heading.text for heading in document.headings] == ["After"]
    assert reasons(document)[0].startswith("Line 3: the code block has more than 100,000")


@pytest.mark.parametrize("key", ["a." * 100 + "a", "'x' . " * 100 + "b"])
def test_a_toml_key_of_many_parts_is_too_deep(key: str) -> None:
    for written in (f"{key} = 1\n", f"[{key}]\nx = 1\n"):
        document = parse("a.md", f"+++\n{written}+++\ntext\n")

        assert "nested too deep" in reasons(document)[0]


@pytest.mark.parametrize("mark", ["- ", "? ", "- - ? "])
def test_yaml_lists_in_lists_on_one_line_are_too_deep(mark: str) -> None:
    document = parse("a.md", f"---\ntags: x\na:\n {mark * 100}x\n---\ntext\n")

    assert "nested too deep" in reasons(document)[0]


@pytest.mark.parametrize("number", ["1" * 5000, "0x" + "f" * 5000])
def test_a_number_of_thousands_of_digits_is_reported_or_ignored(number: str) -> None:
    document = parse("a.md", f"+++\ntitle = {number}\n+++\ntext\n")

    assert document.fields.title == "a"


@pytest.mark.parametrize("field", ["title", "description", "category"])
def test_a_long_field_is_cut_and_reported(field: str) -> None:
    document = parse("a.md", f"---\nx: y\n{field}: {'word ' * 1000}\n---\ntext\n")

    assert 0 < len(getattr(document.fields, field)) <= limits.DESCRIPTION
    assert reasons(document)[0].startswith(f"Line 3: {field} has more than")


@pytest.mark.parametrize("field", ["keywords", "aliases", "author"])
def test_a_long_list_is_cut_and_reported(field: str) -> None:
    names = ", ".join(f"name {number}" for number in range(300))
    document = parse("a.md", f"---\n{field}: [{names}]\n---\ntext\n")

    assert len(getattr(document.fields, field)) == limits.ENTRIES
    assert reasons(document)[0].startswith(f"Line 2: {field} has more than 200 entries")


def test_headings_code_and_definitions_beyond_a_number_are_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HEADINGS", "CODE_BLOCKS", "TABLES", "DEFINITIONS"):
        monkeypatch.setattr(limits, name, 2)
    part = "# H\n\n```\ncode\n```\n\n|a|\n|-|\n|b|\n\n[{0}]: {0}.md\n\n[{0}]\n\n"
    document = parse("a.md", "".join(part.format(number) for number in range(4)))

    kinds = [block.kind for block in document.blocks]
    assert [kinds.count(kind) for kind in ("heading", "fence", "table")] == [2, 2, 2]
    assert len(document.headings) == len(document.code_blocks) == 2
    assert [link.target for link in document.links] == ["0.md", "1.md"]
    assert len(reasons(document)) == 3


def test_short_paragraphs_beyond_a_number_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BLOCKS", 10)
    document = parse("a.md", "paragraph\n\n" * 1000 + "# Heading\n")
    plain = parse("a.txt", "paragraph\n\n" * 1000)

    assert len(document.blocks) < 70
    assert len(plain.blocks) < 70
    assert document.blocks[-1].kind == "heading"
    assert document.problems == ()


# ── Windows ──────────────────────────────────────────────────────────────────

_PARTS = [
    "# Heading\n", "text\n", "\n", "two\nlines\n", "Setext\n===\n",
    "- item\n", "- item\n\n  more\n",
    "1. one\n", "> quote\n", "> ```\n> code\n> ```\n",
    "```py\ncode\n\n# no\n```\n", "~~~\n```\n~~~\n",
    "|a|b|\n|-|-|\n|[[c]]|d|\n", "    indented\n", "<div>\nhtml\n</div>\n", "<!-- a\n\nb -->\n",
    "[label]: target.md\n", "[label]\n", "[[link]] #tag\n", "***\n", "---\n", "   - deep\n",
]  # fmt: skip


@given(st.lists(st.sampled_from(_PARTS), max_size=40).map("\n".join), st.integers(40, 200))
@settings(deadline=None, derandomize=True, max_examples=150)
def test_a_text_read_in_windows_has_the_same_parts(text: str, window: int) -> None:
    whole = parse("a.md", text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "WINDOW", window)
        windowed = parse("a.md", text)

    assert windowed == whole
