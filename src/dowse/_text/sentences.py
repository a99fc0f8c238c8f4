"""Where a sentence ends."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
_TITLES_AND_SUCH = """
    al cf co corp dept dr eds eg est ex ie inc incl jr ltd mr mrs ms mt prof resp sr st viz vs
"""
_MONTHS_AND_SUCH = """
    approx art ca ch ed eq fig figs max min no nr op p pp sec tab vol
    jan feb mar apr jun jul aug sep sept oct nov dec
"""
_NEVER_LAST = frozenset(_TITLES_AND_SUCH.split())
_BEFORE_NUMBERS = frozenset(_MONTHS_AND_SUCH.split())
_TIMES = frozenset({"a.m", "p.m"})
_LONGEST_WORD = 40  # characters before a stop that are looked at
_LONGEST_INDENT = 160  # characters before the number of a step
_LAST_WORD = re.compile(r"[^\s(\[\"'“‘]+$")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")


def split_sentences(text: str) -> Iterator[str]:
    """The text in sentences; nothing is left out, and the last one may have no end."""
    start = 0
    for end in sentence_ends(text):
        yield text[start:end]
        start = end
    yield text[start:]


def sentence_ends(text: str, start: int = 0, end: int | None = None) -> Iterator[int]:
    """Where sentences end between two offsets: after the stop and the marks that close with it.

    Abbreviations (`e.g.`, `Dr. Who`, `Fig. 3`) and the number of a step (`3. Then`) end none.
    """
    for match in _END.finditer(text, start, len(text) if end is None else end):
        if match["stop"] is None or _is_end(text, start, match):
            yield match.end()
            start = match.end()


def is_finished(text: str) -> bool:
    """Whether a text ends as a sentence does."""
    return text.rstrip(_CLOSING + _WIDE_CLOSING)[-1:] in frozenset(_STOPS + _WIDE_STOPS)


def _is_end(text: str, start: int, match: re.Match[str]) -> bool:
    rest = text[match.end() : match.end() + 20].lstrip()
    if match["stop"] != ".":
        # "wait… what" and "yes! she said" go on.
        return not rest[:1].islower()
    before = _LAST_WORD.search(text, max(start, match.start() - _LONGEST_WORD), match.start())
    word = before[0].lower() if before else ""
    if word.isdecimal() and before is not None and _is_first(text, start, before.start()):
        return False  # "3. Then" is the number of a step
    return not _is_abbreviation(word, rest)


def _is_first(text: str, start: int, place: int) -> bool:
    """Whether nothing is said before a place near the start."""
    return place - start < _LONGEST_INDENT and not text[start:place].strip()


def _is_abbreviation(word: str, rest: str) -> bool:
    letters = word.replace(".", "")
    if letters in _NEVER_LAST:
        return True
    if letters in _BEFORE_NUMBERS:
        return rest[:1].isdecimal()
    if _INITIALS.fullmatch(word):
        # "p.m. He" is an end, "p.m. and", "J. B." and "U.S. Army" are none.
        return rest[:1].islower() or word not in _TIMES
    return letters == "etc" and rest[:1].islower()
