"""Markdown → the pieces that a reader sees: paragraphs, list items, table rows, code, headings.

This is a reading for display. It forgives whatever a cut in the middle of a document leaves:
a table without its head, a list item without its list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from dowse._text.fold import fold_name
from dowse._text.markup import plain

PieceKind = Literal["heading", "prose", "row", "code"]
"""What a piece is."""

FENCE = r"(?:`{3,}(?=[^`\n]*$)|~{3,})"
"""A pattern for what opens a block; backticks with others on their line are code in a sentence."""

CALLOUT = re.compile(r"\[!(?P<kind>[\w-]{1,40})(?:\|[^\]\n]{0,100})?\][+-]?[ \t]*")
"""The kind of a callout, where a quote begins with it: `> [!warning] Hot`."""

_LONGEST_FRONTMATTER = 20_000  # characters
_FRONTMATTER_LINE = re.compile(r"[\w-]+\s*[:=]|#|$")
_QUOTE = re.compile(r"^(?:[ ]{0,3}>[ ]?)+")
_FENCE = re.compile(rf"\s*(?:(?:[-*+]|\d{{1,9}}[.)])\s+)?({FENCE})")
_HEADING = re.compile(r"\s{0,3}(#{1,6})(?:\s+|$)")
_UNDERLINE = re.compile(r"\s{0,3}(?:=+|-{2,})\s*$")
_RULE = re.compile(r"\s{0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,}|:::.*)$")
_SEPARATOR = re.compile(r"\s*+(?:\|\s*+)?:?-++:?\s*+(?:\|\s*+:?-*+:?\s*+)*+$")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?")
_DEFINITION = re.compile(r"\s{0,3}\[[^\]^][^\]]*\]:\s*\S+")
_INDENTED = re.compile(r"(?: {4}|\t)")
_CELL = re.compile(r"(?<!\\)\|")


class Piece(Struct, frozen=True):
    """One stretch of a text that belongs together, without the marks of its block."""

    kind: PieceKind
    markup: str  # inline marks are still in it, except in code, which is literal
    labelled: str = ""  # of a row: each cell with the name of its column
    level: int = 0  # of a heading, 1 to 6; 0 for the head of a table
    line: int = 0  # of the text, from 0, where it begins


def pieces(text: str) -> list[Piece]:
    """Return the pieces of a text, in their order; frontmatter, comments and rules are left out."""
    reader = _Reader()
    body = _without_frontmatter(text)
    first = text.count("\n") - body.count("\n")
    for number, line in enumerate(_without_comments(body), first):
        if line is not None:
            reader.take(line, number)
    reader.end()
    return reader.found


def _without_comments(text: str) -> Iterator[str | None]:
    """Yield the lines without comments; None for a line that is a part of the one before it.

    A pattern would look for the end of a comment at every beginning that has none.
    """
    open_line: list[str] = []
    done = 0
    while (start := text.find("<!--", done)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        first, *others = text[done:start].split("\n")
        open_line.append(first)
        if others:
            yield "".join(open_line)
            yield from others[:-1]
            open_line = others[-1:]
        done = end + 3
        yield from [None] * text.count("\n", start, done)
    first, *others = text[done:].split("\n")
    yield "".join((*open_line, first))
    yield from others


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
        self._rows: list[tuple[int, str]] = []  # of the open table, with their numbers
        self._fence = ""  # what opened the code that is being read
        self._code: list[str] = []
        self._number = 0  # of the line that is being read
        self._first = 0  # of the line that the open paragraph, item or code began with
        self._in_list = False

    def take(self, line: str, number: int) -> None:
        """Read one line."""
        self._number = number
        bare = _without_quote_marks(line) if ">" in line[:4] else line
        if self._fence:
            closing = bare.strip()
            if len(closing) >= len(self._fence) and not closing.strip(self._fence[0]):
                self._fence = ""
                self.end()
            else:
                self._add_code(bare)
        elif not bare.strip():
            self.end()
        else:
            self._take_text(bare)

    def end(self) -> None:
        """Close whatever is open."""
        if self._lines:
            self._add("prose", " ".join(self._lines), line=self._first)
        if self._rows:
            self._add_table()
        if self._code:
            self._add("code", "\n".join(self._code), line=self._first)
        self._lines, self._rows, self._code = [], [], []

    def _take_text(self, line: str) -> None:
        if fence := _FENCE.match(line):
            self.end()
            self._fence = fence[1]
        elif heading := _HEADING.match(line):
            self.end()
            self._in_list = False
            text = _without_closing_marks(line[heading.end() :])
            self._add("heading", text, level=len(heading[1]), line=self._number)
        elif self._is_row(line):
            if not self._rows:
                head = [self._lines.pop()] if self._lines and _SEPARATOR.match(line) else []
                self.end()
                self._rows = [(self._number - 1, row) for row in head]
            self._rows.append((self._number, line))
        elif self._lines and _UNDERLINE.match(line):
            level = 1 if "=" in line else 2
            self._add("heading", " ".join(self._lines), level=level, line=self._first)
            self._lines = []
        elif _RULE.match(line):
            self.end()
        else:
            self._take_prose(line)

    def _is_row(self, line: str) -> bool:
        if "|" not in line:
            return False
        headed = bool(self._lines) and "|" in self._lines[-1] and _SEPARATOR.match(line)
        return line.lstrip().startswith("|") or bool(self._rows) or bool(headed)

    def _take_prose(self, line: str) -> None:
        if not self._lines and not self._in_list and _INDENTED.match(line):
            self._add_code(line)
        elif item := _ITEM.match(line):
            self.end()
            self._in_list = True
            self._first = self._number
            self._lines = [line[item.end() :].strip()]
        elif self._lines or not _DEFINITION.match(line):
            if not self._lines:
                self.end()
                self._first = self._number
            self._in_list = self._in_list and line[0].isspace()
            self._lines.append(line.strip())

    def _add_code(self, line: str) -> None:
        self._first = self._first if self._code else self._number
        self._code.append(line)

    def _add_table(self) -> None:
        rows = self._rows
        has_head = len(rows) > 1 and _SEPARATOR.match(rows[1][1])
        names = _cells(rows[0][1]) if has_head else []
        if names:
            self._add("heading", " · ".join(filter(None, names)), line=rows[0][0])
        for number, row in rows[2:] if has_head else rows:
            if not _SEPARATOR.match(row):
                cells = _cells(row)
                padded = names + [""] * (len(cells) - len(names))
                named = [(name, cell) for name, cell in zip(padded, cells, strict=False) if cell]
                labelled = "; ".join(f"{name}: {cell}" if name else cell for name, cell in named)
                shown = " · ".join(filter(None, cells))
                self._add("row", shown, labelled, line=number)

    def _add(
        self, kind: PieceKind, markup: str, labelled: str = "", *, level: int = 0, line: int
    ) -> None:
        if markup.strip():
            self.found.append(Piece(kind, markup, labelled, level, line))


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


# ── Which headings a part of a passage is under ───────────────────────────


def under_headings(pieces: Iterable[Piece]) -> Iterator[tuple[Piece, tuple[str, ...]]]:
    """Yield each piece with its headings, the nearest last; a heading is under itself."""
    above: list[Piece] = []
    path: tuple[str, ...] = ()
    for piece in pieces:
        if piece.level:
            above = [*(one for one in above if one.level < piece.level), piece]
            path = tuple(" ".join(plain(one.markup).replace("`", "").split()) for one in above)
        yield piece, path


def heading_path(above: tuple[str, ...], inside: Sequence[str]) -> tuple[str, ...]:
    """Return the headings above a passage, then those in it that the first do not name already."""
    known = {fold_name(heading) for heading in above}
    return (*above, *(heading for heading in inside if fold_name(heading) not in known))


# ── Marks ────────────────────────────────────────────────────────────────────


def closing_fence(opening: str) -> re.Pattern[str]:
    """Return the line that closes what these backticks or tildes have opened."""
    return re.compile(rf"^ {{0,3}}{opening[0]}{{{len(opening)},}}[ \t]*$", re.MULTILINE)


def callout_name(match: re.Match[str]) -> str:
    """Return the kind of what `CALLOUT` matched, for people: Warning."""
    return match["kind"].replace("-", " ").capitalize()
