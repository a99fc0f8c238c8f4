"""What documents hide from people is not whispered to a model.

Invisible characters and HTML comments can carry instructions that no reader of the document has
seen. A note of what was there takes their place.
"""

from __future__ import annotations

import re

_JOINERS = "\u200c\u200d"
# Controls, soft hyphen, zero widths, bidi controls, fillers, byte order marks, halves of
# characters, variation selectors beyond the common ones, and tag characters.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb"
    "\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
_COMMENT = re.compile(r"<!--(?:-?>|.*?(?:--!?>|\Z))", re.DOTALL)
_HIDDEN_COMMENT = "⟦hidden comment⟧"
_FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*)$", re.MULTILINE)


def visible(text: str) -> str:
    """The text with every invisible character and hidden comment replaced by a note of it."""
    return _HIDDEN.sub(_note_characters, "".join(_without_comments(text)))


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


def _without_comments(text: str) -> list[str]:
    """The parts of a text, comments outside of code noted; in code every reader sees them."""
    parts: list[str] = []
    end = 0
    for start, stop in _code(text):
        parts += [_COMMENT.sub(_HIDDEN_COMMENT, text[end:start]), text[start:stop]]
        end = stop
    return [*parts, _COMMENT.sub(_HIDDEN_COMMENT, text[end:])]


def _code(text: str) -> list[tuple[int, int]]:
    """Where fenced code begins and ends; a fence that is not closed here is none."""
    spans: list[tuple[int, int]] = []
    opened: re.Match[str] | None = None
    for line in _FENCE.finditer(text):
        if opened is None:
            opened = None if _in_comment(text, line.start(), spans) else line
        elif line["fence"].startswith(opened["fence"]) and not line["info"].strip():
            spans.append((opened.start(), line.end()))
            opened = None
    return spans


def _in_comment(text: str, place: int, spans: list[tuple[int, int]]) -> bool:
    """Whether a comment that began after the last code block is still open."""
    since = spans[-1][1] if spans else 0
    return text.rfind("<!--", since, place) > text.rfind("-->", since, place)
