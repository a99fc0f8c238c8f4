"""A fence in the block tree → a code block: its language, its code, its lines."""

from __future__ import annotations

import re

from msgspec import Struct
from tree_sitter import Node

from dowse._model import CodeBlock
from dowse._text.fences import FENCE, closing_fence
from dowse._text.lines import LineNumbers
from dowse._util import limits

_MARK = re.compile(r"`{3,}|~{3,}")
_CLASS = re.compile(r"\.([^\s.{}]+)")
_WORD = re.compile(r"[{=\s]*([^\s{}(),:;=\"'\[\]]*)(=?)")
_OPENING = re.compile(rf" {{0,3}}({FENCE})", re.MULTILINE)
_LONGEST_INFO = 1000  # characters after an opening fence that are looked at
_TAB = 4


class _Extent(Struct, frozen=True):
    content: int  # offset of the line after the opening fence
    content_end: int
    end: int  # of the last line, without its line feed


def read_fence(text: str, node: Node, shift: int, quoted: bool, lines: LineNumbers) -> CodeBlock:
    """Reads a fence whose node counts its bytes from `shift`; `quoted` if it is in a quote."""
    mark = _MARK.search(text, node.start_byte + shift)
    start = mark.start() if mark else node.start_byte + shift
    extent = _extent(text, start, node, shift)
    code = text[extent.content : min(extent.content_end, extent.content + limits.CODE)]
    if quoted:
        code = _unquote(code, node, shift - extent.content)
        indent = text[node.start_byte + shift : start]
    else:
        indent = text[text.rfind("\n", 0, start) + 1 : start]
    return _code_block(text, start, extent.end, _dedent(code, indent), lines)


def read_long_fence(text: str, start: int, lines: LineNumbers) -> CodeBlock | None:
    """Reads a fence that starts with the line at `start`, without the grammar; None: none does."""
    opening = _OPENING.match(text, start)
    if opening is None:
        return None
    content = min(_line_end(text, start) + 1, len(text))
    closing = closing_fence(opening[1]).search(text, content)
    content_end = closing.start() if closing else len(text)
    code = text[content : min(content_end, content + limits.CODE)]
    indent = " " * (opening.start(1) - start)
    end = closing.end() if closing else max(len(text.rstrip()), content - 1)
    return _code_block(text, start + len(indent), end, _dedent(code, indent), lines)


def _code_block(text: str, start: int, end: int, code: str, lines: LineNumbers) -> CodeBlock:
    return CodeBlock(
        language=language(text[start : min(_line_end(text, start), start + _LONGEST_INFO)]),
        text=code.removesuffix("\n"),
        start=start,
        end=end,
        first_line=lines.at(start),
        last_line=lines.at(end),
    )


def language(opening: str) -> str:
    """The language that an opening fence names, in lower case; "" when it names none."""
    info = _MARK.sub("", opening, count=1).strip().lower()
    if info.startswith("{") and (named := _CLASS.search(info)):
        return named[1][: limits.LANGUAGE]
    word = _WORD.match(info)
    return "" if word is None or word[2] else word[1].lstrip(".#")[: limits.LANGUAGE]


def _extent(text: str, start: int, node: Node, shift: int) -> _Extent:
    """An unclosed fence runs to the end of what contains it."""
    first_end = _line_end(text, start)
    content = min(first_end + 1, len(text))
    marks = [part for part in node.named_children if part.type == "fenced_code_block_delimiter"]
    if len(marks) > 1:
        closing = marks[-1].start_byte + shift
        content_end = max(text.rfind("\n", 0, closing) + 1, content)
        return _Extent(content, content_end, _line_end(text, closing))
    rest = text[content : node.end_byte + shift].rstrip()
    last = content + len(rest)
    return _Extent(content, last, last if rest else first_end)


def _unquote(code: str, fence: Node, shift: int) -> str:
    """Takes away what is in front of the lines only because of the quote."""
    parts = list(fence.named_children)
    for part in fence.named_children:
        if part.type == "code_fence_content":
            parts.extend(part.named_children)
    marks = sorted(
        (part.start_byte + shift, part.end_byte + shift)
        for part in parts
        if part.type == "block_continuation"
    )
    kept, done = [], 0
    for start, end in marks:
        if start >= done:
            kept.append(code[done:start])
            done = end
    return "".join(kept) + code[done:]


def _dedent(code: str, indent: str) -> str:
    """Takes away as much indentation as the opening fence has in front of it, and no more."""
    if not indent:
        return code
    columns = len(indent.expandtabs(_TAB))
    return "\n".join(_dedent_line(line, columns) for line in code.split("\n"))


def _dedent_line(line: str, columns: int) -> str:
    """A tab that reaches further leaves what is left of it."""
    column = position = 0
    while column < columns and line[position : position + 1] in (" ", "\t"):
        column += 1 if line[position] == " " else _TAB - column % _TAB
        position += 1
    return " " * (column - columns) + line[position:]


def _line_end(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return len(text) if end < 0 else end
