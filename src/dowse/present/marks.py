"""Where in a text the terms of a query are.

Words between blanks are compared term by term. In scripts without blanks a term is looked for
among the characters, since the text does not show what the analyzer takes for a word there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from dowse.text.late_pattern import late_pattern
from dowse.text.matching import Wanted
from dowse.text.scripts import CJK, CJK_CHARACTER

TermsOf = Callable[[str], Collection[str]]
"""The analyzer's terms of a stretch of text."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A stretch of a text that holds terms of the query."""

    start: int
    end: int
    terms: frozenset[str]


Place = tuple[int, int, set[str]]
"""Start, end and the terms met there."""

_WORD = late_pattern(rf"[^\s()\[\]{{}}<>\"`,;|=*“”„«»…、。，；：！？「」『』（）【】《》·{CJK}]+")
_LEADING = re.compile(r"['’!?:&^~%$@_-]+(?=\w)")
_TRAILING = ".!?:'’&^~/_-"
_STRETCH = 240  # characters whose terms are asked for at once
_LONGEST_WORD = 100  # characters; of what is longer only the beginning is marked


def find_marks(text: str, wanted: Wanted, terms_of: TermsOf) -> list[Mark]:
    """The places of the query's terms, in their order, none overlapping another."""
    if not wanted or not text:
        return []
    places = [*_ideographic_places(text, wanted), *_word_places(text, wanted, terms_of)]
    return [Mark(start, end, frozenset(hits)) for start, end, hits in _merged(places)]


def _merged(places: list[Place]) -> list[Place]:
    """Places in their order; those that touch or overlap are made one."""
    merged: list[Place] = []
    for start, end, hits in sorted(places, key=lambda place: place[:2]):
        if merged and start <= merged[-1][1]:
            first, last, known = merged[-1]
            known |= hits
            merged[-1] = (first, max(last, end), known)
        else:
            merged.append((start, end, set(hits)))
    return merged


# ── Words between blanks ─────────────────────────────────────────────────────


def _word_places(text: str, wanted: Wanted, terms_of: TermsOf) -> list[Place]:
    stretches = list(_stretches(text))
    terms = [terms_of(_words_only(text[start:end])) for start, end in stretches]
    met = [wanted.among(found) for found in terms]
    if missing := wanted.terms.difference(*met):
        wanted = wanted.loosened(missing)
        met = [wanted.among(found) for found in terms]
    return [
        place
        for (start, end), hits in zip(stretches, met, strict=True)
        if hits
        for place in _places_within(text, start, end, wanted, terms_of)
    ]


def _stretches(text: str) -> Iterator[tuple[int, int]]:
    """The text in stretches of whole words, since most stretches hold no match at all."""
    start = 0
    while start < len(text):
        cut = text.find(" ", start + _STRETCH)
        end = cut if cut >= 0 else len(text)
        yield start, end
        start = end + 1


def _words_only(stretch: str) -> str:
    """The stretch without what is written without blanks, which is looked for in another way."""
    return " ".join(_WORD.findall(stretch)) if CJK_CHARACTER.search(stretch) else stretch


def _places_within(
    text: str, start: int, end: int, wanted: Wanted, terms_of: TermsOf
) -> Iterator[Place]:
    for match in _WORD.finditer(text, start, end):
        if hits := wanted.among(terms_of(match[0])):
            leading = _LEADING.match(match[0])
            skipped = leading.end() if leading else 0
            core = match[0][skipped:].rstrip(_TRAILING)
            if not core:
                skipped, core = 0, match[0]
            first = match.start() + skipped
            yield first, first + min(len(core), _LONGEST_WORD), hits


# ── Scripts without blanks ───────────────────────────────────────────────────


def _ideographic_places(text: str, wanted: Wanted) -> Iterator[Place]:
    terms = [term for term in wanted.terms if CJK_CHARACTER.search(term)]
    # Terms may be single characters and pairs, overlapping each other. One that is a part of
    # another term, or is met inside a longer match, says little where it is alone.
    whole = "\n".join(terms)
    telling = [term for term in terms if len(term) > 1 or whole.count(term) == 1]
    merged = _merged([place for term in telling for place in _places(text, term)])
    inside_longer = set().union(*(hits for start, end, hits in merged if end - start > 2))
    for start, end, hits in merged:
        if end - start > 2 or not hits <= inside_longer:
            yield start, end, hits


def _places(text: str, term: str) -> Iterator[Place]:
    spelled = term.rstrip("*")
    if len(spelled) >= 3 and spelled not in text:
        # An analyzer gives verbs in the form of the dictionary; the text has another ending.
        spelled = spelled[:-1]
    start = text.find(spelled)
    while start >= 0:
        yield start, start + len(spelled), {term}
        start = text.find(spelled, start + len(spelled))
