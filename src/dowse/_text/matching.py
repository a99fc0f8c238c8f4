"""Which terms of a query a stretch of text holds, and how much a rare one weighs."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable

TermsOf = Callable[[str], Collection[str]]
"""The analyzer's terms of a stretch of text."""

_SHORTEST_PREFIX = 4  # letters; what is shorter begins too many words


class Wanted:
    """The terms of a query; one that ends with `*` stands for every word that begins so.

    It remembers what it was asked, since the words of a text recur.
    """

    def __init__(self, terms: Collection[str]) -> None:
        self.terms = frozenset(terms)
        self._prefixes = {term: term[:-1] for term in terms if len(term) > 1 and term[-1] == "*"}
        self._met: dict[str, frozenset[str]] = {}  # by a term of a text
        self._words: dict[str, frozenset[str]] = {}  # by a word of a text
        self._looser: dict[frozenset[str], Wanted] = {}  # by the terms that were missing

    def among(self, found: Iterable[str]) -> frozenset[str]:
        """Return those of the query's terms that are among the terms of a stretch."""
        if not self._prefixes:
            return self.terms.intersection(found)
        hits: set[str] = set()
        for one in found:
            met = self._met.get(one)
            if met is None:
                met = self._met[one] = self._meant_by(one)
            if met:
                hits |= met
        return frozenset(hits)

    def in_words(self, words: Iterable[str], terms_of: TermsOf) -> dict[str, frozenset[str]]:
        """Return those of some words that have terms of the query, with these terms."""
        known, met = self._words, {}
        for word in words:
            hits = known.get(word)
            if hits is None:
                hits = known[word] = self.among(terms_of(word))
            if hits:
                met[word] = hits
        return met

    def in_text(self, text: str, terms_of: TermsOf) -> frozenset[str]:
        """Return those of the query's terms that a text has."""
        if text.isascii():  # a blank ends every word, so each can be looked up by itself
            return frozenset[str]().union(*self.in_words(text.split(), terms_of).values())
        return self.among(terms_of(text))

    def _meant_by(self, found: str) -> frozenset[str]:
        begun = (term for term, prefix in self._prefixes.items() if found.startswith(prefix))
        return self.terms.intersection([found]).union(begun)

    def loosened(self, missing: Collection[str]) -> Wanted:
        """Return the same, but terms that were met nowhere may also be the beginning of a word."""
        key = frozenset(missing)
        if key not in self._looser:
            prefixes = {term: term for term in key if len(term) >= _SHORTEST_PREFIX}
            loose = self._looser[key] = Wanted(self.terms)
            loose._prefixes = prefixes | self._prefixes
        return self._looser[key]

    def __bool__(self) -> bool:
        return bool(self.terms)


# ── Rarity ──────────────────────────────────────────────────────────────────────


def rarity(held: int, size: int) -> float:
    """Return BM25's weight of a term in `held` of `size` chunks (Robertson and Zaragoza, 2009).

    A term that nothing holds weighs most.
    """
    return math.log(1 + (max(size, held) - held + 0.5) / (held + 0.5))
