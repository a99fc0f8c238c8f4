"""How good a ranking is: the usual measures, as `trec_eval` and `ir-measures` compute them.

Gains are linear: a document of grade 2 is worth two of grade 1. What has no grade is worth nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from msgspec import Struct

from dowse._project.evaluation.records import JudgedQuery, Run


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
