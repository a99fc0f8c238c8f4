"""What evaluation works with: judged queries, runs over them, and what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from dowse._model import Condition
from dowse._search.request import Filters

OwnKind = Literal["heading", "link", "description", "alias"]
"""Where in the documents a query comes from."""


class JudgedQuery(Struct, frozen=True):
    """A query, and which documents answer it."""

    id: str
    text: str
    type: str  # as the collection names it; "" when it names none
    relevant: Mapping[str, int]  # by document id: 1 helps, 2 and more answers; empty: nothing does


class OwnQuery(Struct, frozen=True):
    """A query that was drawn from a document."""

    id: str
    kind: OwnKind
    text: str  # what is searched for
    document: str  # the one that answers it
    written: str = ""  # as the document has it, to be hidden there
    start: int = -1  # offset of a heading's line; -1 for what is no heading
    linking: tuple[str, ...] = ()  # the documents whose link says it: no answers

    @property
    def judged(self) -> JudgedQuery:
        """The same, as one that somebody has judged."""
        return JudgedQuery(self.id, self.text, self.kind, {self.document: 1})

    @property
    def filters(self) -> Filters:
        """What keeps the documents out that say the query only because they link."""
        return _WithoutDocuments(documents=self.linking)


class _WithoutDocuments(Filters, frozen=True):
    documents: tuple[str, ...] = ()

    def conditions(self, now: float | None = None) -> tuple[Condition, ...]:  # noqa: ARG002  dates do not matter
        """The documents' ids must not be these."""
        if not self.documents:
            return ()
        return (Condition("under", self.documents, negated=True, written="--self"),)


class Collection(Struct, frozen=True):
    """Documents with queries that somebody has judged."""

    name: str
    documents: Path | None  # a folder, or a corpus.jsonl; None when only runs are compared
    queries: tuple[JudgedQuery, ...]
    unjudged: int = 0  # queries that were left out because no document was judged to answer them

    @property
    def answerable(self) -> tuple[JudgedQuery, ...]:
        """The queries that measures are taken over."""
        return tuple(query for query in self.queries if query.relevant)

    @property
    def unanswerable(self) -> tuple[JudgedQuery, ...]:
        """The queries that a good search finds nothing for."""
        return tuple(query for query in self.queries if not query.relevant)


class Ranked(Struct, frozen=True):
    """A document in a run: counted once, by its best chunk."""

    document: str
    score: float  # never increases down the list


class Run(Struct, frozen=True):
    """What one way of searching found for every query."""

    name: str
    found: Mapping[str, tuple[Ranked, ...]]  # by query id, best first
    seconds: Mapping[str, float] = field(default_factory=dict)  # by query id; none for a file
    confidence: Mapping[str, float] = field(default_factory=dict)  # of the best, found or rejected
    notices: tuple[str, ...] = ()  # what searching could not do for most queries
    marked: frozenset[str] = frozenset()  # queries whose results are marked as no good match
    min_confidence: float | None = None  # the threshold as set, -1 the fitted one; None for a file
