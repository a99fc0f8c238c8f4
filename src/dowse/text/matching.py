"""Which terms of a query a stretch of text holds."""

from __future__ import annotations

from collections.abc import Collection, Iterable

_SHORTEST_PREFIX = 4  # letters; what is shorter begins too many words


class Wanted:
    """The terms of a query; one that ends with `*` stands for every word that begins so."""

    def __init__(self, terms: Collection[str]) -> None:
        self.terms = frozenset(terms)
        self._prefixes = {term: term[:-1] for term in terms if len(term) > 1 and term[-1] == "*"}

    def among(self, found: Iterable[str]) -> set[str]:
        """Those of the query's terms that are among the terms of a stretch."""
        if not self._prefixes:
            return set(self.terms.intersection(found))
        found = list(found)
        begun = {
            term
            for term, prefix in self._prefixes.items()
            if any(one.startswith(prefix) for one in found)
        }
        return begun.union(self.terms.intersection(found))

    def loosened(self, missing: Collection[str]) -> Wanted:
        """The same, but terms that were met nowhere may also be the beginning of a word."""
        prefixes = {term: term for term in missing if len(term) >= _SHORTEST_PREFIX}
        loose = Wanted(self.terms)
        loose._prefixes = prefixes | self._prefixes
        return loose

    def __bool__(self) -> bool:
        return bool(self.terms)
