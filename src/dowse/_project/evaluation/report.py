"""What an evaluation found out: measures over all queries and by type, latency, and emptiness."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

import numpy as np
from msgspec import Struct

from dowse._project.evaluation.compare import Difference, compare
from dowse._project.evaluation.measures import NAMES, Measures, mean, measure_queries
from dowse._project.evaluation.records import Collection, JudgedQuery, Run


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
