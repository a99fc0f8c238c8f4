"""Markdown → the pieces that a reader sees: paragraphs, list items, table rows, code, headings.

This is a reading for display. It forgives whatever a cut in the middle of a document leaves:
a table without its head, a list item without its list.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from dowse.text.callouts import CALLOUT, callout_name
from dowse.text.fences import FENCE

PieceKind = Literal["heading", "prose", "row", "code"]
"""What a piece is."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One stretch of a text that belongs together, without the marks of its block."""

    kind: PieceKind
    markup: str  # inline marks are still in it, except in code, which is literal
    labelled: str = ""  # of a row: each cell with the name of its column


_LONGEST_FRONTMATTER = 20_000  # characters
_FRONTMATTER_LINE = re.compile(r"[\w-]+\s*[:=]|#|$")
_QUOTE = re.compile(r"^(?:[ ]{0,3}>[ ]?)+")
_FENCE = re.compile(rf"\s*(?:(?:[-*+]|\d{{1,9}}[.)])\s+)?({FENCE})")
_HEADING = re.compile(r"\s{0,3}#{1,6}(?:\s+|$)")
_UNDERLINE = re.compile(r"\s{0,3}(?:=+|-{2,})\s*$")
_RULE = re.compile(r"\s{0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,}|:::.*)$")
_SEPARATOR = re.compile(r"\s*+(?:\|\s*+)?:?-++:?\s*+(?:\|\s*+:?-*+:?\s*+)*+$")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?")
_DEFINITION = re.compile(r"\s{0,3}\[[^\]^][^\]]*\]:\s*\S+")
_INDENTED = re.compile(r"(?: {4}|\t)")
_CELL = re.compile(r"(?<!\\)\|")


def pieces(text: str) -> list[Piece]:
    """The pieces of a text, in their order; frontmatter, comments and rules are left out."""
    reader = _Reader()
    body = _without_frontmatter(text)
    for line in _without_comments(body).split("\n"):
        reader.take(line)
    reader.end()
    return reader.found


def _without_comments(text: str) -> str:
    """A pattern would look for the end of a comment at every beginning that has none."""
    kept, done = [], 0
    while (start := text.find("<!--", done)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        kept.append(text[done:start])
        done = end + 3
    return "".join(kept) + text[done:]


def _without_frontmatter(text: str) -> str:
    mark = text[:3]
    if mark not in {"---", "+++"} or text[3:4] != "\n":
        return text
    end = text.find(f"\n{mark}", 3, _LONGEST_FRONTMATTER)
    first_line = text[4:].partition("\n")[0]
    if end < 0 or not _FRONTMATTER_LINE.match(first_line):
        return text
    return text[end + 4 :].partition("\n")[2]


class _Reader:
    """Takes line after line and collects the pieces that they make."""

    def __init__(self) -> None:
        self.found: list[Piece] = []
        self._lines: list[str] = []  # of the open paragraph or list item
        self._rows: list[str] = []  # of the open table
        self._fence = ""  # what opened the code that is being read
        self._code: list[str] = []
        self._in_list = False
        self._after_blank = True

    def take(self, line: str) -> None:
        """Reads one line."""
        bare = _without_quote_marks(line) if ">" in line[:4] else line
        if self._fence:
            self._take_code(bare)
        elif not bare.strip():
            self.end()
            self._after_blank = True
        else:
            self._take_text(bare)
            self._after_blank = False

    def end(self) -> None:
        """Closes whatever is open."""
        if self._lines:
            self._add("prose", " ".join(self._lines))
        self._lines = []
        self._end_table()
        self._end_code()

    def _take_text(self, line: str) -> None:
        if fence := _FENCE.match(line):
            self.end()
            self._fence = fence[1]
        elif _HEADING.match(line):
            self.end()
            self._in_list = False
            self._add("heading", _without_closing_marks(_HEADING.sub("", line)))
        elif self._is_row(line):
            self._take_row(line)
        elif self._lines and _UNDERLINE.match(line):
            self._add("heading", " ".join(self._lines))
            self._lines = []
        elif _RULE.match(line):
            self.end()
        else:
            self._take_prose(line)

    def _take_prose(self, line: str) -> None:
        item = _ITEM.match(line)
        if self._is_indented_code(line):
            self._code.append(line)
        elif item:
            self.end()
            self._in_list = True
            self._lines = [line[item.end() :].strip()]
        elif self._lines or not _DEFINITION.match(line):
            self._end_table()
            self._end_code()
            self._in_list = self._in_list and line[0].isspace()
            self._lines.append(line.strip())

    def _is_indented_code(self, line: str) -> bool:
        possible = not self._lines and not self._in_list
        return possible and _INDENTED.match(line) is not None

    def _take_code(self, line: str) -> None:
        closing = line.strip()
        if len(closing) >= len(self._fence) and not closing.strip(self._fence[0]):
            self._fence = ""
            self._end_code()
        else:
            self._code.append(line)

    def _is_row(self, line: str) -> bool:
        if "|" not in line:
            return False
        headed = bool(self._lines) and "|" in self._lines[-1] and _SEPARATOR.match(line)
        return line.lstrip().startswith("|") or bool(self._rows) or bool(headed)

    def _take_row(self, line: str) -> None:
        if not self._rows:
            head = [self._lines.pop()] if self._lines and _SEPARATOR.match(line) else []
            self.end()
            self._rows = head
        self._rows.append(line)

    def _end_table(self) -> None:
        rows, self._rows = self._rows, []
        has_head = len(rows) > 1 and _SEPARATOR.match(rows[1])
        names = _cells(rows[0]) if has_head else []
        if names:
            self._add("heading", " · ".join(filter(None, names)))
        for row in rows[2:] if has_head else rows:
            if not _SEPARATOR.match(row):
                cells = _cells(row)
                self._add("row", " · ".join(filter(None, cells)), _labelled(names, cells))

    def _end_code(self) -> None:
        if self._code:
            self._add("code", "\n".join(self._code))
        self._code = []

    def _add(self, kind: PieceKind, markup: str, labelled: str = "") -> None:
        if markup.strip():
            self.found.append(Piece(kind, markup, labelled))


def _without_quote_marks(line: str) -> str:
    bare = _QUOTE.sub("", line)
    callout = CALLOUT.match(bare)
    return f"{callout_name(callout)}: {bare[callout.end() :]}" if callout else bare


def _without_closing_marks(heading: str) -> str:
    bare = heading.rstrip()
    text = bare.rstrip("#")
    return text.rstrip() if text != bare and text[-1:].isspace() else heading


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in _CELL.split(row.strip().strip("|"))]


def _labelled(names: list[str], cells: list[str]) -> str:
    padded = names + [""] * (len(cells) - len(names))
    pairs = [(name, cell) for name, cell in zip(padded, cells, strict=False) if cell]
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in pairs)
