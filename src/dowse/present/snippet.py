"""The part of a chunk that shows best why it was found."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

_WORD = re.compile(r"\S+")
_LENGTH = 200  # characters


def snippet(text: str, terms: Collection[str], terms_of: Callable[[str], Collection[str]]) -> str:
    """The stretch of about 200 characters with the most distinct terms, each between ** and **.

    Without any match it is the beginning of the text.
    """
    wanted = set(terms)
    words = [(match.start(), match.end()) for match in _WORD.finditer(text)]
    found = [wanted.intersection(terms_of(text[start:end])) for start, end in words]
    first, last = _best_window(words, found)
    pieces = []
    for place in range(first, last):
        start, end = words[place]
        pieces.append(_marked(text[start:end]) if found[place] else text[start:end])
    before = "… " if first else ""
    after = " …" if last < len(words) else ""
    return before + " ".join(pieces) + after


def _best_window(words: list[tuple[int, int]], found: list[set[str]]) -> tuple[int, int]:
    best, most = (0, _end_of_window(words, 0)), -1
    for first, hit in enumerate(found):
        if hit or first == 0:
            # A few words of lead-in make the match readable.
            start = max(0, first - 4)
            end = _end_of_window(words, start)
            distinct = len(set().union(*found[start:end])) if start < end else 0
            if distinct > most:
                best, most = (start, end), distinct
    return best


def _end_of_window(words: list[tuple[int, int]], first: int) -> int:
    end = first
    while end < len(words) and words[end][1] - words[first][0] <= _LENGTH:
        end += 1
    return max(end, min(first + 1, len(words)))


def _marked(word: str) -> str:
    inner = word.strip("*_`.,;:!?()[]{}<>\"'")
    return word.replace(inner, f"**{inner}**", 1) if inner else word
