"""What the stages of a search hand along: the query, what was found, and each candidate's history.

A stage is a function that changes a `SearchState`. It reads its own options with `search.of(…)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Annotated, Protocol, TypeVar

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from dowse._model import (
    ChunkKey,
    Condition,
    Keys,
    Matrix,
    ModelFit,
    Name,
    Nearness,
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
from dowse._model.ports import Analyzer, Embedder, IndexReader, KeywordField, Reranker
from dowse._search.conditions import meeting
from dowse._text.matching import rarity
from dowse._util.bounds import check_bounds
from dowse.errors import Damaged

if TYPE_CHECKING:
    from dowse._index.source.roots import Root

Options = TypeVar("Options")


MOST_RESULTS = 10_000
"""The most results of one search."""

_CANDIDATES = 50  # what fusion and confidence were fitted with; ten cost up to .013 of nDCG@10


class StageOptions(Protocol):
    """The options of every stage."""

    def of(self, kind: type[Options]) -> Options:
        """The options of one class."""
        ...


class SearchOptions(Struct, frozen=True):
    """What a search returns, and where it looks."""

    # What the modes and presets are, `settings` adds from their tables.
    mode: Annotated[str, "Which strategies rank."] = "hybrid"
    preset: Annotated[str, "A named set of settings; empty: none."] = ""
    top_n: Annotated[int, Meta(ge=1, le=MOST_RESULTS), "How many results at most, from 1."] = 5
    top_k: Annotated[
        int,
        Meta(ge=-1, le=100_000),
        "Candidates per strategy, at least 10. 0: 50, and more where the list ends before the page"
        " that is asked for. -1: max(10, 2 × top_n).",
    ] = 0
    fresh: Annotated[bool, "Leave out results whose file has been deleted since."] = True

    def __post_init__(self) -> None:
        """Rejects what no search could be run with."""
        check_bounds(self, "search")

    @property
    def candidates(self) -> int:
        """How many candidates each strategy hands over."""
        usual = _CANDIDATES if self.top_k == 0 else 2 * self.top_n
        return max(10, self.top_k if self.top_k > 0 else usual)


class Candidate(Struct):
    """A chunk on its way through the stages."""

    stored: StoredChunk
    places: list[Place]
    score: float
    steps: list[Step] = field(default_factory=list)
    section: Section | None = None  # what is shown instead of the chunk
    section_text: str = ""
    heading: Name | None = None  # inside the chunk, where the query is this heading
    others: list[Candidate] = field(default_factory=list)  # of its document, for which it stands

    @property
    def document(self) -> str:
        """The id of its document."""
        return self.stored.document.id

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
        """Best first; ties: best rank in any strategy, then document id and position."""
        ranks = [place.rank for place in self.places if place.rank is not None]
        best = min(ranks, default=math.inf)
        return -self.score, best, self.document, self.stored.chunk.start


def cap_scores(candidates: Sequence[Candidate], stage: str, most: float = 1.0) -> None:
    """Lower scores that are above one that comes before them, or above `most`."""
    for one in candidates:
        if one.score > most:
            one.rescore(stage, most)
        most = one.score


class SearchParts(Struct, frozen=True):
    """The parts that stages work with."""

    reading: IndexReader
    analyzer: Analyzer
    embedder: Embedder | None  # None: there are no vectors
    reranker: Callable[[], Reranker] | None  # opens it; None: there is none
    words: Callable[[IndexReader], tuple[Sequence[str], Matrix]]  # the vocabulary and its vectors
    roots: Sequence[Root]
    now: float  # seconds since 1970
    fit: ModelFit | None = None  # of the embedder, when it was fitted on the user's own documents


class SearchState(Struct):
    """A search between two stages."""

    written: str  # the query as it was asked
    recipe: StageOptions
    parts: SearchParts
    demanded: tuple[Condition, ...] = ()  # in addition to those in the query
    offset: int = 0  # results before the page that is asked for
    query: Query = field(default_factory=lambda: Query("", "", (), ()))
    strategies: tuple[str, ...] = ()  # names of those that are to rank
    deeper: int = 1  # how many times the usual candidates each strategy hands over
    hypothesis: bool = False  # the query is a possible answer, and is embedded as a passage
    embedded_text: str = ""  # what the query's vector is made of
    latin: float = 1.0  # share of the query's letters that are Latin
    vector: Vector | None = None  # once a stage has needed it
    weights: dict[str, float] = field(default_factory=dict)  # by strategy
    rankings: list[Ranking] = field(default_factory=list)
    multipliers: dict[str, float] = field(default_factory=dict)  # by document, before fusion
    candidates: list[Candidate] = field(default_factory=list)
    dropped: list[Candidate] = field(default_factory=list)
    named: dict[ChunkKey, Name] = field(default_factory=dict)  # chunks called like the query
    counts: dict[str, int] = field(default_factory=dict)  # candidates that each stage has left
    settled: int = 0  # candidates at the front that stay as they are: only what follows is dropped
    fused: bool = False
    merged: int = 0
    calibration: str = ""  # what the scores are, in a few words
    fitted: bool = False  # whether the scores are fitted confidences
    near: Nearness | None = None  # how near the query is to what was found, where that is known
    no_good_match: bool = False  # it is far, and no result has all words of the query
    notices: list[str] = field(default_factory=list)
    _among: Keys | None = None
    _stored: dict[ChunkKey, StoredChunk] = field(default_factory=dict)
    _frequencies: dict[tuple[KeywordField, str], int] = field(default_factory=dict)

    def of(self, kind: type[Options]) -> Options:
        """The options of a stage or strategy, by their class."""
        return self.recipe.of(kind)

    @property
    def asked(self) -> SearchOptions:
        """What the search is to return, and where it looks."""
        return self.recipe.of(SearchOptions)

    @property
    def limit(self) -> int:
        """How many candidates each strategy hands over."""
        return self.asked.candidates * self.deeper

    @property
    def wanted(self) -> int:
        """How many results the list needs, so that the page that is asked for is full."""
        return min(self.offset + self.asked.top_n, MOST_RESULTS)

    @property
    def reading(self) -> IndexReader:
        """The generation of the index that is searched."""
        return self.parts.reading

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
            self._among = self.meeting(self.conditions)
        return self._among

    def meeting(self, conditions: Sequence[Condition]) -> Keys:
        """The chunks for which all of these conditions hold."""
        return meeting(conditions, self.reading, self.parts.analyzer)

    @property
    def has_words(self) -> bool:
        """Whether there is anything to rank by, apart from conditions."""
        return any(map(str.isalnum, self.query.text))

    @property
    def reads_latin(self) -> bool:
        """Whether the model behind the vectors can read Latin letters alone."""
        embedder = self.parts.embedder
        return self.vector is not None and embedder is not None and embedder.model.latin_only

    def without_conditions(self) -> SearchState:
        """The same search before anything was found, with no condition."""
        return SearchState(
            self.written,
            self.recipe,
            self.parts,
            query=replace(self.query, conditions=()),
            weights=dict(self.weights),
            strategies=self.strategies,
            hypothesis=self.hypothesis,
            embedded_text=self.embedded_text,
            vector=self.vector,
        )

    def again(self, deeper: int) -> SearchState:
        """Start the same search once more, with so many times the usual candidates."""
        return replace(
            self,
            deeper=deeper,
            weights=dict(self.weights),
            rankings=[],
            multipliers={},
            candidates=[],
            dropped=[],
            counts={},
            settled=0,
            fused=False,
            notices=list(self.notices),
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
            self._stored |= {one.key: one for one in self.reading.catalogue.chunks(missing)}
        if unknown := [key for key in missing if key not in self._stored]:
            raise Damaged(
                f"The search found {len(unknown)} chunks that the database does not know.",
                "Repair it with: dowse doctor --repair",
            )
        return {key: self._stored[key] for key in keys}

    def rarity(self, kind: KeywordField, terms: Sequence[str]) -> dict[str, float]:
        """How rare each term is in a field of the index."""
        size = self.reading.keyword.size
        return {term: rarity(n, size) for term, n in self.frequencies(kind, terms).items()}

    def frequencies(self, kind: KeywordField, terms: Sequence[str]) -> dict[str, int]:
        """In about how many chunks each term occurs; each is looked up once."""
        if missing := [term for term in terms if (kind, term) not in self._frequencies]:
            held = self.reading.keyword.frequencies(kind, missing)
            self._frequencies |= {(kind, term): held[term] for term in missing}
        return {term: self._frequencies[kind, term] for term in terms}

    def found_documents(self) -> set[str]:
        """The documents of what the rankings hold."""
        return {one.document.id for one in self.stored(self.found_keys()).values()}

    def rank(self, keys: Keys) -> Scores:
        """These chunks by meaning, or by words when there is no vector; best first."""
        if self.vector is not None:
            return self.reading.vectors.nearest(self.vector, len(keys), keys)
        return self.reading.keyword.search("body", self.query.terms, len(keys), keys)

    def drop(self, stage: str, reasons: dict[int, str]) -> None:
        """Takes the candidates at these places out, each with the reason why."""
        kept = []
        for place, candidate in enumerate(self.candidates):
            if place in reasons and place >= self.settled:
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
        known = self.reading.vectors.of([one.stored.key for one in self.candidates])
        return [known.get(candidate.stored.key) for candidate in self.candidates]
