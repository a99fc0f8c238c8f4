"""Where in a text the terms of a query are.

Words between blanks are compared term by term. In scripts without blanks a term is looked for
among the characters, since the text does not show what the analyzer takes for a word there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from itertools import chain

from msgspec import Struct

from dowse._text.late_pattern import late_pattern
from dowse._text.matching import TermsOf, Wanted
from dowse._text.scripts import CJK, CJK_CHARACTER


class Mark(Struct, frozen=True):
    """A stretch of a text that holds terms of the query."""

    start: int
    end: int
    terms: frozenset[str]


Place = tuple[int, int, AbstractSet[str]]
"""Start, end and the terms met there."""

_WORD = late_pattern(rf"[^\s()\[\]{{}}<>\"`,;|=*“”„«»…、。，；：！？「」『』（）【】《》·{CJK}]+")
_LEADING = re.compile(r"['’!?:&^~%$@_-]+(?=\w)")
_TRAILING = ".!?:'’&^~/_-"
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
            merged[-1] = (first, max(last, end), known | hits)
        else:
            merged.append((start, end, hits))
    return merged


# ── Words between blanks ─────────────────────────────────────────────────────


def _word_places(text: str, wanted: Wanted, terms_of: TermsOf) -> Iterator[Place]:
    words = set(_WORD.findall(text))  # most of them recur, and most have no term of the query
    met = wanted.in_words(words, terms_of)
    missing = wanted.terms.difference(*met.values())
    if begun := missing and _begun(missing, chain.from_iterable(map(terms_of, words))):
        met = wanted.loosened(begun).in_words(words, terms_of)
    for word, hits in met.items():
        leading = _LEADING.match(word)
        skipped = leading.end() if leading else 0
        core = word[skipped:].rstrip(_TRAILING)
        if not core:
            skipped, core = 0, word
        for start in _whole_words(text, word):
            first = start + skipped
            yield first, first + min(len(core), _LONGEST_WORD), hits


def _begun(missing: Iterable[str], found: Iterable[str]) -> set[str]:
    """Those of the missing terms with which a term of the text begins; mostly none."""
    lines = "\n".join(("", *found))
    return {term for term in missing if f"\n{term}" in lines}


def _whole_words(text: str, word: str) -> Iterator[int]:
    """Where a word is in a text, but not where it is a part of a longer one."""
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        if not (_WORD.match(text[start - 1 : start]) or _WORD.match(text[end : end + 1])):
            yield start
        start = text.find(word, end)


# ── Scripts without blanks ───────────────────────────────────────────────────


def _ideographic_places(text: str, wanted: Wanted) -> Iterator[Place]:
    terms = [t for t in wanted.terms if not t.isascii() and CJK_CHARACTER.search(t)]
    if not terms:
        return
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
