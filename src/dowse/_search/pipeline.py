"""From a query to a response."""

from __future__ import annotations

from msgspec.structs import replace

from dowse._model import Condition, Response
from dowse._search.confidence.verdict import has_no_good_match
from dowse._search.present.hits import make_hits
from dowse._search.recipe import Recipe
from dowse._search.search_flow import CUT_STAGES, RANK_STAGES, SEARCH_FLOW, run_stages
from dowse._search.stages.documents import best_of_each, is_whole, lists_documents
from dowse._search.stages.fusion import FuseOptions
from dowse._search.stages.rankings import retrieve
from dowse._search.state import SearchParts, SearchState
from dowse._util.clock import Clock


def start_search(
    query: str, recipe: Recipe, parts: SearchParts, demanded: tuple[Condition, ...] = ()
) -> SearchState:
    """A search before its first stage."""
    return SearchState(query, recipe, parts, demanded, weights=recipe.of(FuseOptions).weights)


def run_search(search: SearchState) -> Response:
    """Runs the stages, and makes hits of the page that is asked for."""
    clock = Clock()
    run_stages(search, clock, SEARCH_FLOW)
    with clock.timing("present"):
        search.no_good_match = has_no_good_match(search)
        hits = make_hits(search, search.candidates[search.offset :])
    total = search.counts[SEARCH_FLOW[-2].name]  # before the last stage cuts the list
    response = Response(
        search.written,
        hits,
        search.counts,
        search.merged,
        clock.seconds,
        tuple(search.notices),
        search.calibration,
        no_good_match=search.no_good_match,
        total=total,
        total_is_exact=is_whole(search, total),
        offset=search.offset,
    )
    if not search.candidates:
        return _explain_emptiness(search, response)
    if search.no_good_match and _is_better_without_conditions(search):
        return replace(response, removed=_kept_out(search))
    return response


def rank_documents(search: SearchState) -> tuple[tuple[str, float], ...]:
    """Runs all stages; returns the documents of what is left, each by its best chunk's score."""
    run_stages(search, Clock(), SEARCH_FLOW)
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
    run_stages(free, Clock(), (*RANK_STAGES, *CUT_STAGES))
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
