"""Where comments are in Markdown: of HTML, of Obsidian, and of Markdown itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dowse._text.pieces import FENCE, closing_fence

_OBSIDIAN = "%%"
# One of Obsidian is on one line; or its first mark is a line and it ends anywhere; or it begins a
# line and ends in the same paragraph. Other programs use the mark too, so more could hide text.
_START = re.compile(
    r"<!--|(?P<line>(?<!\d)%%[^%`\n]+%%|^ {0,3}\[(?://|comment)\]:[^\n]*$)"
    r"|(?P<block>^%%(?=[ \t\n]))"
    rf"|^ {{0,3}}(?P<fence>{FENCE})[^\n]*$",
    re.MULTILINE,
)
_END_OF_HTML = re.compile(r"(?<=<!--)-?>|--!?>|\Z")


def comments(text: str, start: int = 0) -> Iterator[tuple[int, int]]:
    """Yield where comments begin and end, outside of code: in code every reader sees them."""
    end = start
    unclosed: dict[str, int] = {}  # the shortest fence of each kind that nothing closes any more
    while found := _START.search(text, end):
        fence = found["fence"]
        if fence is None:
            end = _end_of_comment(found)
            if end > found.end("block"):
                yield found.start(), end
            continue
        close = None
        if len(fence) < unclosed.get(fence[0], len(fence) + 1):
            close = closing_fence(fence).search(text, found.end())
        if close is None:  # a fence that is not closed here is none
            unclosed[fence[0]] = min(len(fence), unclosed.get(fence[0], len(fence)))
        end = close.end() if close else found.end("fence")


def without_obsidian_comments(text: str, start: int = 0) -> str:
    """Remove what is between two `%%`, from `start` on; lines stay where they are."""
    if text.find(_OBSIDIAN, start) < 0:
        return text
    kept, done = [], 0
    for begins, ends in comments(text, start):
        if text.startswith(_OBSIDIAN, begins):
            kept += [text[done:begins], _left_of(text, begins, ends)]
            done = ends
    return "".join(kept) + text[done:]


def _left_of(text: str, begins: int, ends: int) -> str:
    """Return the line ends of a comment; a blank where its neighbours would make a new mark."""
    lines = "\n" * text.count("\n", begins, ends)
    touches = text[max(0, begins - 1) : begins] == "%" or text[ends : ends + 1] == "%"
    return lines or (" " if touches else "")


def _end_of_comment(found: re.Match[str]) -> int:
    """Say where the comment ends that begins with a match."""
    if found["line"] is not None:
        return found.end()
    if found["block"] is not None:  # one that is not closed is none
        return _end_of_block(found.string, found.end())
    close = _END_OF_HTML.search(found.string, found.end())
    return close.end() if close else len(found.string)


def _end_of_block(text: str, start: int) -> int:
    end = text.find(_OBSIDIAN, start)
    is_alone = not text[start : text.find("\n", start) % (len(text) + 1)].strip()
    if end < 0 or not (is_alone or _is_in_one_paragraph(text, start, end)):
        return start
    return end + 2


def _is_in_one_paragraph(text: str, start: int, end: int) -> bool:
    return text.find("\n\n", start, end) < 0 and text[end - 1] != "`"
