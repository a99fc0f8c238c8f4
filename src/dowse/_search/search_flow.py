"""The stages of a search, as a table, and the loop that runs them.

A new stage is a file with its options, its rule and the function that runs it, and a row here.
Settings, presets, ablation, tuning, traces and the docs follow from the row.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from msgspec import Meta, defstruct

from dowse._search.confidence.calibrate import CalibrateOptions, give_confidence
from dowse._search.freshness import drop_deleted
from dowse._search.query.understand import understand_query
from dowse._search.stage import SearchStage
from dowse._search.stages.classify import ClassifyOptions, weigh_by_type
from dowse._search.stages.community import CommunityOptions, favour_communities
from dowse._search.stages.cuts import ThresholdOptions, drop_unsure, has_threshold, keep_first
from dowse._search.stages.diversity import DiversityOptions, diversify
from dowse._search.stages.documents import (
    DocumentsOptions,
    add_deeper,
    has_too_few,
    keep_best_passages,
    lists_documents,
)
from dowse._search.stages.duplicates import (
    ExactDedupOptions,
    NearDedupOptions,
    SemanticDedupOptions,
    drop_exact,
    drop_near,
    drop_same_meaning,
)
from dowse._search.stages.dynamic_weights import DynamicWeightsOptions, adjust_weights
from dowse._search.stages.exact import ExactOptions, find_named, is_exact_on, put_named_first
from dowse._search.stages.expand import ExpandOptions, embeds_the_query, expand_query
from dowse._search.stages.fusion import FuseOptions, fuse
from dowse._search.stages.gather import GatherOptions, gather
from dowse._search.stages.parents import ParentsOptions, show_sections
from dowse._search.stages.rankings import complete_scores, follow, followers, retrieve
from dowse._search.stages.readable import ReadableOptions, trust_the_readable
from dowse._search.stages.recency import RecencyOptions, prefer_recent
from dowse._search.stages.rerank import RerankOptions, read_closely
from dowse._search.stages.strategies import STRATEGIES
from dowse._search.state import SearchState
from dowse._util.cancellation import raise_if_cancelled
from dowse._util.clock import Clock

_WEIGHT = Meta(ge=0, le=100)
_DEPTHS = (4, 16, 64, 256, 1024)  # times the usual number of candidates


def _with_weights(options: type[FuseOptions]) -> type[Any]:
    """The options of fusion with a weight for each strategy."""
    weights: list[tuple[str, Any, float]] = [
        (one.name, Annotated[float, _WEIGHT, f"Weight of the {one.name} ranking."], one.weight)
        for one in STRATEGIES
    ]
    return defstruct(options.__name__, weights, bases=(options,), frozen=True)


def run_stages(search: SearchState, clock: Clock, stages: Iterable[SearchStage]) -> None:
    """Run stages; time each, and count the candidates that it leaves."""
    for stage in stages:
        raise_if_cancelled()
        if stage.is_wanted(search):
            with clock.timing(stage.name):
                stage.run(search)
        search.counts[stage.name] = search.count


def look_deeper(search: SearchState) -> None:
    """Rank again with more candidates, while the list ends before the page that is asked for.

    Passages of one long document may fill all places that the strategies hand over.
    """
    for factor in _DEPTHS:
        deeper = search.again(factor)
        run_stages(deeper, Clock(), RANK_STAGES)
        known = add_deeper(search, deeper)
        search.counts |= {
            name: search.counts[name] + count - known for name, count in deeper.counts.items()
        }
        run_stages(search, Clock(), (*CUT_STAGES, *LIST_STAGES))
        if not has_too_few(search):
            break


_NO_DIVERSITY = {"mmr": False, "max_chunks_per_doc": 0}

QUERY_STAGES = (
    SearchStage("understand", "Reads the query", understand_query),
    SearchStage("classify", "Weighs by the kind of query", weigh_by_type, ClassifyOptions),
    SearchStage(
        "expand",
        "Adds similar words",
        expand_query,
        ExpandOptions,
        when=embeds_the_query,
        needs_vectors=True,
    ),
)

RANK_STAGES = (
    SearchStage("retrieve", "Finds passages", retrieve),
    SearchStage(
        "graph", "Adds what is linked with them", follow, when=lambda s: bool(followers(s))
    ),
    SearchStage(
        "complete",
        "Scores what only some found",
        complete_scores,
        when=lambda s: s.of(FuseOptions).method == "convex",
    ),
    SearchStage(
        "readable",
        "Trusts vectors as far as they read",
        trust_the_readable,
        ReadableOptions,
        when=lambda s: s.reads_latin,
    ),
    SearchStage(
        "community",
        "Favours what belongs together",
        favour_communities,
        CommunityOptions,
        multiplies=True,
    ),
    SearchStage(
        "dynamic_weights",
        "Weighs by how sure each ranking is",
        adjust_weights,
        DynamicWeightsOptions,
        replayed=True,
    ),
    SearchStage(
        "fuse", "Makes one ranking of all", fuse, _with_weights(FuseOptions), replayed=True
    ),
    SearchStage("names", "Looks for titles like the query", find_named, when=is_exact_on),
    SearchStage("fresh", "Leaves out deleted files", drop_deleted, when=lambda s: s.asked.fresh),
    SearchStage(
        "gather",
        "Adds other passages of the document",
        gather,
        GatherOptions,
        off={"share": 0.0},
        on={"share": 0.75},
        replayed=True,
    ),
    SearchStage(
        "recency",
        "Prefers newer documents",
        prefer_recent,
        RecencyOptions,
        off={"bias": 0.0},
        ablated=False,  # the files of a test collection are all equally new
        replayed=True,
        multiplies=True,
    ),
    # It changes no order.
    SearchStage(
        "calibrate",
        "Turns the score into a confidence",
        give_confidence,
        CalibrateOptions,
        always=True,
        ablated=False,
    ),
    SearchStage(
        "exact",
        "Puts a title like the query first",
        put_named_first,
        ExactOptions,
        when=lambda s: bool(s.named),
    ),
)

CUT_STAGES = (
    SearchStage(
        "threshold",
        "Drops uncertain results",
        drop_unsure,
        ThresholdOptions,
        off={"min_confidence": 0.0},
        when=has_threshold,
    ),
    # A list of all documents that meet some conditions has copies, too.
    SearchStage(
        "exact_dedup",
        "Drops exact copies",
        drop_exact,
        ExactDedupOptions,
        when=lambda s: s.has_words,
    ),
    SearchStage(
        "near_dedup",
        "Drops near copies",
        drop_near,
        NearDedupOptions,
        when=lambda s: s.has_words,
    ),
    SearchStage(
        "semantic_dedup",
        "Drops what means the same",
        drop_same_meaning,
        SemanticDedupOptions,
        when=lambda s: s.has_words,
        needs_vectors=True,
    ),
    # An ablation compares the ways of these two on short lists instead.
    SearchStage(
        "documents",
        "Keeps one result per document",
        keep_best_passages,
        DocumentsOptions,
        off={"passages": True},
        when=lists_documents,
        ablated=False,
    ),
)

LIST_STAGES = (
    SearchStage(
        "diversity", "Mixes the list", diversify, DiversityOptions, off=_NO_DIVERSITY, ablated=False
    ),
    SearchStage(
        "rerank",
        "Reads the first results again",
        read_closely,
        RerankOptions,
        when=lambda s: not s.settled,
        needs_vectors=True,
    ),
    SearchStage(
        "parents", "Shows whole sections", show_sections, ParentsOptions, ablated=False
    ),  # it changes texts only
)

SEARCH_FLOW: tuple[SearchStage, ...] = (
    *QUERY_STAGES,
    *RANK_STAGES,
    *CUT_STAGES,
    *LIST_STAGES,
    SearchStage("deeper", "Looks further when the list is short", look_deeper, when=has_too_few),
    SearchStage("top_n", "Keeps the first results", keep_first),
)
"""What happens to a query, in this order."""
