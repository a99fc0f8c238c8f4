"""Whatever is written, parsing gives a document whose parts lie where they say."""

from __future__ import annotations

import tree_sitter_markdown
from hypothesis import assume, given
from hypothesis import strategies as st
from tree_sitter import Language, Node, Parser

from dowse._index.markdown.blocks import block_skeleton, one_byte_per_character
from dowse._index.markdown.document import parse
from dowse._model import Document
from effort import examples

SETTINGS = examples(70, 200)

MARKS = [
    "# ", "## ", "#", "- ", "* ", "1. ", "> ", ">", "```", "~~~", "`", "``", "|", "|-|", "===",
    "---", "[[", "]]", "[[a]]", "[[a|b]]", "[a](b.md)", "[a][b]", "[a]: b.md", "![", "](", ")",
    "[", "]", "<div>", "</div>", "<!--", "-->", "<", ">", "<script>", "</script>", "*", "_", "**",
    "~~", "\\", "#tag", "%%", "&amp;", "$", "{#id}", "\n", "\n", "\n", "\n\n", "    ", "  ", " ",
    "\t", "word", "two words", "one, two. Three", "ü", "漢字", "🎉", "e\u0301", "\0", "\r",
    "\u2028", "+++\n", "...\n", "title: ", "tags: ", "date: ", "related: ", "[x, y]", "\n  - ",
    "&a ", "*a", "2024-02-30", ": ",
]  # fmt: skip
soups = st.lists(st.sampled_from(MARKS), max_size=60).map("".join)
texts = st.one_of(
    st.text(max_size=200),
    soups,
    soups.map("---\n{}".format),
    st.builds("---\n{}\n---\n{}".format, soups, soups),
    st.builds("+++\n{}\n+++\n{}".format, soups, soups),
)
ids = st.sampled_from(["a.md", "b/README.md", "c.mdx", "d.txt", "", "e/ü 🎉.markdown"])


def line(document: Document, offset: int) -> int:
    return document.text.count("\n", 0, offset) + 1


@given(ids, texts)
@SETTINGS
def test_blocks_cover_the_body_without_gap_or_overlap(document_id: str, text: str) -> None:
    document = parse(document_id, text)

    assert 0 <= document.body <= len(text)
    assert document.text == text
    edge = document.body
    for block in document.blocks:
        assert block.start == edge < block.end
        assert block.start == document.body or text[block.start - 1] == "\n"
        edge = block.end
    assert edge == len(text)


@given(ids, texts)
@SETTINGS
def test_headings_are_at_the_starts_of_lines_and_are_blocks(document_id: str, text: str) -> None:
    document = parse(document_id, text)

    starts = [heading.start for heading in document.headings]
    assert starts == sorted(set(starts))
    blocks = [block for block in document.blocks if block.kind == "heading"]
    assert len(blocks) == len(starts)
    for heading, block in zip(document.headings, blocks, strict=True):
        assert heading.start == 0 or text[heading.start - 1] == "\n"
        assert 1 <= heading.level <= 6
        assert block.start <= heading.start < block.end
        assert text[block.start : heading.start].strip() == ""
        assert "\n" not in heading.text


@given(ids, texts)
@SETTINGS
def test_code_blocks_lie_where_their_lines_say(document_id: str, text: str) -> None:
    document = parse(document_id, text)

    fences = [block for block in document.blocks if block.kind == "fence"]
    assert len(document.code_blocks) == len(fences)
    for code, block in zip(document.code_blocks, fences, strict=True):
        assert text.startswith(("```", "~~~"), code.start)
        assert block.start <= code.start < code.end <= block.end
        assert code.first_line == line(document, code.start)
        assert code.last_line == line(document, code.end)
        assert code.language == code.language.lower()
        assert len(code.language.split()) <= 1


@given(ids, texts)
@SETTINGS
def test_links_have_targets_and_are_on_lines_of_the_text(document_id: str, text: str) -> None:
    document = parse(document_id, text)

    for link in document.links:
        assert link.target.strip()
        assert 1 <= link.line <= line(document, len(text))
        if link.kind in ("wikilink", "embed"):
            assert "[[" in text.split("\n")[link.line - 1]


@given(ids, texts)
@SETTINGS
def test_fields_are_clean(document_id: str, text: str) -> None:
    fields = parse(document_id, text).fields

    folded = [tag.casefold() for tag in fields.tags]
    assert len(folded) == len(set(folded))
    assert all(tag and not tag.startswith("#") and tag == tag.strip() for tag in fields.tags)
    for single in (fields.title, fields.description, fields.category):
        assert single == single.strip()
        assert "\n" not in single


@given(ids, texts)
@SETTINGS
def test_problems_are_of_parts_and_name_a_line(document_id: str, text: str) -> None:
    document = parse(document_id, text)

    for problem in document.problems:
        assert problem.id == document_id
        assert not problem.whole
        assert problem.reason.startswith("Line ")


@given(ids, texts)
@SETTINGS
def test_parsing_twice_gives_the_same(document_id: str, text: str) -> None:
    assert parse(document_id, text) == parse(document_id, text)


LANGUAGE = Language(tree_sitter_markdown.language())
BLOCKS = {
    "atx_heading", "setext_heading", "paragraph", "fenced_code_block", "indented_code_block",
    "html_block", "pipe_table", "pipe_table_cell", "list_item", "block_quote", "thematic_break",
    "link_reference_definition",
}  # fmt: skip


def structure(root: Node) -> list[tuple[str, int, int]]:
    waiting, found = [root], []
    while waiting:
        node = waiting.pop()
        if node.type in BLOCKS:
            found.append((node.type, node.start_byte, node.end_byte))
        waiting.extend(node.children)
    return found


@given(soups)
@SETTINGS
def test_masking_what_cannot_matter_changes_no_block(text: str) -> None:
    # The grammar stumbles over these as they are written, which masking prevents.
    written = text.replace("\\", "x")
    whole = Parser(LANGUAGE).parse(one_byte_per_character(written) + b"\n").root_node
    assume(not whole.has_error)

    masked = Parser(LANGUAGE).parse(block_skeleton(written)[0]).root_node

    assert structure(masked) == structure(whole)
