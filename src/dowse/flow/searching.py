"""From a query to a response: the stages in their order, and the loop that runs and traces them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Literal

from dowse.errors import BadSettings, EmbedError, UsageError
from dowse.flow.stages import Clock, Stage
from dowse.fuse import calibrate, fuse_by_rank
from dowse.ports import Embedder, Reading
from dowse.present import snippet
from dowse.retrieve import rank_by_keyword, rank_by_meaning
from dowse.types import (
    ChunkKey,
    Hit,
    Place,
    Ranking,
    Response,
    Step,
    StoredChunk,
    Trace,
    Vector,
)

_CHOOSE = "Make them with: dowse config set embed.provider local, then dowse index --rebuild"

Mode = Literal["hybrid", "keyword", "semantic"]
"""Which strategies rank."""


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """What a user can choose about a search."""

    mode: Annotated[Mode, "Which strategies rank: hybrid, keyword or semantic."] = "hybrid"
    top_n: Annotated[int, "How many results at most, from 1."] = 5
    top_k: Annotated[int, "Candidates per strategy; 0 means max(10, 2 × top_n)."] = 0
    semantic_weight: Annotated[float, "Weight of the semantic ranking."] = 1.0
    keyword_weight: Annotated[float, "Weight of the keyword ranking."] = 1.0
    rrf_k: Annotated[float, "Smoothing of reciprocal rank fusion."] = 60.0
    threshold: Annotated[float, "The fused score that becomes a confidence of one half."] = 0.035
    steepness: Annotated[float, "How sharply confidence rises around it, above 0."] = 150.0

    def __post_init__(self) -> None:
        """Rejects what no search could be run with."""
        if self.top_n < 1:
            raise BadSettings("search.top_n must be at least 1.")
        if self.top_k < 0 or self.rrf_k <= 0:
            raise BadSettings("search.top_k must not be negative, search.rrf_k must be above 0.")
        if min(self.semantic_weight, self.keyword_weight) < 0:
            raise BadSettings("The weights of search must not be negative.")
        if self.steepness <= 0:
            raise BadSettings("search.steepness must be above 0: better results score higher.")

    @property
    def candidates(self) -> int:
        """How many candidates each strategy hands over."""
        return max(10, self.top_k or 2 * self.top_n)


@dataclass(slots=True)
class Candidate:
    """A chunk on its way through the stages."""

    key: ChunkKey
    places: list[Place]
    score: float
    steps: list[Step] = field(default_factory=list)

    def rescore(self, stage: str, score: float) -> None:
        """Gives it a new score, and notes which stage did."""
        self.steps.append(Step(stage, self.score, score))
        self.score = score


@dataclass(slots=True)
class Searching:
    """The work that search stages hand along."""

    query: str
    options: SearchOptions
    reading: Reading
    embedder: Embedder | None  # None: the user wants no vectors
    terms: list[str]  # of the query
    rankings: list[Ranking] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    fused: bool = False
    notices: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many chunks are in the running, before and after the rankings are fused."""
        if self.fused:
            return len(self.candidates)
        return len({key for ranking in self.rankings for key, _ in ranking.scores})


def _retrieve(search: Searching) -> None:
    mode, top_k = search.options.mode, search.options.candidates
    if mode != "keyword" and (vector := _query_vector(search)) is not None:
        search.rankings.append(rank_by_meaning(search.reading, vector, top_k))
    if mode != "semantic":
        search.rankings.append(rank_by_keyword(search.reading, search.terms, top_k))


def _query_vector(search: Searching) -> Vector | None:
    only_by_meaning = search.options.mode == "semantic"
    if search.embedder is None:
        if only_by_meaning:
            raise UsageError("The index has no vectors to rank by meaning with.", _CHOOSE)
        return None
    try:
        return search.embedder.query(search.query)
    except EmbedError as error:
        if only_by_meaning:
            raise
        search.notices.append(f"Ranked by words alone. {error}")
        return None


def _fuse(search: Searching) -> None:
    options = search.options
    weights = {"semantic": options.semantic_weight, "keyword": options.keyword_weight}
    fused = fuse_by_rank(search.rankings, weights, options.rrf_k)
    search.candidates = [
        Candidate(key, places, sum(place.contribution for place in places))
        for key, places in fused.items()
    ]
    search.fused = True
    search.candidates.sort(key=lambda candidate: (-candidate.score, candidate.key))


def _calibrate(search: Searching) -> None:
    options = search.options
    for candidate in search.candidates:
        score = calibrate(candidate.score, options.threshold, options.steepness)
        candidate.rescore("calibrate", score)


def _top_n(search: Searching) -> None:
    del search.candidates[search.options.top_n :]


SEARCH_FLOW: tuple[Stage[Searching], ...] = (
    Stage("retrieve", _retrieve),
    Stage("fuse", _fuse),
    Stage("calibrate", _calibrate),
    Stage("top_n", _top_n),
)
"""What happens to a query, in this order."""


def run_search(search: Searching, terms_of: Callable[[str], list[str]]) -> Response:
    """Runs the stages, counting and timing each."""
    clock, counts = Clock(), {}
    for stage in SEARCH_FLOW:
        with clock.timing(stage.name):
            stage.run(search)
        counts[stage.name] = search.count
    with clock.timing("present"):
        stored = search.reading.chunks([candidate.key for candidate in search.candidates])
        traced = {candidate.key: candidate for candidate in search.candidates}
        hits = tuple(_hit(one, traced[one.key], search.terms, terms_of) for one in stored)
    return Response(search.query, hits, counts, clock.seconds, tuple(search.notices))


def _hit(
    stored: StoredChunk,
    candidate: Candidate,
    terms: list[str],
    terms_of: Callable[[str], list[str]],
) -> Hit:
    chunk, document = stored.chunk, stored.document
    return Hit(
        id=chunk.id,
        document=document.id,
        title=document.fields.title,
        header_path=chunk.header_path,
        first_line=chunk.first_line,
        last_line=chunk.last_line,
        score=candidate.score,
        text=stored.text,
        snippet=snippet(stored.text, terms, terms_of),
        modified=document.modified,
        tags=document.fields.tags,
        trace=Trace(tuple(candidate.places), tuple(candidate.steps)),
    )
