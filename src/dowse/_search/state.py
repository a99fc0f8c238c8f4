"""The state of a search, which its stages change in turn.

A stage is a function that changes a `SearchState`. It reads its options from `search.settings`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from dowse._model import (
    ChunkKey,
    Condition,
    Keys,
    Matrix,
    ModelFit,
    Name,
    Place,
    Query,
    Ranking,
    Scores,
    Section,
    Step,
    StoredChunk,
    Vector,
)
from dowse._model.ports import Analyzer, Embedder, IndexReader, KeywordField, Reranker
from dowse._search.request import meeting
from dowse._text.matching import rarity
from dowse.errors import Damaged, EmbedError

if TYPE_CHECKING:
    from dowse._index.source.roots import Root
    from dowse._search.confidence import Domain, QueryWords
    from dowse._search.pipeline import SearchSettings
    from dowse._search.request import SearchRequest

MOST_RESULTS = 10_000
"""The most results of one search."""


class Candidate(Struct):
    """A chunk on its way through the stages."""

    stored: StoredChunk
    places: list[Place]
    score: float
    steps: list[Step] = field(default_factory=list)
    section: Section | None = None  # what is shown instead of the chunk
    section_text: str = ""
    heading: Name | None = None  # inside the chunk, where the query is this heading
    others: list[Candidate] = field(default_factory=list)  # of its document that match too
    weaker: list[Candidate] = field(default_factory=list)  # and those that hardly match next to it

    @property
    def document(self) -> str:
        """The id of its document."""
        return self.stored.document.id

    def rescore(self, stage: str, score: float) -> None:
        """Give it a new score, and note which stage did."""
        self.steps.append(Step(stage, self.score, score))
        self.score = score

    @property
    def order(self) -> tuple[float, float, str, int]:
        """Best first; ties: best rank in any strategy, then document id and position."""
        best = min((one.rank for one in self.places if one.rank is not None), default=math.inf)
        return -self.score, best, self.document, self.stored.chunk.start


def cap_scores(candidates: Sequence[Candidate], stage: str, most: float = 1.0) -> None:
    """Lower scores that are above one that comes before them, or above `most`."""
    for one in candidates:
        if one.score > most:
            one.rescore(stage, most)
        most = one.score


class SearchParts(Struct, frozen=True):
    """The parts that stages work with."""

    analyzer: Analyzer
    embedder: Embedder | None  # None: there are no vectors
    reranker: Callable[[], Reranker] | None  # opens it; None: there is none
    words: Callable[[IndexReader], tuple[Sequence[str], Matrix]]  # the vocabulary and its vectors
    roots: Sequence[Root]
    now: float  # seconds since 1970
    fit: ModelFit | None = None  # of the embedder, when it was fitted on the user's own documents
    embedded: float = 1.0  # share of the chunks that have their vector; the rest wait for a run
    project: str = ""  # its name


class SearchState(Struct):
    """A search between two stages."""

    request: SearchRequest
    settings: SearchSettings
    reader: IndexReader  # the generation of the index that is searched
    parts: SearchParts
    notices: list[str] = field(default_factory=list)

    # What the query means.
    conditions: tuple[Condition, ...] = ()  # all that must hold of a result
    query: Query = field(default_factory=lambda: Query("", "", (), ()))
    strategies: tuple[str, ...] = ()  # names of those that are to rank
    hypothesis: bool = False  # the query is a possible answer, and is embedded as a passage
    embedded_text: str = ""  # what the query's vector is made of
    vector: Vector | None = None  # once a stage has needed it

    # What was found.
    limit: int = 0  # candidates that each strategy hands over
    weights: dict[str, float] = field(default_factory=dict)  # by strategy
    rankings: list[Ranking] = field(default_factory=list)
    multipliers: dict[str, float] = field(default_factory=dict)  # by document, before fusion
    fused: bool = False
    candidates: list[Candidate] = field(default_factory=list)
    settled: int = 0  # candidates at the front that stay as they are: only what follows is dropped
    dropped: list[Candidate] = field(default_factory=list)
    unsure: list[Candidate] = field(default_factory=list)  # those dropped for their confidence
    named: dict[ChunkKey, Name] = field(default_factory=dict)  # chunks called like the query
    total: int = 0  # results in the whole list, of which a page is kept
    merged: int = 0  # clusters of candidates that mean the same
    counts: dict[str, int] = field(default_factory=dict)  # candidates that each stage has left

    # How sure it is.
    calibration: str = ""  # what the scores are, in a few words
    fitted: bool = False  # they are fitted confidences
    domain: Domain | None = None  # whether the documents are about the query, where it is known
    no_good_match: bool = False  # they are not, and no result has all words of the query

    words: QueryWords | None = None  # of the query, once results are compared with them
    _among: Keys | None = None
    _stored: dict[ChunkKey, StoredChunk] = field(default_factory=dict)
    _frequencies: dict[tuple[KeywordField, str], int] = field(default_factory=dict)

    @property
    def wanted(self) -> int:
        """How many results the list needs, so that the page that is asked for is full."""
        return min(self.request.offset + self.settings.search.top_n, MOST_RESULTS)

    @property
    def among(self) -> Keys | None:
        """The chunks that may be found; None when all may."""
        if self._among is None and self.conditions:
            self._among = self.meeting(self.conditions)
        return self._among

    def meeting(self, conditions: Sequence[Condition]) -> Keys:
        """Find the chunks for which all of these conditions hold."""
        return meeting(conditions, self.reader, self.parts.analyzer)

    @property
    def scripts(self) -> tuple[str, ...] | None:
        """The scripts besides Latin that the model reads; None when it reads every one."""
        try:
            return self.parts.embedder.model.scripts if self.parts.embedder else None
        except EmbedError:  # its weights are missing, so vectors rank nothing
            return None

    @property
    def has_words(self) -> bool:
        """Whether there is anything to rank by, apart from conditions."""
        return any(map(str.isalnum, self.query.text))

    def without_conditions(self) -> SearchState:
        """Return the same search before anything was found, with no condition."""
        return SearchState(
            self.request,
            self.settings,
            self.reader,
            self.parts,
            query=replace(self.query, conditions=()),
            strategies=self.strategies,
            hypothesis=self.hypothesis,
            embedded_text=self.embedded_text,
            vector=self.vector,
            weights=dict(self.weights),
            limit=self.settings.search.candidates,
        )

    def found_keys(self) -> set[ChunkKey]:
        """Return all chunks that the rankings hold."""
        return {key for ranking in self.rankings for key, _ in ranking.scores}

    def stored(self, keys: Collection[ChunkKey]) -> dict[ChunkKey, StoredChunk]:
        """Look up the chunks with these keys, each once.

        Raise `Damaged` when one is unknown: then what was searched is not of this index.
        """
        missing = sorted(key for key in keys if key not in self._stored)
        if missing:
            self._stored |= {one.key: one for one in self.reader.catalogue.chunks(missing)}
        if unknown := [key for key in missing if key not in self._stored]:
            raise Damaged(
                f"The search found {len(unknown)} chunks that the database does not know.",
                "Repair it with: dowse doctor --repair",
            )
        return {key: self._stored[key] for key in keys}

    def rarity(self, kind: KeywordField, terms: Sequence[str]) -> dict[str, float]:
        """Compute how rare each term is in a field of the index."""
        size = self.reader.keyword.size
        return {term: rarity(n, size) for term, n in self.frequencies(kind, terms).items()}

    def frequencies(self, kind: KeywordField, terms: Sequence[str]) -> dict[str, int]:
        """Count in about how many chunks each term occurs; each is looked up once."""
        if missing := [term for term in terms if (kind, term) not in self._frequencies]:
            held = self.reader.keyword.frequencies(kind, missing)
            self._frequencies |= {(kind, term): held[term] for term in missing}
        return {term: self._frequencies[kind, term] for term in terms}

    def rank(self, keys: Keys) -> Scores:
        """Rank these chunks by meaning, or by words when there is no vector; best first."""
        if self.vector is not None:
            return self.reader.vectors.nearest(self.vector, len(keys), keys)
        return self.reader.keyword.search("body", self.query.terms, len(keys), keys)

    def drop(self, stage: str, reasons: dict[int, str]) -> None:
        """Take the candidates at these places out, each with the reason why."""
        places = {place for place in reasons if place >= self.settled}
        for place in sorted(places):
            one = self.candidates[place]
            one.steps.append(Step(stage, one.score, one.score, reasons[place]))
            self.dropped.append(one)
        self.candidates = [one for n, one in enumerate(self.candidates) if n not in places]

    def vectors(self) -> list[Vector | None]:
        """Look up the vector of each candidate, in their order."""
        known = self.reader.vectors.of([one.stored.key for one in self.candidates])
        return [known.get(candidate.stored.key) for candidate in self.candidates]
