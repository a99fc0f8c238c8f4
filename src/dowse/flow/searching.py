"""From a query to a response: the loop that runs and traces the stages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dowse.flow.clock import Clock
from dowse.flow.hits import make_hits
from dowse.flow.recipe import Recipe
from dowse.flow.search_flow import SEARCH_FLOW
from dowse.flow.stages import SearchStage
from dowse.flow.verdict import has_no_good_match
from dowse.fuse.fusion import FuseOptions
from dowse.refine.cuts import keep_first
from dowse.refine.documents import (
    best_of_each,
    has_too_few,
    keep_best_passages,
    lists_documents,
)
from dowse.retrieve.rankings import retrieve
from dowse.search_state import SearchParts, SearchState
from dowse.types import Condition, Response
from dowse.wanted import check_wanted

_RUN = [stage.run for stage in SEARCH_FLOW]
_RETRIEVE, _DOCUMENTS = _RUN.index(retrieve), _RUN.index(keep_best_passages) + 1
_OF_THE_QUERY, _OF_DOCUMENTS = SEARCH_FLOW[:_RETRIEVE], SEARCH_FLOW[_RETRIEVE:_DOCUMENTS]
_OF_THE_LIST = SEARCH_FLOW[_DOCUMENTS:]  # what reads closely or cuts runs once
_BEFORE_THE_CUT = SEARCH_FLOW[_RUN.index(keep_first) - 1].name
_DEPTHS = (1, 4, 16, 64)  # times the usual number of candidates


def start_search(
    query: str, recipe: Recipe, parts: SearchParts, demanded: tuple[Condition, ...] = ()
) -> SearchState:
    """A search before its first stage."""
    return SearchState(query, recipe, parts, demanded, weights=recipe.of(FuseOptions).weights)


def run_search(search: SearchState, offset: int = 0) -> Response:
    """Runs the stages, and makes hits of what is left after the first `offset` results."""
    clock = Clock()
    counts = run_flow(search, clock)
    with clock.timing("present"):
        search.no_good_match = has_no_good_match(search)
        hits = make_hits(search, search.candidates[offset:])
    response = Response(
        search.written,
        hits,
        counts,
        search.merged,
        clock.seconds,
        tuple(search.notices),
        search.calibration,
        no_good_match=search.no_good_match,
        total=counts[_BEFORE_THE_CUT],
        offset=offset,
    )
    if not search.candidates:
        return _explain_emptiness(search, response)
    if search.no_good_match and _is_better_without_conditions(search):
        return replace(response, removed=_kept_out(search))
    return response


def run_flow(search: SearchState, clock: Clock) -> dict[str, int]:
    """Runs all stages, and those that find documents once more while there are too few.

    Passages of one long document may fill all places that the strategies hand over.
    """
    counts = run_stages(search, clock, _OF_THE_QUERY)
    for deeper in _DEPTHS:
        tried = search.again(deeper)
        counts |= run_stages(tried, clock, _OF_DOCUMENTS)
        search.vector = tried.vector
        if not has_too_few(tried):
            break
    search.become(tried)
    return counts | run_stages(search, clock, _OF_THE_LIST)


def run_stages(
    search: SearchState, clock: Clock, stages: Iterable[SearchStage] = SEARCH_FLOW
) -> dict[str, int]:
    """Runs stages, timing each; returns how many candidates each has left."""
    counts = {}
    for stage in stages:
        check_wanted()
        if stage.is_wanted(search):
            with clock.timing(stage.name):
                stage.run(search)
        counts[stage.name] = search.count
    return counts


def rank_documents(search: SearchState) -> tuple[tuple[str, float], ...]:
    """Runs all stages; returns the documents of what is left, each by its best chunk's score."""
    run_flow(search, Clock())
    return documents_of(search)


def documents_of(search: SearchState) -> tuple[tuple[str, float], ...]:
    """The documents of the candidates, each by its best chunk's score."""
    best = best_of_each(search.candidates)
    return tuple((document, one.score) for document, one in best.items())


def _explain_emptiness(search: SearchState, response: Response) -> Response:
    """Adds what was nearly found, and how much each condition excludes."""
    unsure = [one for one in search.dropped if one.steps[-1].stage == "threshold"]
    if lists_documents(search):
        unsure = list(best_of_each(unsure).values())
    nearest = make_hits(search, unsure[: search.asked.top_n])
    return replace(response, nearest=nearest, removed=_kept_out(search))


def _is_better_without_conditions(search: SearchState) -> bool:
    """Whether a good match is among what the conditions exclude."""
    if not search.conditions:
        return False
    free = search.without_conditions()
    run_stages(free, Clock(), _OF_DOCUMENTS)
    return not has_no_good_match(free)


def _kept_out(search: SearchState) -> dict[str, int]:
    """For each condition, how many passages it excludes that would otherwise match."""
    if not search.conditions:
        return {}
    free = search.without_conditions()
    retrieve(free)
    found = free.found_keys()
    kept_out = {}
    for condition in search.conditions:
        allowed = set(search.meeting([condition]).tolist())
        kept_out[condition.written] = len(found - allowed)
    return kept_out
