"""Searching one generation of the keyword and code index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import Any

import tantivy

from dowse._model import ChunkKey, Keys, Scores
from dowse._model.ports import KeywordField
from dowse._store.embedded.failures import tantivy_errors
from dowse._store.embedded.keyword.mirror import open_searcher
from dowse._store.embedded.members import members
from dowse._util.arrays import np

# Measured over 100,000 chunks with five terms and a limit of 30, in milliseconds:
#   keys      100   500   1,000   10,000   90,000
#   listed      2     8      13       11       99
#   picked     18     7       2        1        1
_LISTED = 500  # so many keys are listed in the query; more are picked from hits fetched beyond it

_GROWTH = 4  # how many times more hits are fetched when some were too few
_RARE = 100  # chunks


class KeywordIndex:
    """One generation of the keyword index, open for reading."""

    def __init__(self, folder: Path, sizes: Mapping[str, int] | None = None) -> None:
        self._sizes = {folder / name: size for name, size in (sizes or {}).items()}
        with tantivy_errors(folder):
            self._schema, self._searcher = open_searcher(folder)

    @property
    def is_whole(self) -> bool:
        """Whether every file that tantivy has mapped still has its length.

        To touch a part of a mapped file that somebody has cut off kills the process.
        """
        try:
            return all(path.stat().st_size == size for path, size in self._sizes.items())
        except OSError:
            return False

    @property
    def size(self) -> int:
        """How many chunks it holds."""
        return self._searcher.num_docs

    def search(
        self, field: KeywordField, terms: Sequence[str], limit: int, among: Keys | None = None
    ) -> Scores:
        """Chunks that hold any of the terms in a field, best first by BM25."""
        if not terms or limit < 1 or (among is not None and not len(among)):
            return []
        query = tantivy.Query.boolean_query(
            [(tantivy.Occur.Should, self._term(field, term)) for term in terms]
        )
        if among is not None and len(among) <= _LISTED:
            return self._best(self._listed(query, among), limit, None)
        return self._best(query, limit, among)

    def phrase(self, field: KeywordField, terms: Sequence[str]) -> Keys:
        """Chunks in which the terms follow each other, by key; no terms follow each other in all.

        A term that is listed several times at one position, to weigh more, is there once.
        """
        if not terms:
            query = tantivy.Query.all_query()
        elif len(terms) == 1:
            query = self._term(field, terms[0])
        else:
            query = tantivy.Query.phrase_query(self._schema, field, list(terms))
        keys, _ = self._fetch(tantivy.Query.const_score_query(query, 0.0), max(1, self.size))
        return np.sort(np.array(keys, np.int64))

    def frequencies(self, field: KeywordField, terms: Sequence[str]) -> dict[str, int]:
        """In about how many chunks each term occurs."""
        return {term: self._frequency(field, term) for term in terms}

    def keys(self) -> set[ChunkKey]:
        """All the chunks it holds."""
        return set(self.phrase("body", ()).tolist())

    def _frequency(self, field: KeywordField, term: str) -> int:
        # tantivy's own figure counts deleted chunks until their segment is merged, which matters
        # for rare terms alone, and those are quickly counted.
        about = self._searcher.doc_freq(field, term)
        if not about or about > _RARE:
            return int(about)
        found: Any = self._searcher.search(self._term(field, term), 1, count=True)
        return int(found.count)

    def _best(self, query: tantivy.Query, limit: int, among: Keys | None) -> Scores:
        """The best hits; equal scores by key, also where the limit cuts."""
        everything = self.size + 1
        share = 1.0 if among is None else len(among) / everything
        count = min(everything, int(1.2 * limit / share) + 1)
        while True:
            keys, scores = self._fetch(query, count)
            found = list(zip(keys, scores, strict=True))
            if among is not None:
                allowed = members(np.array(keys, np.int64), among)
                found = list(compress(found, allowed.tolist()))
            # Whatever ties with the last one that fits must have been fetched.
            if len(keys) < count or (len(found) >= limit and found[limit - 1][1] > scores[-1]):
                return sorted(found, key=lambda one: (-one[1], one[0]))[:limit]
            count = min(everything, _GROWTH * count)

    def _fetch(self, query: tantivy.Query, count: int) -> tuple[list[ChunkKey], list[float]]:
        hits = self._searcher.search(query, count, count=False).hits
        keys: Any = self._searcher.fast_field_values("key", [address for _, address in hits])
        return keys, [score for score, _ in hits]

    def _listed(self, query: tantivy.Query, among: Keys) -> tantivy.Query:
        keys = tantivy.Query.term_set_query(self._schema, "key", among.tolist())
        unscored = tantivy.Query.const_score_query(keys, 0.0)
        return tantivy.Query.boolean_query(
            [(tantivy.Occur.Must, unscored), (tantivy.Occur.Must, query)]
        )

    def _term(self, field: KeywordField, term: str) -> tantivy.Query:
        return tantivy.Query.term_query(self._schema, field, term, "freq")
