"""How good a run over judged queries is, and whether another is better or only luckier.

Measures are the usual ones, as `trec_eval` and `ir-measures` compute them. Gains are linear: a
document of grade 2 is worth two of grade 1. What has no grade is worth nothing.

Two runs answer the same queries, so the differences per query are compared: a sign-flip test says
how often chance alone would give as large a mean difference, a bootstrap how far it can be trusted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dowse._project.evaluation.collections import SEED, Collection, JudgedQuery, Run


class Measures(Struct, frozen=True):
    """How well one query was answered, or several on average; all from 0 to 1."""

    ndcg_5: Annotated[float, "nDCG@5 with linear gains: grades, discounted by rank."]
    ndcg_10: Annotated[float, "nDCG@10."]
    mrr: Annotated[float, "Reciprocal rank of the first relevant document."]
    recall_10: Annotated[float, "Share of the relevant documents among the first 10."]
    recall_100: Annotated[float, "Share of the relevant documents among the first 100."]
    hit_1: Annotated[float, "Whether the first document is relevant."]
    hit_5: Annotated[float, "Whether one of the first 5 documents is relevant."]
    map: Annotated[float, "Average precision."]


NAMES: Mapping[str, str] = {
    "ndcg_5": "nDCG@5",
    "ndcg_10": "nDCG@10",
    "mrr": "MRR",
    "recall_10": "R@10",
    "recall_100": "R@100",
    "hit_1": "hit@1",
    "hit_5": "hit@5",
    "map": "MAP",
}
"""What people call each measure, by its field."""


def measure(found: Sequence[str], relevant: Mapping[str, int]) -> Measures:
    """Measure a ranking of documents for a query with these grades."""
    grades = [max(0, relevant.get(document, 0)) for document in found]
    best = sorted((grade for grade in relevant.values() if grade > 0), reverse=True)
    if not best:
        return Measures(*(0.0 for _ in NAMES))
    ranks = [rank for rank, grade in enumerate(grades, start=1) if grade]
    precisions = (count / rank for count, rank in enumerate(ranks, start=1))
    return Measures(
        ndcg_5=_gain(grades[:5]) / _gain(best[:5]),
        ndcg_10=_gain(grades[:10]) / _gain(best[:10]),
        mrr=1 / ranks[0] if ranks else 0.0,
        recall_10=sum(rank <= 10 for rank in ranks) / len(best),
        recall_100=sum(rank <= 100 for rank in ranks) / len(best),
        hit_1=float(any(rank <= 1 for rank in ranks)),
        hit_5=float(any(rank <= 5 for rank in ranks)),
        map=math.fsum(precisions) / len(best),
    )


def _gain(grades: Sequence[int]) -> float:
    """Return the discounted cumulative gain (Järvelin and Kekäläinen 2002)."""
    return math.fsum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))


def measure_queries(run: Run, queries: Iterable[JudgedQuery]) -> dict[str, Measures]:
    """Measure a run for each query; one that it does not know counts as answered by nothing."""
    return {
        query.id: measure([document for document, _ in run.found.get(query.id, ())], query.relevant)
        for query in queries
    }


def mean(measured: Iterable[Measures]) -> Measures | None:
    """Average over queries, each counting the same; None when there are none."""
    rows = list(measured)
    if not rows:
        return None
    columns = ([getattr(row, name) for row in rows] for name in NAMES)
    return Measures(*(math.fsum(column) / len(rows) for column in columns))


# ── Whether one run is better than another, or only luckier ─────────────────────

_ROUNDS = 10_000
_CELLS = 2_000_000  # random numbers held at a time
_SAME = 1e-12  # differences below are rounding


class Difference(Struct, frozen=True):
    """How much better the second is than the first, over the same queries."""

    first: Annotated[float, "Mean of the first."]
    second: Annotated[float, "Mean of the second."]
    difference: Annotated[float, "Second minus first."]
    relative: Annotated[float | None, "As a share of the first; null when that is 0."]
    low: Annotated[float, "Lower end of the 95 % bootstrap interval of the difference."]
    high: Annotated[float, "Upper end."]
    p: Annotated[float, "How often chance alone gives as large a difference, either way."]
    wins: Annotated[int, "Queries that the second answers better."]
    ties: Annotated[int, "Queries that both answer equally well."]
    losses: Annotated[int, "Queries that the first answers better."]


def compare(
    first: Mapping[str, float],
    second: Mapping[str, float],
    *,
    groups: Mapping[str, str] | None = None,
) -> Difference:
    """Compare what a measure gives for each query; both must cover the same queries, at least one.

    `groups` names what queries have in common: those of one group are drawn, or flipped, together,
    because they say less than as many that are independent. The same figures give the same result,
    to the bit.
    """
    queries = sorted(first)
    before, after = (np.array([side[query] for query in queries]) for side in (first, second))
    by_query = after - before
    names = [groups[query] for query in queries] if groups else queries
    _, places, counts = np.unique(names, return_inverse=True, return_counts=True)
    sums = np.bincount(places, by_query).astype(np.float64)
    low, high = _bootstrap(sums, counts.astype(np.float64))
    start, change = float(before.mean()), float(by_query.mean())
    return Difference(
        first=start,
        second=float(after.mean()),
        difference=change,
        relative=change / start if start else None,
        low=low,
        high=high,
        p=_sign_flips(sums),
        wins=int((by_query > _SAME).sum()),
        ties=int((np.abs(by_query) <= _SAME).sum()),
        losses=int((by_query < -_SAME).sum()),
    )


def _sign_flips(differences: NDArray[np.float64]) -> float:
    """Run the two-sided paired randomisation test; exact where there are few ways to flip."""
    # Queries that are answered equally well stay at 0 whatever their sign.
    moved = differences[np.abs(differences) > _SAME]
    observed = abs(moved.sum()) - _SAME
    if 2 ** len(moved) <= _ROUNDS:
        flips = np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved)) & 1
        return float((np.abs((1 - 2 * flips) @ moved) >= observed).mean())
    rng, extreme = np.random.default_rng(SEED), 0
    for rounds in _portions(len(moved)):
        signs = 1.0 - 2.0 * rng.integers(0, 2, (rounds, len(moved)), dtype=np.int8)
        extreme += int((np.abs(signs @ moved) >= observed).sum())
    return (extreme + 1) / (_ROUNDS + 1)  # what was observed is one of the possible ways


def _bootstrap(sums: NDArray[np.float64], counts: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95 % percentile interval of the mean over queries, which come in groups."""
    rng, means = np.random.default_rng(SEED), []
    for rounds in _portions(len(sums)):
        drawn = rng.integers(0, len(sums), (rounds, len(sums)))
        means.append(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1))
    low, high = np.percentile(np.concatenate(means), [2.5, 97.5])
    return float(low), float(high)


def _portions(count: int) -> Iterator[int]:
    """Cut all rounds into portions that memory can hold."""
    step = max(1, _CELLS // max(1, count))
    for start in range(0, _ROUNDS, step):
        yield min(step, _ROUNDS - start)


# ── What a run came to: measures over all queries and by type, latency, emptiness ──


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
    """Say how well a run answered a collection."""
    answerable = collection.answerable
    measured = measure_queries(run, answerable)
    by_type: dict[str, list[Measures]] = {}
    for query in answerable:
        by_type.setdefault(query.type, []).append(measured[query.id])
    averages = ((kind, rows, mean(rows)) for kind, rows in by_type.items())
    unanswerable = None
    if asked := [query.id for query in collection.unanswerable]:
        known = [run.confidence[query] for query in asked if query in run.confidence]
        unanswerable = UnanswerableReport(
            queries=len(asked),
            rejected=sum(one in run.marked or not run.found.get(one) for one in asked) / len(asked),
            min_confidence=run.min_confidence,
            confidence=math.fsum(known) / len(known) if known else None,
        )
    return RunReport(
        name=run.name,
        queries=len(answerable),
        empty=sum(not run.found.get(query.id) for query in answerable),
        marked=sum(query.id in run.marked for query in answerable),
        measures=mean(measured.values()),
        types=tuple(TypeReport(kind, len(rows), one) for kind, rows, one in averages if one),
        latency=latency(run),
        unanswerable=unanswerable,
        notices=run.notices,
    )


def latency(run: Run) -> Latency | None:
    """Say how long the searches of a run took; None when nobody has timed them."""
    if not run.seconds:
        return None
    p50, p95 = np.percentile(list(run.seconds.values()), [50, 95])
    return Latency(float(p50), float(p95))


def compare_runs(collection: Collection, first: Run, second: Run) -> dict[str, Difference]:
    """Compare two runs by every measure; empty when no query has judgments."""
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
