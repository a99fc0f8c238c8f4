"""What search stages hand along: the query, what was found, and each candidate's story."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from dowse.errors import Damaged
from dowse.flow.recipe import Recipe
from dowse.flow.words import KnownWords
from dowse.ports import Analyzer, Embedder, Reading, Reranker
from dowse.read import Root
from dowse.types import (
    ChunkKey,
    Condition,
    Keys,
    Place,
    Query,
    Ranking,
    Scores,
    Section,
    Step,
    StoredChunk,
    Trace,
    Vector,
)


@dataclass(slots=True)
class Candidate:
    """A chunk on its way through the stages."""

    stored: StoredChunk
    places: list[Place]
    score: float
    steps: list[Step] = field(default_factory=list)
    section: Section | None = None  # what is shown instead of the chunk
    section_text: str = ""

    def rescore(self, stage: str, score: float) -> None:
        """Gives it a new score, and notes which stage did."""
        self.steps.append(Step(stage, self.score, score))
        self.score = score

    @property
    def trace(self) -> Trace:
        """What has happened to it so far."""
        return Trace(tuple(self.places), tuple(self.steps))

    @property
    def order(self) -> tuple[float, float, str, int]:
        """Best first; equals by the best place that a strategy gave them, then as in the folder."""
        ranks = [place.rank for place in self.places if place.rank is not None]
        best = min(ranks, default=math.inf)
        return -self.score, best, self.stored.document.id, self.stored.chunk.start


@dataclass(frozen=True, slots=True)
class Kit:
    """The parts that stages work with."""

    reading: Reading
    analyzer: Analyzer
    embedder: Embedder | None  # None: there are no vectors
    reranker: Callable[[], Reranker] | None  # opens it; None: there is none
    words: KnownWords
    roots: Sequence[Root]
    now: float  # seconds since 1970


@dataclass(slots=True)
class Searching:
    """The work that search stages hand along."""

    written: str  # the query as it was asked
    recipe: Recipe
    kit: Kit
    demanded: tuple[Condition, ...] = ()  # beside those in the query
    query: Query = field(default_factory=lambda: Query("", "", (), ()))
    embedded_text: str = ""  # what the query's vector is made of
    vector: Vector | None = None  # once a stage has needed it
    weights: dict[str, float] = field(default_factory=dict)
    rankings: list[Ranking] = field(default_factory=list)
    multipliers: dict[str, float] = field(default_factory=dict)  # by document, before fusion
    candidates: list[Candidate] = field(default_factory=list)
    dropped: list[Candidate] = field(default_factory=list)
    fused: bool = False
    merged: int = 0
    calibration: str = ""  # what the scores are, in a few words
    proposed_least: float = 0.0  # the confidence below which the calibration drops results
    notices: list[str] = field(default_factory=list)
    _among: Keys | None = None
    _stored: dict[ChunkKey, StoredChunk] = field(default_factory=dict)

    @property
    def reading(self) -> Reading:
        """The generation of the index that is searched."""
        return self.kit.reading

    @property
    def count(self) -> int:
        """How many chunks are in the running, before and after the rankings are fused."""
        return len(self.candidates) if self.fused else len(self.found_keys())

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """All that must hold of a result."""
        return (*self.demanded, *self.query.conditions)

    @property
    def among(self) -> Keys | None:
        """The chunks that may be found; None when all may."""
        if self._among is None and self.conditions:
            self._among = self.reading.matching(self.conditions)
        return self._among

    @property
    def has_words(self) -> bool:
        """Whether there is anything to rank by, beside conditions."""
        return any(map(str.isalnum, self.query.text))

    @property
    def least_confidence(self) -> float:
        """The confidence below which results are dropped; 0 keeps all."""
        wanted = self.recipe.threshold.min_confidence
        return self.proposed_least if wanted < 0 else wanted

    @property
    def is_hybrid(self) -> bool:
        """Whether several strategies rank."""
        return self.recipe.search.mode == "hybrid"

    @property
    def searches_by_meaning(self) -> bool:
        """Whether a query is embedded; a hypothesis is embedded as it is."""
        return self.recipe.search.mode in {"hybrid", "semantic"}

    @property
    def reads_latin(self) -> bool:
        """Whether the model behind the vectors can read Latin letters alone."""
        embedder = self.kit.embedder
        return self.vector is not None and embedder is not None and embedder.model.latin_only

    def without_conditions(self) -> Searching:
        """The same search before anything was found, with nothing that keeps chunks out."""
        free = replace(self.query, conditions=())
        return Searching(
            self.written, self.recipe, self.kit, (), free, self.embedded_text, vector=self.vector
        )

    def found_keys(self) -> set[ChunkKey]:
        """What the rankings hold."""
        return {key for ranking in self.rankings for key, _ in ranking.scores}

    def stored(self, keys: Collection[ChunkKey]) -> dict[ChunkKey, StoredChunk]:
        """The chunks with these keys; each is looked up once.

        Raises `Damaged` when one is unknown: then what was searched is not of this index.
        """
        missing = sorted(key for key in keys if key not in self._stored)
        if missing:
            self._stored |= {one.key: one for one in self.reading.chunks(missing)}
        if unknown := [key for key in missing if key not in self._stored]:
            raise Damaged(
                f"The search found {len(unknown)} chunks that the database does not know.",
                "Repair it with: dowse doctor --repair",
            )
        return {key: self._stored[key] for key in keys}

    def found_documents(self) -> set[str]:
        """The documents of what the rankings hold."""
        return {one.document.id for one in self.stored(self.found_keys()).values()}

    def rank(self, keys: Keys) -> Scores:
        """These chunks by meaning, or by words when there is no vector; best first."""
        if self.vector is not None:
            return self.reading.nearest(self.vector, len(keys), keys)
        return self.reading.keyword(self.query.terms, len(keys), keys)

    def drop(self, stage: str, reasons: dict[int, str]) -> None:
        """Takes the candidates at these places out, each with the reason why."""
        kept = []
        for place, candidate in enumerate(self.candidates):
            if place in reasons:
                score = candidate.score
                candidate.steps.append(Step(stage, score, score, reasons[place]))
                self.dropped.append(candidate)
            else:
                kept.append(candidate)
        self.candidates = kept

    def sort(self) -> None:
        """Puts the best first."""
        self.candidates.sort(key=lambda candidate: candidate.order)

    def vectors(self) -> list[Vector | None]:
        """The vector of each candidate, in their order."""
        known = self.reading.chunk_vectors([one.stored.key for one in self.candidates])
        return [known.get(candidate.stored.key) for candidate in self.candidates]
