"""From a query to a response: the settings of every stage, the table of stages, and their loop.

A new stage is a file with its options, its rule and the function that runs it; and here a section
of `SearchSettings` and a row of the table. Presets, ablation, tuning, traces and the docs follow
from these.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from dowse._model import Response
from dowse._search.confidence import CalibrateOptions, give_confidence, has_no_good_match
from dowse._search.dedup import (
    DiversityOptions,
    ExactDedupOptions,
    NearDedupOptions,
    SemanticDedupOptions,
    diversify,
    drop_exact,
    drop_near,
    drop_same_meaning,
)
from dowse._search.documents import (
    DocumentsOptions,
    ParentsOptions,
    RerankOptions,
    ThresholdOptions,
    best_of_each,
    drop_deleted,
    drop_unsure,
    keep_best_passages,
    keep_first,
    lists_documents,
    read_closely,
    show_sections,
)
from dowse._search.fusion import (
    CommunityOptions,
    DynamicWeightsOptions,
    ExactOptions,
    FuseOptions,
    GatherOptions,
    ReadableOptions,
    RecencyOptions,
    adjust_weights,
    favour_communities,
    find_named,
    fuse,
    gather,
    prefer_recent,
    put_named_first,
    trust_the_readable,
)
from dowse._search.hits import make_hits, missing_from
from dowse._search.state import SearchState, cap_scores
from dowse._search.strategies import (
    RetrievalSettings,
    compare_names,
    complete_scores,
    follow,
    rankers,
    retrieve,
)
from dowse._search.understand import (
    ClassifyOptions,
    ExpandOptions,
    expand_query,
    understand_query,
    weigh_by_type,
)
from dowse._util.process import raise_if_cancelled


class SearchSettings(RetrievalSettings, frozen=True):
    """The settings of a search: a section for each stage that has options."""

    classify: ClassifyOptions = ClassifyOptions()
    expand: ExpandOptions = ExpandOptions()
    readable: ReadableOptions = ReadableOptions()
    community: CommunityOptions = CommunityOptions()
    dynamic_weights: DynamicWeightsOptions = DynamicWeightsOptions()
    fuse: FuseOptions = FuseOptions()
    gather: GatherOptions = GatherOptions()
    recency: RecencyOptions = RecencyOptions()
    calibrate: CalibrateOptions = CalibrateOptions()
    exact: ExactOptions = ExactOptions()
    threshold: ThresholdOptions = ThresholdOptions()
    exact_dedup: ExactDedupOptions = ExactDedupOptions()
    near_dedup: NearDedupOptions = NearDedupOptions()
    semantic_dedup: SemanticDedupOptions = SemanticDedupOptions()
    documents: DocumentsOptions = DocumentsOptions()
    diversity: DiversityOptions = DiversityOptions()
    rerank: RerankOptions = RerankOptions()
    parents: ParentsOptions = ParentsOptions()

    def value(self, setting: str) -> Any:
        """Return the value of a setting by its full name: `gather.share`."""
        section, _, option = setting.partition(".")
        return getattr(getattr(self, section), option)


class SearchStage(Struct, frozen=True):
    """A stage of a search, with all that other parts of dowse know about it.

    Its section of the settings, if it has options, has its name.
    """

    name: str
    words: str  # what it does, for people who do not know its name
    run: Callable[[SearchState], None]
    off: Mapping[str, Any] = field(default_factory=dict)  # the options that turn it off
    on: Mapping[str, Any] = field(default_factory=dict)  # and on, for an ablation
    when: Callable[[SearchState], bool] | None = None  # what else must hold for it to run
    always: bool = False  # it also runs when it is off, and then does less
    ablated: bool = True  # an ablation measures what it is worth
    needs_vectors: bool = False
    multiplies: bool = False  # what it does to a score is best shown as a factor

    def __post_init__(self) -> None:
        """Take `enabled` as the switch of a stage that has it, unless the row names another one."""
        options = None if self.name in _OF_STRATEGIES else getattr(_DEFAULTS, self.name, None)
        if not self.off and hasattr(options, "enabled"):
            force_setattr(self, "off", {"enabled": False})
            force_setattr(self, "on", {"enabled": True})

    def is_on(self, settings: SearchSettings) -> bool:
        """Tell whether the settings turn it on; a stage without a switch always is."""
        options = getattr(settings, self.name, None)
        return not self.off or any(getattr(options, name) != off for name, off in self.off.items())


_DEFAULTS = SearchSettings()
_OF_STRATEGIES = RetrievalSettings.__struct_fields__  # they decide which strategies rank

_NO_DIVERSITY = {"mmr": False, "max_chunks_per_doc": 0}

QUERY_STAGES = (
    SearchStage("understand", "Reads the query", understand_query),
    SearchStage("classify", "Weighs by the kind of query", weigh_by_type),
    SearchStage(
        "expand",
        "Adds similar words",
        expand_query,
        when=lambda s: "semantic" in s.strategies and not s.hypothesis,
        needs_vectors=True,
    ),
)

RANK_STAGES = (
    SearchStage("retrieve", "Finds passages", retrieve),
    SearchStage(
        "graph",
        "Adds what is linked with them",
        follow,
        when=lambda s: bool(rankers(s, follows=True)),
    ),
    SearchStage(
        "complete",
        "Scores what only some found",
        complete_scores,
        when=lambda s: s.settings.fuse.method == "convex",
    ),
    SearchStage(
        "names",
        "Compares titles, paths and texts of links with the query",
        compare_names,
        when=lambda s: s.settings.fuse.method == "convex" and "keyword" in s.strategies,
    ),
    SearchStage(
        "readable",
        "Reduces vector weight for scripts the model cannot read",
        trust_the_readable,
        when=lambda s: s.vector is not None and s.scripts is not None,
    ),
    SearchStage(
        "community",
        "Boosts documents in the same link community",
        favour_communities,
        multiplies=True,
    ),
    SearchStage(
        "dynamic_weights",
        "Weighs each ranking by how much its scores vary",
        adjust_weights,
    ),
    SearchStage("fuse", "Merges the rankings into one", fuse),
    SearchStage(
        "named",
        "Looks for titles like the query",
        find_named,
        when=lambda s: s.settings.exact.enabled and s.has_words,
    ),
    SearchStage(
        "fresh", "Leaves out deleted files", drop_deleted, when=lambda s: s.settings.search.fresh
    ),
    SearchStage(
        "gather",
        "Adds other passages of the document",
        gather,
        off={"share": 0.0},
        on={"share": 0.75},
    ),
    SearchStage(
        "recency",
        "Prefers newer documents",
        prefer_recent,
        off={"bias": 0.0},
        ablated=False,  # the files of a test collection are all equally new
        multiplies=True,
    ),
    # It changes no order.
    SearchStage(
        "calibrate",
        "Turns the score into a confidence",
        give_confidence,
        always=True,
        ablated=False,
    ),
    SearchStage(
        "exact",
        "Puts a title like the query first",
        put_named_first,
        when=lambda s: bool(s.named),
    ),
)

CUT_STAGES = (
    SearchStage(
        "threshold",
        "Drops uncertain results",
        drop_unsure,
        off={"min_confidence": 0.0},
        when=lambda s: s.settings.threshold.min_confidence > 0,
    ),
    # A list of all documents that meet some conditions has copies, too.
    SearchStage(
        "exact_dedup",
        "Drops exact copies",
        drop_exact,
        when=lambda s: s.has_words,
    ),
    SearchStage(
        "near_dedup",
        "Drops near copies",
        drop_near,
        when=lambda s: s.has_words,
    ),
    SearchStage(
        "semantic_dedup",
        "Drops what means the same",
        drop_same_meaning,
        when=lambda s: s.has_words,
        needs_vectors=True,
    ),
    # An ablation compares the ways of these two on short lists instead.
    SearchStage(
        "documents",
        "Keeps one result per document",
        keep_best_passages,
        off={"passages": True},
        when=lists_documents,
        ablated=False,
    ),
)

LIST_STAGES = (
    SearchStage("diversity", "Diversifies the list", diversify, off=_NO_DIVERSITY, ablated=False),
    SearchStage(
        "rerank",
        "Reranks the first results",
        read_closely,
        when=lambda s: not s.settled,
        needs_vectors=True,
    ),
    SearchStage(
        "parents", "Shows whole sections", show_sections, ablated=False
    ),  # it changes texts only
)


# ── The loop ─────────────────────────────────────────────────────────────────

_DEPTHS = (4, 16, 64, 256, 1024)  # times the usual number of candidates


def run_stages(
    search: SearchState, stages: Iterable[SearchStage], seconds: dict[str, float]
) -> None:
    """Run the stages that are on; time each, and count the candidates that it leaves."""
    for stage in stages:
        raise_if_cancelled()
        wanted = stage.when is None or stage.when(search)
        if wanted and (stage.always or stage.is_on(search.settings)):
            began = time.perf_counter()
            stage.run(search)
            seconds[stage.name] = time.perf_counter() - began
        search.counts[stage.name] = len(search.candidates if search.fused else search.found_keys())


def has_too_few(search: SearchState) -> bool:
    """Tell whether the list ends before its page does, and more candidates may help."""
    return not (
        search.settings.search.top_k
        or len(search.candidates) >= search.wanted
        or search.unsure  # what comes after a result that is too uncertain is not more certain
        or _is_whole(search, len(search.candidates))
    )


def _is_whole(search: SearchState, count: int) -> bool:
    """Tell whether a list of so many results has all there are: more candidates would add none."""
    return not any(ranking.cut for ranking in search.rankings) or (
        lists_documents(search) and not search.reader.catalogue.has_more_than(count)
    )


def look_deeper(search: SearchState) -> None:
    """Rank again with more candidates, while the list ends before the page that is asked for.

    Passages of one long document may fill all places that the strategies hand over.
    """
    for factor in _DEPTHS:
        deeper = replace(
            search,
            notices=list(search.notices),
            limit=factor * search.settings.search.candidates,
            weights=dict(search.weights),
            rankings=[],
            multipliers={},
            fused=False,
            candidates=[],
            settled=0,
            dropped=[],
            counts={},
        )
        run_stages(deeper, RANK_STAGES, {})
        known = _add_deeper(search, deeper)
        for name, count in deeper.counts.items():
            search.counts[name] += count - known
        run_stages(search, (*CUT_STAGES, *LIST_STAGES), {})
        if not has_too_few(search):
            break


def _add_deeper(search: SearchState, deeper: SearchState) -> int:
    """Add what a deeper pass has found to the end of the list; return how much of it was known.

    Nothing before it changes, so that every page is a part of one list: what was found first keeps
    its place and its score, and no score below is higher.
    """
    known = {one.stored.key for one in (*search.candidates, *search.dropped)}
    listed = {one.document for one in search.candidates} if lists_documents(search) else set()
    fresh = [one for one in deeper.candidates if one.stored.key not in known]
    new = [one for one in fresh if one.document not in listed]
    cap_scores(new, "deeper", search.candidates[-1].score if search.candidates else 1.0)
    search.settled = len(search.candidates)
    search.candidates += new
    search.dropped += [one for one in deeper.dropped if one.stored.key not in known]
    search.limit, search.rankings = deeper.limit, deeper.rankings
    return len(deeper.candidates) - len(fresh)


SEARCH_FLOW: tuple[SearchStage, ...] = (
    *QUERY_STAGES,
    *RANK_STAGES,
    *CUT_STAGES,
    *LIST_STAGES,
    SearchStage("deeper", "Looks further when the list is short", look_deeper, when=has_too_few),
    SearchStage("top_n", "Keeps the first results", keep_first),
)
"""What happens to a query, in this order."""


def run_search(search: SearchState) -> Response:
    """Run the stages, and make hits of the page that is asked for."""
    seconds: dict[str, float] = {}
    run_stages(search, SEARCH_FLOW, seconds)
    began, offset = time.perf_counter(), search.request.offset
    search.no_good_match = has_no_good_match(search)
    hits = make_hits(search, search.candidates[offset:], offset)
    seconds["present"] = time.perf_counter() - began
    response = Response(
        project=search.parts.project,
        query=search.request.query,
        no_good_match=search.no_good_match,
        hits=hits,
        offset=offset,
        total=search.total,
        total_is_exact=_is_whole(search, search.total),
        merged=search.merged,
        counts=search.counts,
        seconds=seconds,
        calibration=search.calibration,
        notices=(*search.notices, *missing_from(hits, search.scripts)),
    )
    if not search.candidates:  # what was nearly found, and how much each condition excludes
        best = best_of_each(search.unsure)
        unsure = list(best.values()) if lists_documents(search) else search.unsure
        nearest = make_hits(search, unsure[: search.settings.search.top_n])
        return replace(response, nearest=nearest, removed=_kept_out(search))
    if search.no_good_match and search.conditions:  # a good match may be among what they exclude
        free = search.without_conditions()
        run_stages(free, (*RANK_STAGES, *CUT_STAGES), {})
        if not has_no_good_match(free):
            return replace(response, removed=_kept_out(search))
    return response


def rank_documents(search: SearchState) -> tuple[tuple[str, float], ...]:
    """Run all stages; return the documents of what is left, each by its best chunk's score."""
    run_stages(search, SEARCH_FLOW, {})
    return tuple((name, one.score) for name, one in best_of_each(search.candidates).items())


def _kept_out(search: SearchState) -> dict[str, int]:
    """Count, for each condition, the passages that it excludes and that would otherwise match."""
    if not search.conditions:
        return {}
    free = search.without_conditions()
    retrieve(free)
    found = free.found_keys()
    return {
        condition.written: len(found.difference(search.meeting([condition]).tolist()))
        for condition in search.conditions
    }
