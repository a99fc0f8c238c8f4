"""What documents hide from people is not whispered to a model.

Invisible characters and HTML comments can carry instructions that no reader of the document has
seen. A note of what was there takes their place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dowse._text.comments import comments

_JOINERS = "\u200c\u200d"
# Controls, soft hyphen, zero widths, bidi controls, fillers, byte order marks, halves of
# characters, variation selectors beyond the common ones, and tag characters.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb"
    "\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
_MARKS = ("<!--", "%%", "[//]:", "[comment]:")
_HIDDEN_COMMENT = "⟦hidden comment⟧"


def visible(text: str, start: int = 0, end: int | None = None) -> str:
    """The text with every invisible character and hidden comment replaced by a note of it.

    With `start` and `end` only that part of it, as it is in the whole: a part can begin inside a
    comment. Lines stay where they are.
    """
    end = len(text) if end is None else end
    return _HIDDEN.sub(_note_characters, "".join(_without_comments(text, start, end)))


def may_hide(text: str) -> bool:
    """Whether there can be a comment in a text: seen quickly."""
    return any(mark in text for mark in _MARKS)


def visible_line(text: str) -> str:
    """The same for what belongs on one line, such as a title."""
    return " ".join(visible(text).split())


def _note_characters(match: re.Match[str]) -> str:
    found = match[0]
    if found in _JOINERS and _joins(match.string, match.start()):
        return found
    size = len(found)
    if size == 1:
        return f"⟦U+{ord(found):04X}⟧"
    return f"⟦{size} invisible characters⟧"


def _joins(text: str, place: int) -> bool:
    """Whether a joiner holds an emoji together, or shapes letters of a script that needs it."""
    before, after = text[place - 1 : place], text[place + 1 : place + 2]
    return before > "\u02ff" and after > "\u02ff"


def _without_comments(text: str, start: int, end: int) -> Iterator[str]:
    place = start
    for opening, closing in comments(text):
        if opening >= end:
            break
        if closing > place:
            yield text[place : max(place, opening)] + _HIDDEN_COMMENT
            yield "\n" * text.count("\n", max(place, opening), min(closing, end))
            place = closing
    yield text[place:end]
