"""What an evaluation found out: measures over all queries and by type, latency, and emptiness."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from msgspec import Struct

from dowse._project.evaluation.measures import (
    NAMES,
    Collection,
    Difference,
    JudgedQuery,
    Measures,
    Run,
    compare,
    mean,
    measure_queries,
)
from dowse._search.pipeline import SEARCH_FLOW, SearchSettings
from dowse._search.strategies import STRATEGIES


class TypeReport(Struct, frozen=True):
    """How well queries of one type were answered."""

    type: Annotated[str, "As the collection names it; empty when it names none."]
    queries: Annotated[int, "How many."]
    measures: Annotated[Measures, "Their average."]


class Latency(Struct, frozen=True):
    """How long a search took, in seconds."""

    p50: Annotated[float, "Half of the searches took no longer."]
    p95: Annotated[float, "95 of 100 searches took no longer."]


class UnanswerableReport(Struct, frozen=True):
    """What happened to queries that have no answer."""

    queries: Annotated[int, "How many."]
    rejected: Annotated[float, "Share with no result or no good match, as it should be."]
    min_confidence: Annotated[
        float | None, "The threshold as set, -1 for the fitted one; null for a run file."
    ]
    confidence: Annotated[float | None, "Mean score of the best result; null for a run file."]


class RunReport(Struct, frozen=True):
    """How well a run answered the queries of a collection."""

    name: Annotated[str, "Of the run."]
    queries: Annotated[int, "Queries with judgments."]
    empty: Annotated[int, "Of these, how many nothing was found for."]
    marked: Annotated[int, "Of these, how many have results that are marked as no good match."]
    measures: Annotated[Measures | None, "Their average; null when there are none."]
    types: Annotated[tuple[TypeReport, ...], "By type, in the order of the collection."]
    latency: Annotated[Latency | None, "Of a search with the user's settings; null for a file."]
    unanswerable: Annotated[UnanswerableReport | None, "Null when all queries have answers."]
    notices: Annotated[tuple[str, ...], "What searching could not do."]


def report(collection: Collection, run: Run) -> RunReport:
    """How well a run answered a collection."""
    answerable = collection.answerable
    measured = measure_queries(run, answerable)
    return RunReport(
        name=run.name,
        queries=len(answerable),
        empty=sum(not run.found.get(query.id) for query in answerable),
        marked=sum(query.id in run.marked for query in answerable),
        measures=mean(measured.values()),
        types=_by_type(answerable, measured),
        latency=latency(run),
        unanswerable=_unanswerable(collection.unanswerable, run),
        notices=run.notices,
    )


def latency(run: Run) -> Latency | None:
    """How long the searches of a run took; None when nobody has timed them."""
    if not run.seconds:
        return None
    p50, p95 = np.percentile(list(run.seconds.values()), [50, 95])
    return Latency(float(p50), float(p95))


def compare_runs(collection: Collection, first: Run, second: Run) -> dict[str, Difference]:
    """How much better the second run is, by measure; empty when no query has judgments."""
    queries = collection.answerable
    if not queries:
        return {}
    before, after = measure_queries(first, queries), measure_queries(second, queries)
    return {
        name: compare(
            {query: getattr(measured, name) for query, measured in before.items()},
            {query: getattr(measured, name) for query, measured in after.items()},
        )
        for name in NAMES
    }


def _by_type(
    queries: Sequence[JudgedQuery], measured: dict[str, Measures]
) -> tuple[TypeReport, ...]:
    reports = []
    for kind in dict.fromkeys(query.type for query in queries):
        rows = [measured[query.id] for query in queries if query.type == kind]
        average = mean(rows)
        if average is not None:
            reports.append(TypeReport(kind, len(rows), average))
    return tuple(reports)


def _unanswerable(queries: Sequence[JudgedQuery], run: Run) -> UnanswerableReport | None:
    if not queries:
        return None
    known = [run.confidence[query.id] for query in queries if query.id in run.confidence]
    rejected = [one for one in queries if one.id in run.marked or not run.found.get(one.id)]
    return UnanswerableReport(
        queries=len(queries),
        rejected=len(rejected) / len(queries),
        min_confidence=run.min_confidence,
        confidence=math.fsum(known) / len(known) if known else None,
    )


# ── Ablation: each stage and strategy switched the other way, one at a time ─────


BASELINE = "as set"
"""The variant that the others are compared with: the settings as they hold."""

_OTHER_WAY = {True: "without", False: "with"}

_FUSION: Mapping[str, Mapping[str, Any]] = {
    "fuse: ceiling": {"fuse.method": "convex", "fuse.normalise": "ceiling"},
    "fuse: min-max": {"fuse.method": "convex", "fuse.normalise": "minmax"},
    "fuse: RRF k = 60": {"fuse.method": "rrf", "fuse.rrf_k": 60.0},
}
# Choosing results that differ shows only where few are chosen.
_FEW: Mapping[str, Mapping[str, Any]] = {
    "10 documents": {"diversity.max_chunks_per_doc": 0, "documents.passages": False},
    "10 documents, MMR": {"diversity.mmr": True, "documents.passages": False},
    "10 passages": {"diversity.max_chunks_per_doc": 0, "documents.passages": True},
    "10 passages, 2 per doc": {"diversity.max_chunks_per_doc": 2, "documents.passages": True},
    "10 passages, MMR": {"diversity.mmr": True, "documents.passages": True},
}


class Variant(Struct, frozen=True):
    """A way of searching that differs from another in one point."""

    name: str
    changes: Mapping[str, Any]  # to the settings, by their full names
    needs_vectors: bool = False  # without vectors it would do nothing


class AblationRow(Struct, frozen=True):
    """What one variant measured, compared with the settings as they hold."""

    variant: Annotated[str, "What is different."]
    changes: Annotated[Mapping[str, Any], "The settings that make the difference."]
    ndcg_10: Annotated[float, "nDCG@10."]
    mrr: Annotated[float, "Reciprocal rank of the first relevant document."]
    recall_100: Annotated[float, "Share of the relevant documents among the first 100."]
    p50: Annotated[float | None, "Seconds that half of the searches took at most."]
    difference: Annotated[float, "Of nDCG@10 to the settings as they hold."]
    p: Annotated[float, "How often chance alone gives as large a difference, either way."]
    notices: Annotated[tuple[str, ...], "What the variant could not do."]


def ablations(settings: SearchSettings, *, by_meaning: bool = True) -> tuple[Variant, ...]:
    """The settings as they hold, then every stage and strategy switched the other way alone.

    The last variants return a few results only, chosen in several ways: only there choosing makes
    a difference. Without vectors, what needs them is left out.
    """
    fusion = [Variant(name, changes) for name, changes in _FUSION.items()]
    alone = [
        Variant(f"{one.name} alone", {"search.mode": one.name}, one.uses == "vectors")
        for one in STRATEGIES
        if one.alone
    ]
    # A stage that is off and has no usual setting changes nothing.
    differing = [
        one
        for one in (*_switched(settings), *fusion, *alone)
        if any(settings.value(setting) != value for setting, value in one.changes.items())
    ]
    few = [
        Variant(
            name,
            {"diversity.mmr": False, **changes, "search.top_n": 10},
            needs_vectors="diversity.mmr" in changes,
        )
        for name, changes in _FEW.items()
    ]
    usable = [one for one in [*differing, *few] if by_meaning or not one.needs_vectors]
    return (Variant(BASELINE, {}), *usable)


def ablate(
    collection: Collection, variants: Sequence[Variant], run: Callable[[Variant], Run]
) -> tuple[AblationRow, ...]:
    """Runs every variant, and compares each with the first."""
    queries = collection.answerable
    rows: list[AblationRow] = []
    baseline: dict[str, float] = {}
    for variant in variants:
        found = run(variant)
        measured = measure_queries(found, queries)
        average = mean(measured.values())
        if average is None:
            break
        by_query = {query: one.ndcg_10 for query, one in measured.items()}
        baseline = baseline or by_query
        against, time = compare(baseline, by_query), latency(found)
        row = AblationRow(
            variant.name,
            variant.changes,
            average.ndcg_10,
            average.mrr,
            average.recall_100,
            time.p50 if time else None,
            against.difference,
            against.p,
            found.notices,
        )
        rows.append(row)
    return tuple(rows)


def _switched(settings: SearchSettings) -> Iterator[Variant]:
    """Every strategy and stage that has a switch, switched the other way."""
    for strategy in STRATEGIES:
        if strategy.optional:
            is_on = getattr(settings, strategy.name).enabled
            changes = {f"{strategy.name}.enabled": not is_on}
            needs = strategy.uses == "vectors" and not is_on
            yield Variant(f"{_OTHER_WAY[is_on]} {strategy.name}", changes, needs)
    for stage in SEARCH_FLOW:
        if stage.off and stage.ablated:
            is_on = stage.is_on(settings)
            options = stage.off if is_on else stage.on
            changes = {f"{stage.name}.{name}": value for name, value in options.items()}
            name = f"{_OTHER_WAY[is_on]} {stage.name.replace('_', ' ')}"
            yield Variant(name, changes, stage.needs_vectors and not is_on)


# ── What --json prints ──────────────────────────────────────────────────────────


class MeasureRecord(Struct, frozen=True):
    """How two runs differ in one measure."""

    measure: Annotated[str, "Its name, as in `measures`."]
    values: Annotated[Difference, "What each came to, and the difference."]


class ComparisonRecord(Struct, frozen=True):
    """How two runs differ."""

    first: Annotated[str, "Name of the first run."]
    second: Annotated[str, "Name of the second run."]
    measures: Annotated[tuple[MeasureRecord, ...], "By measure."]


class EvalRecord(Struct, frozen=True):
    """What `dowse eval` found out."""

    collection: Annotated[str, "Its name."]
    documents: Annotated[int | None, "How many were searched; null when run files were judged."]
    queries: Annotated[int, "Queries with judgments."]
    unanswerable: Annotated[int, "Queries that have no answer."]
    unjudged: Annotated[int, "Queries left out because no document was judged to answer them."]
    runs: Annotated[tuple[RunReport, ...], "What each run came to; empty with `--ablate`."]
    comparison: Annotated[ComparisonRecord | None, "With `--compare`."]
    ablation: Annotated[
        tuple[AblationRow, ...], "With `--ablate`; the settings as they hold first."
    ]
    notices: Annotated[tuple[str, ...], "What could not be done, and how to change that."]

    @classmethod
    def of(cls, collection: Collection) -> EvalRecord:
        """The shape before anything is measured."""
        return cls(
            collection=collection.name,
            documents=None,
            queries=len(collection.answerable),
            unanswerable=len(collection.unanswerable),
            unjudged=collection.unjudged,
            runs=(),
            comparison=None,
            ablation=(),
            notices=(),
        )
