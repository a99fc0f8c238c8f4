"""How good a run over judged queries is, and whether another is better or only luckier.

Measures are the usual ones, as `trec_eval` and `ir-measures` compute them. Gains are linear: a
document of grade 2 is worth two of grade 1. What has no grade is worth nothing.

Two runs answer the same queries, so the differences per query are compared: a sign-flip test says
how often chance alone would give as large a mean difference, a bootstrap how far it can be trusted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

# ── Judged queries and runs ─────────────────────────────────────────────────────


class JudgedQuery(Struct, frozen=True):
    """A query, and which documents answer it."""

    id: str
    text: str
    type: str  # as the collection names it; "" when it names none
    relevant: Mapping[str, int]  # by document id: 1 helps, 2 and more answers; empty: nothing does


class Collection(Struct, frozen=True):
    """Documents with queries that somebody has judged."""

    name: str
    documents: Path | None  # a folder, or a corpus.jsonl; None when only runs are compared
    queries: tuple[JudgedQuery, ...]
    unjudged: int = 0  # queries that were left out because no document was judged to answer them

    @property
    def answerable(self) -> tuple[JudgedQuery, ...]:
        """The queries that measures are taken over."""
        return tuple(query for query in self.queries if query.relevant)

    @property
    def unanswerable(self) -> tuple[JudgedQuery, ...]:
        """The queries that a good search finds nothing for."""
        return tuple(query for query in self.queries if not query.relevant)


class Ranked(Struct, frozen=True):
    """A document in a run: counted once, by its best chunk."""

    document: str
    score: float  # never increases down the list


class Run(Struct, frozen=True):
    """What one way of searching found for every query."""

    name: str
    found: Mapping[str, tuple[Ranked, ...]]  # by query id, best first
    seconds: Mapping[str, float] = field(default_factory=dict)  # by query id; none for a file
    confidence: Mapping[str, float] = field(default_factory=dict)  # of the best, found or rejected
    notices: tuple[str, ...] = ()  # what searching could not do for most queries
    marked: frozenset[str] = frozenset()  # queries whose results are marked as no good match
    min_confidence: float | None = None  # the threshold as set, -1 the fitted one; None for a file


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
    """How good a ranking of documents is for a query with these grades."""
    grades = [max(0, relevant.get(document, 0)) for document in found]
    best = sorted((grade for grade in relevant.values() if grade > 0), reverse=True)
    if not best:
        return Measures(*(0.0 for _ in Measures.__struct_fields__))
    return Measures(
        ndcg_5=_gain(grades[:5]) / _gain(best[:5]),
        ndcg_10=_gain(grades[:10]) / _gain(best[:10]),
        mrr=next((1 / rank for rank, grade in enumerate(grades, start=1) if grade), 0.0),
        recall_10=_relevant(grades[:10]) / len(best),
        recall_100=_relevant(grades[:100]) / len(best),
        hit_1=float(_relevant(grades[:1]) > 0),
        hit_5=float(_relevant(grades[:5]) > 0),
        map=_precision_where_relevant(grades) / len(best),
    )


def measure_queries(run: Run, queries: Iterable[JudgedQuery]) -> dict[str, Measures]:
    """How good a run is for each query; one that it does not know counts as answered by nothing."""
    return {
        query.id: measure([one.document for one in run.found.get(query.id, ())], query.relevant)
        for query in queries
    }


def mean(measured: Iterable[Measures]) -> Measures | None:
    """The average over queries, each counting the same; None when there are none."""
    rows = list(measured)
    if not rows:
        return None
    columns = ([getattr(row, name) for row in rows] for name in NAMES)
    return Measures(*(math.fsum(column) / len(rows) for column in columns))


def _gain(grades: Sequence[int]) -> float:
    """Discounted cumulative gain (Järvelin and Kekäläinen 2002)."""
    return math.fsum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))


def _relevant(grades: Sequence[int]) -> int:
    return sum(grade > 0 for grade in grades)


def _precision_where_relevant(grades: Sequence[int]) -> float:
    ranks = [rank for rank, grade in enumerate(grades, start=1) if grade]
    return math.fsum(count / rank for count, rank in enumerate(ranks, start=1))


# ── Whether one run is better than another, or only luckier ─────────────────────


SEED = 20_240_229
"""What every random choice of an evaluation begins with."""

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
    """Compares what a measure gives for each query; both must cover the same queries, at least one.

    `groups` names what queries have in common: those of one group are drawn, or flipped, together,
    because they say less than as many that are independent. The same figures give the same result,
    to the bit.
    """
    queries = sorted(first)
    before = np.array([first[query] for query in queries])
    after = np.array([second[query] for query in queries])
    by_query = after - before
    sums, counts = _grouped(by_query, [groups[query] for query in queries] if groups else queries)
    low, high = _bootstrap(sums, counts)
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


def _grouped(
    differences: NDArray[np.float64], groups: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sum of each group, and how many queries it has."""
    names, places, counts = np.unique(groups, return_inverse=True, return_counts=True)
    sums = np.zeros(len(names))
    np.add.at(sums, places, differences)
    return sums, counts.astype(np.float64)


def _sign_flips(differences: NDArray[np.float64]) -> float:
    """The two-sided paired randomisation test; exact where there are few ways to flip."""
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
    """The 95 % percentile interval of the mean over queries, which come in groups."""
    rng, size = np.random.default_rng(SEED), len(sums)
    means = []
    for rounds in _portions(size):
        drawn = rng.integers(0, size, (rounds, size))
        means.append(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1))
    low, high = np.percentile(np.concatenate(means), [2.5, 97.5])
    return float(low), float(high)


def _portions(count: int) -> Iterator[int]:
    """All rounds, in portions that memory can hold."""
    step = max(1, _CELLS // max(1, count))
    for start, end in pairwise([*range(0, _ROUNDS, step), _ROUNDS]):
        yield end - start
