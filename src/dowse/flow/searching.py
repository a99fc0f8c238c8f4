"""From a query to a response: the stages in their order, and the loop that runs and traces them."""

from __future__ import annotations

from dataclasses import replace

from dowse.flow.candidates import Searching
from dowse.flow.finding import (
    complete_scores,
    expand_query,
    favour_communities,
    follow_links,
    retrieve,
    trust_the_readable,
    understand_query,
    weigh_by_type,
)
from dowse.flow.hits import make_hits
from dowse.flow.ranking import (
    adjust_weights,
    drop_deleted,
    fuse,
    gather,
    give_confidence,
    prefer_recent,
)
from dowse.flow.refining import (
    cut,
    diversify,
    drop_exact,
    drop_near,
    drop_same_meaning,
    drop_unsure,
    read_closely,
    show_sections,
)
from dowse.flow.stages import Clock, Stage
from dowse.types import Response
from dowse.wanted import check_wanted

SEARCH_FLOW: tuple[Stage[Searching], ...] = (
    Stage("understand", understand_query),
    Stage("classify", weigh_by_type, lambda s: s.recipe.classify.enabled),
    Stage("expand", expand_query, lambda s: s.recipe.expand.enabled and s.searches_by_meaning),
    Stage("retrieve", retrieve),
    Stage("graph", follow_links, lambda s: s.recipe.graph.enabled and s.is_hybrid),
    Stage("complete", complete_scores, lambda s: s.recipe.fuse.method == "convex"),
    Stage("readable", trust_the_readable, lambda s: s.recipe.readable.enabled and s.reads_latin),
    Stage("community", favour_communities, lambda s: s.recipe.community.enabled),
    Stage("dynamic_weights", adjust_weights, lambda s: s.recipe.dynamic_weights.enabled),
    Stage("fuse", fuse),
    Stage("fresh", drop_deleted, lambda s: s.recipe.search.fresh),
    Stage("gather", gather, lambda s: s.recipe.gather.share > 0),
    Stage("recency", prefer_recent, lambda s: s.recipe.recency.bias > 0),
    Stage("calibrate", give_confidence),
    Stage("threshold", drop_unsure, lambda s: s.least_confidence > 0),
    Stage("exact_dedup", drop_exact, lambda s: s.recipe.exact_dedup.enabled),
    Stage("near_dedup", drop_near, lambda s: s.recipe.near_dedup.enabled),
    Stage("semantic_dedup", drop_same_meaning, lambda s: s.recipe.semantic_dedup.enabled),
    Stage("diversity", diversify, lambda s: s.recipe.diversity.wanted),
    Stage("rerank", read_closely, lambda s: s.recipe.rerank.enabled),
    Stage("parents", show_sections, lambda s: s.recipe.parents.enabled),
    Stage("top_n", cut),
)
"""What happens to a query, in this order."""


def run_search(search: Searching) -> Response:
    """Runs the stages, and makes hits of what is left."""
    clock = Clock()
    counts = run_stages(search, clock)
    with clock.timing("present"):
        hits = make_hits(search, search.candidates)
    response = Response(
        search.written,
        hits,
        counts,
        search.merged,
        clock.seconds,
        tuple(search.notices),
        search.calibration,
    )
    return response if hits else _explain_emptiness(search, response)


def run_stages(search: Searching, clock: Clock) -> dict[str, int]:
    """Runs the stages, timing each; gives how many candidates each has left."""
    counts = {}
    for stage in SEARCH_FLOW:
        check_wanted()
        if stage.wanted is None or stage.wanted(search):
            with clock.timing(stage.name):
                stage.run(search)
        counts[stage.name] = search.count
    return counts


def rank_documents(search: Searching) -> tuple[tuple[str, float], ...]:
    """Runs the stages; gives the documents of what is left, best chunk first, with its score."""
    run_stages(search, Clock())
    best: dict[str, float] = {}
    for candidate in search.candidates:
        best.setdefault(candidate.stored.document.id, candidate.score)
    return tuple(best.items())


def _explain_emptiness(search: Searching, response: Response) -> Response:
    """Adds what was nearly found, and which condition kept out how much."""
    unsure = [one for one in search.dropped if one.steps[-1].stage == "threshold"]
    nearest = make_hits(search, unsure[: search.recipe.search.top_n])
    return replace(response, nearest=nearest, removed=_kept_out(search))


def _kept_out(search: Searching) -> dict[str, int]:
    """For each condition, how many of the chunks it keeps out that would else be found."""
    if not search.conditions:
        return {}
    free = search.without_conditions()
    retrieve(free)
    found = free.found_keys()
    kept_out = {}
    for condition in search.conditions:
        allowed = set(search.reading.matching([condition]).tolist())
        kept_out[condition.written] = len(found - allowed)
    return kept_out
