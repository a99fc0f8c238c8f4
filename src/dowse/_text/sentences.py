"""Where sentences end, how a text is cut short, and which part of a query asks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import pairwise

from dowse._text.scripts import late_pattern

_STOPS = ".!?…।؟۔"  # a space follows
_WIDE_STOPS = "。！？｡"  # nothing needs to follow
_CLOSING = "\"'”’»)]*_"
_WIDE_CLOSING = "」』）”"
_END = re.compile(
    # A run of stops is tried once, from its first.
    rf"(?P<stop>(?<![{_STOPS}])[{_STOPS}]++)[{re.escape(_CLOSING)}]*+(?=\s)"
    # 「はい。」と goes on: the sentence in quotes is a part of another one.
    rf"|[{_WIDE_STOPS}]++(?![{_WIDE_CLOSING}]++[とっ])[{_WIDE_CLOSING}]*+"
)
_NEVER_LAST = frozenset(
    "al cf co corp dept dr eds eg est ex ie inc incl jr ltd mr mrs ms mt prof resp sr st viz vs".split()  # noqa: SIM905, E501  (one line)
)
_BEFORE_NUMBERS = frozenset(
    "approx art ca ch ed eq fig figs max min no nr op p pp sec tab vol".split()  # noqa: SIM905  (as above)
    + "jan feb mar apr jun jul aug sep sept oct nov dec".split()  # noqa: SIM905  (as above)
)
_LAST_WORD = re.compile(r"[^\s(\[\"'“‘]+$")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")


def split_sentences(text: str) -> Iterator[str]:
    """Yield the text in sentences; nothing is left out, and the last one may have no end."""
    yield from (text[a:b] for a, b in pairwise([0, *sentence_ends(text), len(text)]))


def sentence_ends(text: str, start: int = 0, end: int | None = None) -> Iterator[int]:
    """Yield where sentences end between two offsets: after the stop and what closes with it.

    Abbreviations (`e.g.`, `Dr. Who`, `Fig. 3`) and the number of a step (`3. Then`) end none.
    """
    for match in _END.finditer(text, start, len(text) if end is None else end):
        if match["stop"] is None or _is_end(text, start, match):
            yield match.end()
            start = match.end()


def is_finished(text: str) -> bool:
    """Return whether a text ends as a sentence does."""
    return text.rstrip(_CLOSING + _WIDE_CLOSING)[-1:] in frozenset(_STOPS + _WIDE_STOPS)


def _is_end(text: str, start: int, match: re.Match[str]) -> bool:
    rest = text[match.end() : match.end() + 20].lstrip()
    if match["stop"] != ".":
        # "wait… what" and "yes! she said" go on.
        return not rest[:1].islower()
    before = _LAST_WORD.search(text, max(start, match.start() - 40), match.start())
    if before is None:
        return True
    word, indent = before[0].lower(), text[start : before.start()]
    if word.isdecimal() and len(indent) < 160 and not indent.strip():
        return False  # "3. Then" is the number of a step
    return not _is_abbreviation(word, rest)


def _is_abbreviation(word: str, rest: str) -> bool:
    letters = word.replace(".", "")
    if letters in _NEVER_LAST:
        return True
    if letters in _BEFORE_NUMBERS:
        return rest[:1].isdecimal()
    if _INITIALS.fullmatch(word):
        # "p.m. He" is an end, "p.m. and", "J. B." and "U.S. Army" are none.
        return rest[:1].islower() or word not in {"a.m", "p.m"}
    return letters == "etc" and rest[:1].islower()


# ── Cutting a text short ────────────────────────────────────────────────────────


_ENOUGH = 0.5  # share of the room that a cut must fill
# What a cut at the end of a sentence or line may leave of the room: characters, or a share of it.
_LEFT, _SHARE_LEFT = 160, 0.1


def shorten(text: str, size: int, left: int = _LEFT, share: float = _SHARE_LEFT) -> str:
    """Return the text, or as much of it as `size` characters hold with the sign that it goes on.

    It ends at a sentence or line where that leaves no more of the room than `left` characters, or
    than a share of it; otherwise it ends at a word.
    """
    if len(text) <= size:
        return text
    room = max(0, size - 2)
    kept = text[:room]
    least = math.ceil(max(_ENOUGH * room, room - max(left, share * room)))
    line = text.rfind("\n", least, room + 1)
    ends = (end for end in sentence_ends(text, least, room + 1) if end <= room)
    whole_words = re.match(r".*(?=\s)", kept, re.DOTALL)
    if (last := max((line, *ends))) >= least:
        kept = kept[:last]
    elif whole_words and len(whole_words[0]) >= _ENOUGH * room:
        kept = whole_words[0]
    return f"{kept.rstrip()} …" if kept.strip() else ""


# ── The part of a query that asks ───────────────────────────────────────────────

_ASKING = (
    "how|what|when|where|which|who|whose|why|"
    "am|are|can|could|did|do|does|has|have|is|may|must|should|was|were|will|would"
)
# After the end of a sentence, and at a comma that a question follows.
_BREAK = late_pattern(rf"(?<=[.;!?])\s+|(?<=[。；！？])\s*|,\s+(?=(?:{_ASKING})\b)", re.IGNORECASE)
_QUESTION = late_pattern(rf"(?:{_ASKING})\b|.*[?？]$", re.IGNORECASE | re.DOTALL)


def asking_part(text: str) -> str:
    """Return the last part of a text that is a question, or the text when that is all of it.

    In "My laptop was stolen. How do I get my files back?" the first sentence only says why.
    """
    parts = [part for part in _BREAK.split(text.strip()) if part]
    questions = [part for part in parts if _QUESTION.match(part)]
    return questions[-1] if len(parts) > 1 and questions else text
