"""Text → blocks: headings, fences, tables and the rest, in order and without a gap."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import tree_sitter_markdown
from tree_sitter import Language, Node, Parser, TreeCursor

from dowse.parse.fences import read_fence
from dowse.parse.lines import LineNumbers
from dowse.parse.skeleton import NESTED_TOO_DEEP, block_skeleton
from dowse.types import Block, BlockKind, CodeBlock

_LANGUAGE = Language(tree_sitter_markdown.language())


def _ids(*kinds: str) -> frozenset[int]:
    found = (_LANGUAGE.id_for_node_kind(kind, True) for kind in kinds)
    return frozenset(number for number in found if number is not None)


_ERROR = 65535  # tree-sitter's own number for what it could not read; its children are good
_LIST_ITEM = _ids("list_item")
_QUOTE = _ids("block_quote")
_NESTING = _LIST_ITEM | _QUOTE
_CONTAINERS = _NESTING | _ids("document", "section", "list") | {_ERROR}
_HEADINGS = _ids("atx_heading", "setext_heading")
_FENCE = _ids("fenced_code_block")
_TABLE = _ids("pipe_table")
_PARAGRAPH = _ids("paragraph")
_DEFINITION = _ids("link_reference_definition")
_OTHER = _ids("indented_code_block", "html_block", "thematic_break")
_LEAVES = _HEADINGS | _FENCE | _TABLE | _PARAGRAPH | _DEFINITION | _OTHER
_CELL = _ids("pipe_table_cell")
_LABEL = _ids("link_label")
_DESTINATION = _ids("link_destination")


class Stretch(NamedTuple):
    """A part of the text; offsets count from the start of the document."""

    start: int
    end: int
    quoted: bool = False  # lies in a block quote, so its lines may start with ">"


@dataclass(slots=True)
class Outline:
    """What the block grammar found, in the order of the text."""

    blocks: list[Block] = field(default_factory=list)
    headings: list[Stretch] = field(default_factory=list)  # those at the top level
    code_blocks: list[CodeBlock] = field(default_factory=list)
    inlines: list[Stretch] = field(default_factory=list)  # where links and tags may stand
    definitions: list[tuple[Stretch, Stretch]] = field(default_factory=list)  # label, destination
    flattened: list[int] = field(default_factory=list)  # lines nested too deep, read as text


def read_blocks(text: str, body: int, lines: LineNumbers) -> Outline:
    """Reads the text from `body` on."""
    return _BlockReader(text, body, lines).read()


class _BlockReader:
    """Walks the block tree once and collects what is needed."""

    def __init__(self, text: str, body: int, lines: LineNumbers) -> None:
        self._text = text
        self._body = body
        self._lines = lines
        self._too_deep = [match.start() for match in NESTED_TOO_DEEP.finditer(text, body)]
        # The line feed put in front keeps the grammar from taking "---" there for metadata.
        self._skeleton = b"\n" + block_skeleton(text[body:], flatten=bool(self._too_deep))
        self._shift = body - 1  # from the grammar's offsets to the document's
        self._outline = Outline()
        self._starts: list[int] = []
        self._kinds: list[BlockKind] = []

    def read(self) -> Outline:
        for node, nested, quoted in _leaves(Parser(_LANGUAGE).parse(self._skeleton).walk()):
            kind = node.kind_id
            start = node.start_byte + self._shift
            if kind in _PARAGRAPH:
                end = node.end_byte + self._shift
                self._outline.inlines.append(Stretch(start, end, quoted))
                self._open_block(start, "text")
            elif kind in _HEADINGS:
                self._take_heading(node, nested, quoted)
            elif kind in _FENCE:
                self._take_fence(node, quoted)
            elif kind in _TABLE:
                self._take_table(node)
            else:
                self._take_other(node)
        self._join_blocks()
        self._note_flattened()
        return self._outline

    def _take_heading(self, node: Node, nested: bool, quoted: bool) -> None:
        place = self._place(node, quoted)
        self._outline.inlines.append(place)
        # What fills a list item or a quote never starts its line; where the grammar lost its way
        # it may still say so.
        nested = nested and not self._starts_line(place.start)
        if not nested:
            self._outline.headings.append(place)
        self._open_block(place.start, "text" if nested else "heading")

    def _take_fence(self, node: Node, quoted: bool) -> None:
        fence = read_fence(self._text, node, self._shift, quoted, self._lines)
        self._outline.code_blocks.append(fence)
        self._open_block(fence.start, "fence")

    def _take_table(self, node: Node) -> None:
        place = self._place(node)
        self._open_block(place.start, "table")
        content = self._text[place.start : place.end]
        if "[" in content or "#" in content:
            for row in node.named_children:
                cells = (cell for cell in row.named_children if cell.kind_id in _CELL)
                self._outline.inlines.extend(map(self._place, cells))

    def _take_other(self, node: Node) -> None:
        place = self._place(node)
        self._open_block(place.start, "text")
        if node.kind_id not in _DEFINITION:
            return
        if self._text.startswith("[^", place.start):  # a footnote of one word
            self._outline.inlines.append(place)
            return
        labels = [part for part in node.named_children if part.kind_id in _LABEL]
        addresses = [part for part in node.named_children if part.kind_id in _DESTINATION]
        if labels and addresses:
            definition = self._place(labels[0]), self._place(addresses[0])
            self._outline.definitions.append(definition)

    def _place(self, node: Node, quoted: bool = False) -> Stretch:
        return Stretch(node.start_byte + self._shift, node.end_byte + self._shift, quoted)

    def _starts_line(self, offset: int) -> bool:
        return offset == 0 or self._text[offset - 1] == "\n"

    def _open_block(self, offset: int, kind: BlockKind) -> None:
        """A block starts with the line that its first character stands on."""
        start = self._text.rfind("\n", 0, offset) + 1
        if self._starts and start <= self._starts[-1]:
            if kind != "text":
                self._kinds[-1] = kind
            return
        self._starts.append(start)
        self._kinds.append(kind)

    def _join_blocks(self) -> None:
        """Each block runs to the start of the next, the first from the start of the body."""
        if self._body >= len(self._text):
            return
        kinds: list[BlockKind] = self._kinds or ["text"]
        starts = [self._body, *self._starts[1:]]
        ends = [*starts[1:], len(self._text)]
        for kind, start, end in zip(kinds, starts, ends, strict=True):
            self._outline.blocks.append(Block(kind, start, end))

    def _note_flattened(self) -> None:
        """In code such lines are as they should be."""
        starts = [code.start for code in self._outline.code_blocks]
        for offset in self._too_deep:
            before = bisect_right(starts, offset) - 1
            if before < 0 or offset > self._outline.code_blocks[before].end:
                self._outline.flattened.append(self._lines.at(offset))


def _leaves(cursor: TreeCursor) -> Iterator[tuple[Node, bool, bool]]:
    """Every leaf block and list item, with whether it is nested and whether it is quoted."""
    opened: list[int] = []
    nesting = quotes = 0
    while True:
        node = cursor.node
        kind = node.kind_id if node else 0
        if node and (kind in _LEAVES or kind in _LIST_ITEM):
            yield node, nesting > 0, quotes > 0
        if kind in _CONTAINERS and cursor.goto_first_child():
            opened.append(kind)
            nesting += kind in _NESTING
            quotes += kind in _QUOTE
            continue
        while not cursor.goto_next_sibling():
            if not opened:
                return
            cursor.goto_parent()
            left = opened.pop()
            nesting -= left in _NESTING
            quotes -= left in _QUOTE
