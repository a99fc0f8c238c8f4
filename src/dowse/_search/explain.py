"""Why a document is where it is in the results, or why it is not there."""

from __future__ import annotations

from msgspec import Struct

from dowse._model import StoredChunk, StrategyRank, Trace
from dowse._search.stages.rankings import own_rankers
from dowse._search.stages.strategies import Strategy
from dowse._search.state import Candidate, SearchState


class ChunkOutcome(Struct, frozen=True):
    """The outcome of one chunk of the document."""

    id: str  # of the chunk
    header_path: tuple[str, ...]
    first_line: int
    last_line: int
    rank: int | None  # its place among the results, from 1; None when it is not there
    score: float | None  # the last it had; None when no strategy handed it over
    trace: Trace
    standing: tuple[
        StrategyRank, ...
    ]  # where each strategy ranks it among all chunks; none when nowhere


class Explanation(Struct, frozen=True):
    """What happened to a document in a search."""

    query: str
    document: str
    title: str
    top_k: int  # candidates that each strategy hands over
    top_n: int  # results at most
    failed: tuple[str, ...]  # conditions, as written, that no chunk of it fulfils
    chunks: tuple[ChunkOutcome, ...]  # results, then what was dropped, then what no strategy found
    strategies: tuple[str, ...]  # that could rank it
    notices: tuple[str, ...]  # what could not be done, and how to change that

    @property
    def best(self) -> ChunkOutcome | None:
        """The first of them; None when the document has no chunks."""
        return self.chunks[0] if self.chunks else None


def explain(search: SearchState, document_id: str) -> Explanation:
    """What happened to a document in a search that has been run."""
    keys = search.reading.catalogue.keys_of([document_id]).tolist()
    stored = search.stored(keys)
    standing = _standing(search, set(keys))
    shown = {one.stored.key: place for place, one in enumerate(search.candidates, start=1)}
    known = {one.stored.key: one for one in [*search.dropped, *search.candidates]}
    outcomes = [
        _outcome(stored[key], known.get(key), shown.get(key), standing[key]) for key in keys
    ]
    entry = search.reading.catalogue.document(document_id)
    options = search.settings.search
    return Explanation(
        query=search.request.query,
        document=document_id,
        title=entry.entry.fields.title if entry else document_id,
        top_k=search.limit,
        top_n=options.top_n,
        failed=_failed(search, set(keys)),
        chunks=tuple(sorted(outcomes, key=_how_far)),
        strategies=tuple(one.name for one in _able(search)),
        notices=tuple(search.notices),
    )


def _able(search: SearchState) -> tuple[Strategy, ...]:
    """The strategies that can rank a chunk on their own."""
    rankers = own_rankers(search) if search.has_words else ()
    return tuple(one for one in rankers if search.vector is not None or one.uses != "vectors")


def _standing(search: SearchState, keys: set[int]) -> dict[int, tuple[StrategyRank, ...]]:
    places: dict[int, list[StrategyRank]] = {key: [] for key in keys}
    for strategy in _able(search):
        # All chunks are ranked, not only those that fulfil the conditions.
        ranking = strategy.rank(
            search.without_conditions(), max(1, search.reading.keyword.size), None
        )
        for rank, (key, score) in enumerate(ranking.scores, start=1):
            if key in places:
                places[key].append(StrategyRank(strategy.name, rank, score))
    return {key: tuple(found) for key, found in places.items()}


def _outcome(
    stored: StoredChunk,
    candidate: Candidate | None,
    rank: int | None,
    standing: tuple[StrategyRank, ...],
) -> ChunkOutcome:
    chunk = stored.chunk
    return ChunkOutcome(
        chunk.id,
        chunk.header_path,
        chunk.first_line,
        chunk.last_line,
        rank,
        candidate.score if candidate else None,
        candidate.trace if candidate else Trace((), ()),
        standing,
    )


def _how_far(outcome: ChunkOutcome) -> tuple[int, float, int, int]:
    """Results first, then what was dropped, best first, then what was nearest to being found."""
    if outcome.rank is not None:
        return 0, outcome.rank, 0, outcome.first_line
    best = min((place.rank for place in outcome.standing), default=10**9)
    if outcome.score is not None:
        return 1, -outcome.score, best, outcome.first_line
    return 2, best, 0, outcome.first_line


def _failed(search: SearchState, keys: set[int]) -> tuple[str, ...]:
    return tuple(
        condition.written
        for condition in search.conditions
        if not keys & set(search.meeting([condition]).tolist())
    )
