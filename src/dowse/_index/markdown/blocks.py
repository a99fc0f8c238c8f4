"""Text → blocks: headings, fences, tables and the rest, in order and without a gap."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence, Sized
from operator import itemgetter
from typing import NamedTuple

import tree_sitter_markdown
from msgspec import Struct, field
from tree_sitter import Language, Node, Parser, TreeCursor

from dowse._model import Block, BlockKind, CodeBlock
from dowse._text.markdown import FENCE, LineNumbers, closing_fence, line_end
from dowse._util import limits
from dowse._util.process import Deadline

_LANGUAGE = Language(tree_sitter_markdown.language())


def _ids(*kinds: str) -> frozenset[int | None]:
    return frozenset(_LANGUAGE.id_for_node_kind(kind, True) for kind in kinds)


_ERROR = 65535  # tree-sitter's own number for what it could not read; its children are good
_QUOTE = _ids("block_quote")
_NESTING = _QUOTE | _ids("list_item")
_CONTAINERS = _NESTING | _ids("document", "section", "list") | {_ERROR}
_BLOCKS = _ids(
    "atx_heading",
    "fenced_code_block",
    "html_block",
    "indented_code_block",
    "link_reference_definition",
    "list_item",
    "paragraph",
    "pipe_table",
    "setext_heading",
    "thematic_break",
)

_BLANK_LINES = re.compile(r"(?:[ \t]*+\n)*+")
_BETWEEN_PARAGRAPHS = re.compile(r"\n(?:[ \t]*+\n)++")


# ── What the grammars are given to read ──────────────────────────────────────
# The text with everything masked that cannot matter to a grammar. A skeleton has one byte for each
# character, so that the grammars' byte offsets are character offsets. Words that no rule looks at
# are joined into one long word, which a grammar passes over several times faster.

# The last two: entities mean nothing to what is looked for, and grammars stumble over them.
_HARMLESS = bytes.maketrans(b"?\0\r&", b"x? x")

# Kept as they are: lines that may open a fence, the tag that may open an HTML block (the whole
# line where its quotes could matter), and names of tags, because `</script>` may close one.
_KEPT_BY_BLOCKS = rb"""
    (?P<kept>
        ^ [^A-Za-z\n<`~]* (?: ``` | ~~~ ) [^\n]*
      | ^ [^A-Za-z\n<]* < (?: [^>"'\n]* > | [^\n]* )
      | < /? [A-Za-z0-9]+
    )
"""
# Between two letters of one line none of these can start, end or change a block.
_PROSE = rb"""(?<=[A-Za-z]) [A-Za-z0-9\ .,;:!?'"()\[\]{}*_~`$@%^+=/\#-]+ (?=[A-Za-z])"""
# Where the text may hold link definitions, spaces and quotes decide what is one.
_PROSE_NEAR_DEFINITIONS = rb"(?<=[A-Za-z]) [A-Za-z0-9.,%+=/_-]+ (?=[A-Za-z])"

# A letter keeps what follows from opening a block just as a backslash does; only in tables is there
# a difference. The block grammar stumbles over backslashes in brackets.
_ESCAPE = re.compile(rb"\\(?!\|)")

_MASKED = re.compile(_KEPT_BY_BLOCKS + b"|" + _PROSE, re.MULTILINE | re.VERBOSE)
_MASKED_NEAR_DEFINITIONS = re.compile(
    _KEPT_BY_BLOCKS + b"|" + _PROSE_NEAR_DEFINITIONS, re.MULTILINE | re.VERBOSE
)

# The block grammar carries every open quote and list item along with every token, and gives up
# near 250 of them. Nobody means a tenth of that: a line with this many marks in front is only text.
MOST_NESTED = 64
_NESTED_TOO_DEEP = re.compile(
    rb"^(?:[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])[ \t])){%d,}+(?![-* \t]*$)" % MOST_NESTED, re.MULTILINE
)


def one_byte_per_character(text: str) -> bytes:
    """Keep ASCII; any other character becomes a letter, which is how the grammars treat it."""
    marked = text.replace("\0", "x").replace("?", "\0")  # the encoding puts "?" for the others
    return marked.encode("ascii", "replace").translate(_HARMLESS)


def block_skeleton(text: str) -> tuple[bytes, list[int]]:
    """Return the text for the block grammar, and where lines are nested too deep: they are masked.

    The skeleton ends with a line feed, or no fence would close.
    """
    source = _ESCAPE.sub(b"x", one_byte_per_character(text))
    too_deep = [match.start() for match in _NESTED_TOO_DEEP.finditer(source)]
    if too_deep:
        source = _NESTED_TOO_DEEP.sub(mask, source)
    pattern = _MASKED_NEAR_DEFINITIONS if b"]:" in source else _MASKED
    return pattern.sub(mask_unless_kept, source) + b"\n", too_deep


def mask_unless_kept(match: re.Match[bytes]) -> bytes:
    """Keep what a group of the pattern matched, and mask everything else."""
    return match[0] if match.lastgroup else mask(match)


def mask(match: re.Match[bytes]) -> bytes:
    """Put one letter for each character."""
    return b"x" * (match.end() - match.start())


# ── What it finds ────────────────────────────────────────────────────────────


class Stretch(NamedTuple):
    """A part of the text; offsets count from the start of the document."""

    start: int
    end: int
    quoted: bool = False  # is in a block quote, so its lines may start with ">"


class Outline(Struct):
    """What the block grammar found, in the order of the text."""

    blocks: list[Block] = field(default_factory=list)
    headings: list[Stretch] = field(default_factory=list)  # those at the top level
    code_blocks: list[CodeBlock] = field(default_factory=list)
    inlines: list[Stretch] = field(default_factory=list)  # where links and tags may be
    definitions: list[tuple[Stretch, Stretch]] = field(default_factory=list)  # label, destination

    cuts: dict[str, int] = field(default_factory=dict)  # what was too much, from which offset on


def plain_blocks(text: str, body: int) -> list[Block]:
    """Read text without Markdown: one block per paragraph, each with the blank lines after it."""
    starts = [body]
    for match in _BETWEEN_PARAGRAPHS.finditer(text, body):
        start = match.end()
        if start < len(text) and (
            len(starts) < limits.BLOCKS or start - starts[-1] >= limits.JOINED
        ):
            starts.append(start)
    return _joined(["text"] * len(starts), starts, len(text))


def _joined(kinds: Sequence[BlockKind], starts: Sequence[int], length: int) -> list[Block]:
    """Return blocks that each run to the start of the next; none where there is no text."""
    if starts[0] >= length:
        return []
    return [Block(*each) for each in zip(kinds, starts, [*starts[1:], length], strict=True)]


class BlockReader:
    """Walks the block tree once and collects what is needed of the text from `body` on."""

    def __init__(self, text: str, body: int, lines: LineNumbers) -> None:
        self._text = text
        self._body = body
        self._lines = lines
        self._too_deep: list[int] = []
        self._shift = 0  # from the grammar's offsets to the document's
        self._outline = Outline()
        self._starts: list[int] = []
        self._kinds: list[BlockKind] = []
        self._tables = 0

    # ── Windows ──────────────────────────────────────────────────────────────
    # The grammar's tree takes up to 530 times the memory of its text. Nothing that is before a
    # block at the top level changes what the block is, so a long text is read in windows, each from
    # the start of the last block that the one before could not see to its end.

    def read(self, deadline: Deadline) -> Outline:
        outline, start = self._outline, self._body
        while start < len(self._text):
            deadline.check()
            start = self._read_window(start)
        outline.blocks = _joined(
            self._kinds or ["text"], [self._body, *self._starts[1:]], len(self._text)
        )
        code = [(block.start, block.end + 1) for block in outline.code_blocks]
        # In code such lines are as they should be; of all others the first is named.
        if deep := [offset for offset in self._too_deep if not is_within(code, offset)]:
            outline.cuts = {"nesting": deep[0], **outline.cuts}
        return outline

    def _read_window(self, start: int) -> int:
        """Read blocks from `start`, the start of a line; return where the next window starts."""
        if blank := _BLANK_LINES.match(self._text, start):  # the grammar is slow at empty lines
            start = blank.end()
        end = len(self._text)
        if end - start > limits.WINDOW:
            end = self._text.rfind("\n", start, start + limits.WINDOW) + 1
        if not end:  # the line is too long
            if after := self._take_long_fence(start):
                return after
            end = self._text.find("\n", start) + 1 or len(self._text)
            self._outline.cuts.setdefault("line", start)
            self._take_inline(Stretch(start, end))
            self._open_block(start, "text")
            return end
        skeleton, too_deep = block_skeleton(self._text[start:end])
        self._too_deep.extend(start + offset for offset in too_deep)
        # The line feed put in front keeps the grammar from taking "---" there for metadata.
        self._shift = start - 1
        tree = Parser(_LANGUAGE).parse(b"\n" + skeleton)
        edge = end
        if end < len(self._text):  # where the last block or list item at the top level starts
            starts = (node.start_byte for node, nested, _ in _leaves(tree.walk()) if not nested)
            last = max(starts, default=0) + self._shift
            edge = self._text.rfind("\n", 0, max(0, last)) + 1
        if edge <= start:  # one block fills the window
            if after := self._take_long_fence(start):
                return after
            edge = end
        for node, nested, quoted in _leaves(tree.walk()):
            if node.start_byte + self._shift < edge:
                self._take(node, nested, quoted)
        return edge

    def _take_long_fence(self, start: int) -> int | None:
        """Take the fence that starts with the line at `start`; return its end, None without one.

        It is read without the grammar.
        """
        text = self._text
        opening = _OPENING.match(text, start)
        if opening is None:
            return None
        content = min(line_end(text, start) + 1, len(text))
        closing = closing_fence(opening[1]).search(text, content)
        content_end = closing.start() if closing else len(text)
        code = text[content : min(content_end, content + limits.CODE)]
        code = _dedent(code, text[start : opening.start(1)])
        end = closing.end() if closing else max(len(text.rstrip()), content - 1)
        self._take_code(_code_block(text, opening.start(1), end, code, self._lines))
        return min(end + 1, len(text))

    # ── Blocks ───────────────────────────────────────────────────────────────

    def _take(self, node: Node, nested: bool, quoted: bool) -> None:
        place = self._place(node, quoted)
        match node.type:
            case "paragraph":
                self._take_inline(place)
                self._open_block(place.start, "text")
            case "atx_heading" | "setext_heading":
                self._take_heading(place, nested)
            case "fenced_code_block":
                self._take_code(_read_fence(self._text, node, self._shift, quoted, self._lines))
            case "pipe_table":
                self._take_table(node, place)
            case "link_reference_definition":
                self._open_block(place.start, "text")
                self._take_definition(node, place)
            case _:
                self._open_block(place.start, "text")

    def _take_inline(self, place: Stretch) -> None:
        """Keep a stretch of prose if a link, a tag or a comment can be in it."""
        prose, taken = self._text[place.start : place.end], self._outline.inlines
        may_hold_some = "[" in prose or "#" in prose or "%%" in prose
        if may_hold_some and self._fits("paragraphs", taken, limits.PARAGRAPHS, place.start):
            taken.append(place)

    def _take_heading(self, place: Stretch, nested: bool) -> None:
        self._take_inline(place)
        # What fills a list item or a quote never starts its line; where the grammar lost its way
        # it may still say so.
        starts_line = place.start == 0 or self._text[place.start - 1] == "\n"
        headings = self._outline.headings
        if (nested and not starts_line) or not self._fits(
            "headings", headings, limits.HEADINGS, place.start
        ):
            self._open_block(place.start, "text")
        else:
            headings.append(place)
            self._open_block(place.start, "heading")

    def _take_code(self, code: CodeBlock) -> None:
        blocks = self._outline.code_blocks
        if self._fits("code_blocks", blocks, limits.CODE_BLOCKS, code.start):
            if code.end - code.start > limits.CODE and len(code.text) >= limits.CODE - 1:
                self._outline.cuts.setdefault("code", code.start)
            blocks.append(code)
            self._open_block(code.start, "fence")
        else:
            self._open_block(code.start, "text")

    def _take_table(self, node: Node, place: Stretch) -> None:
        # One that is not distinguished from text is cut at its lines all the same.
        self._tables += 1
        self._open_block(place.start, "table" if self._tables <= limits.TABLES else "text")
        if "[" in self._text[place.start : place.end] or "#" in self._text[place.start : place.end]:
            for row in node.named_children:
                for cell in row.named_children:
                    if cell.type == "pipe_table_cell":
                        self._take_inline(self._place(cell))

    def _take_definition(self, node: Node, place: Stretch) -> None:
        if self._text.startswith("[^", place.start):  # a footnote of one word
            self._take_inline(place._replace(quoted=False))
            return
        parts = {part.type: self._place(part) for part in reversed(node.named_children)}
        label, address = parts.get("link_label"), parts.get("link_destination")
        taken, most = self._outline.definitions, limits.DEFINITIONS
        if label and address and self._fits("definitions", taken, most, place.start):
            taken.append((label, address))

    def _place(self, node: Node, quoted: bool = False) -> Stretch:
        return Stretch(node.start_byte + self._shift, node.end_byte + self._shift, quoted)

    def _fits(self, what: str, taken: Sized, most: int, offset: int) -> bool:
        """Say whether one more can be taken; the first that cannot is noted."""
        if len(taken) >= most:
            self._outline.cuts.setdefault(what, offset)
        return len(taken) < most

    def _open_block(self, offset: int, kind: BlockKind) -> None:
        """Begin a block with the line of its first character."""
        start = self._text.rfind("\n", 0, offset) + 1
        if self._starts and start <= self._starts[-1]:
            if kind != "text":
                self._kinds[-1] = kind
            return
        if (
            kind == "text"  # a paragraph is joined with the one before when there are too many
            and len(self._starts) >= limits.BLOCKS
            and self._kinds[-1] == "text"
            and start - self._starts[-1] < limits.JOINED
        ):
            return
        self._starts.append(start)
        self._kinds.append(kind)


def _leaves(cursor: TreeCursor) -> Iterator[tuple[Node, bool, bool]]:
    """Yield every leaf block and list item, with whether it is nested and whether it is quoted."""
    around: list[int] = []
    while node := cursor.node:
        kind = node.kind_id
        if kind in _BLOCKS:
            yield node, not _NESTING.isdisjoint(around), not _QUOTE.isdisjoint(around)
        if kind in _CONTAINERS and cursor.goto_first_child():
            around.append(kind)
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return
            around.pop()


# ── Fences ───────────────────────────────────────────────────────────────────

_MARK = re.compile(r"`{3,}|~{3,}")
_CLASS = re.compile(r"\.([^\s.{}]+)")
_WORD = re.compile(r"[{=\s]*([^\s{}(),:;=\"'\[\]]*)(=?)")
_OPENING = re.compile(rf" {{0,3}}({FENCE})", re.MULTILINE)

_TAB = 4


def _read_fence(text: str, node: Node, shift: int, quoted: bool, lines: LineNumbers) -> CodeBlock:
    """Read a fence whose node counts its bytes from `shift`; `quoted` if it is in a quote."""
    opening = node.start_byte + shift
    mark = _MARK.search(text, opening)
    start = mark.start() if mark else opening
    first_end = line_end(text, start)
    content = min(first_end + 1, len(text))
    marks = [part for part in node.named_children if part.type == "fenced_code_block_delimiter"]
    if len(marks) > 1:
        closing = marks[-1].start_byte + shift
        content_end = max(text.rfind("\n", 0, closing) + 1, content)
        end = line_end(text, closing)
    else:  # one that is not closed runs to the end of what contains it
        content_end = content + len(text[content : node.end_byte + shift].rstrip())
        end = content_end if content_end > content else first_end
    code = text[content : min(content_end, content + limits.CODE)]
    if quoted:
        code = _unquote(code, node, shift - content)
    indent = text[opening if quoted else text.rfind("\n", 0, start) + 1 : start]
    return _code_block(text, start, end, _dedent(code, indent), lines)


def _code_block(text: str, start: int, end: int, code: str, lines: LineNumbers) -> CodeBlock:
    return CodeBlock(
        language=_language(text[start : min(line_end(text, start), start + 1000)]),
        text=code.removesuffix("\n"),
        start=start,
        end=end,
        first_line=lines.at(start),
        last_line=lines.at(end),
    )


def _language(opening: str) -> str:
    """Return the language that an opening fence names, in lower case; "" when it names none."""
    info = _MARK.sub("", opening, count=1).strip().lower()
    if info.startswith("{") and (named := _CLASS.search(info)):
        return named[1][: limits.LANGUAGE]
    word = _WORD.match(info)
    return "" if word is None or word[2] else word[1].lstrip(".#")[: limits.LANGUAGE]


def _unquote(code: str, fence: Node, shift: int) -> str:
    """Take away what is in front of the lines only because of the quote."""
    marks = sorted(
        (mark.start_byte + shift, mark.end_byte + shift)
        for part in (fence, *fence.named_children)
        for mark in part.named_children
        if mark.type == "block_continuation"
    )
    kept, done = [], 0
    for start, end in marks:
        if start >= done:
            kept.append(code[done:start])
            done = end
    return "".join(kept) + code[done:]


def _dedent(code: str, indent: str) -> str:
    """Take away as much indentation as the opening fence has in front of it, and no more."""
    columns = len(indent.expandtabs(_TAB))

    def dedented(line: str) -> str:
        column = position = 0
        while column < columns and line[position : position + 1] in (" ", "\t"):
            column += 1 if line[position] == " " else _TAB - column % _TAB
            position += 1
        # A tab that reaches further leaves what is left of it.
        return " " * (column - columns) + line[position:]

    return "\n".join(map(dedented, code.split("\n")))


def is_within(spans: Sequence[tuple[int, int]], offset: int) -> bool:
    """Return whether a place is in one of some spans, which are in order and do not overlap."""
    before = bisect_right(spans, offset, key=itemgetter(0))
    return before > 0 and offset < spans[before - 1][1]
