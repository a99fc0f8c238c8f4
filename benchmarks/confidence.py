"""Fits the confidence on judged collections, and tells how far it can be trusted.

    python benchmarks/confidence.py DATA --sets k8s-en,tldr

Every collection is asked queries of its own and as many of the others, which have no answer in it.
The weights that dowse ships were fitted so on four collections; each collection is also judged with
weights fitted on the others alone. What a least confidence costs is also told for the corpus that
ships with dowse, which has no part in the fit.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dowse.engine import Engine
from dowse.evaluate import SEED, JudgedQuery, open_bench, read_collection
from dowse.types import Response
from dowse.workspace import Workspace

SETS = "dendron-vault,k8s-en,github-docs,tldr"
OWN = 240  # queries of a collection's own, and as many of the others
FIRST = 5  # results of each query that are fitted on
SHOWN = 10  # results that an answer is good for when one of them is relevant
CORPUS = Path(__file__).parent / "corpus"
RAW = {
    "calibrate.enabled": False,
    "threshold.min_confidence": 0.0,
    "recency.bias": 0.0,
    "near_dedup.enabled": False,
    "search.top_n": 20,
    "search.top_k": 30,
}
RANKS = {
    "fuse.method": "rrf",
    "gather.share": 0.0,
    "calibrate.midpoint": 0.035,
    "calibrate.steepness": 150.0,
    "threshold.min_confidence": 0.0,
    "recency.bias": 0.0,
}
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Asked:
    """What one query found."""

    collection: str
    answerable: bool
    evidence: Numbers  # per result: fused score, lead of the first, 1
    relevant: Numbers  # per result: 1 when judged relevant
    plain: float  # the first result's confidence by the sigmoid over reciprocal ranks
    plain_relevant: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", default=SETS)
    arguments = parser.parse_args()
    names = arguments.sets.split(",")
    asked = ask_everything(arguments.data, names)
    print("| held out | ECE: fitted | plain | Brier: fitted | plain | AUC: fitted | plain |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        _print_held_out(name, asked)
    weights = fit(asked)
    print(f"\nFitted on all: score {weights[0]:.2f}, lead {weights[1]:.2f}, {weights[2]:.2f}")
    _print_thresholds([*asked, *ask_corpus()], weights)
    _print_reliability(asked, weights)


def ask_everything(data: Path, names: Sequence[str]) -> list[Asked]:
    """Asks every collection its own queries and those of the others."""
    rng = random.Random(SEED)  # noqa: S311  (the same queries every time)
    collections = {name: read_collection(data / name) for name in names}
    asked = []
    for name, collection in collections.items():
        own = _draw(rng, collection.answerable, OWN)
        others = [
            query
            for other, its in collections.items()
            if other != name
            for query in _draw(rng, its.answerable, OWN // max(1, len(names) - 1))
        ]
        with open_bench(Workspace(), collection) as bench:
            asked += [_ask(bench.engine, name, query, True) for query in own]
            asked += [_ask(bench.engine, name, query, False) for query in others]
    return asked


def ask_corpus() -> list[Asked]:
    """Asks the corpus its own queries, of which some have no answer."""
    collection = read_collection(CORPUS)
    with open_bench(Workspace(), collection) as bench:
        return [
            _ask(bench.engine, "the corpus", query, bool(query.relevant))
            for query in collection.queries
        ]


def _draw(rng: random.Random, queries: Sequence[JudgedQuery], count: int) -> list[JudgedQuery]:
    return rng.sample(list(queries), min(count, len(queries)))


def _ask(engine: Engine, name: str, query: JudgedQuery, answerable: bool) -> Asked:
    judged = query.relevant if answerable else {}
    found = engine.search(query.text, changes=RAW)
    plain = engine.search(query.text, changes=RANKS)
    first = plain.hits[0] if plain.hits else None
    return Asked(
        name,
        answerable,
        _evidence(found),
        np.array([float(judged.get(hit.document, 0) > 0) for hit in found.hits]),
        first.score if first else 0.0,
        float(first is not None and judged.get(first.document, 0) > 0),
    )


def _evidence(response: Response) -> Numbers:
    scores = [hit.trace.steps[-1].before for hit in response.hits]
    documents = [hit.document for hit in response.hits]
    others = [s for s, d in zip(scores, documents, strict=True) if d != documents[0]]
    lead = scores[0] - others[0] if others else 0.0
    leads = [lead if place == 0 else 0.0 for place in range(len(scores))]
    return np.column_stack([scores, leads, np.ones(len(scores))]).reshape(-1, 3)


def fit(asked: Sequence[Asked]) -> Numbers:
    """Logistic regression with a trace of ridge, by Newton's method."""
    evidence = np.concatenate([one.evidence[:FIRST] for one in asked])
    relevant = np.concatenate([one.relevant[:FIRST] for one in asked])
    weights = np.zeros(evidence.shape[1])
    for _ in range(60):
        sure = _sure(evidence, weights)
        slope = (evidence * (sure * (1 - sure))[:, None]).T @ evidence + 0.01 * np.eye(len(weights))
        weights += np.linalg.solve(slope, evidence.T @ (relevant - sure) - 0.01 * weights)
    return weights


def _sure(evidence: Numbers, weights: Numbers) -> Numbers:
    sure: Numbers = 1 / (1 + np.exp(-(evidence @ weights)))
    return sure


def calibration_error(sure: Numbers, relevant: Numbers) -> float:
    """The expected calibration error over ten bins of equal width."""
    bins = np.minimum((sure * 10).astype(int), 9)
    gaps = [
        (bins == n).mean() * abs(sure[bins == n].mean() - relevant[bins == n].mean())
        for n in set(bins.tolist())
    ]
    return float(sum(gaps))


def told_apart(answerable: Numbers, other: Numbers) -> float:
    """How often an answerable query has the higher confidence (area under the curve)."""
    higher = (answerable[:, None] > other[None]).mean()
    return float(higher + 0.5 * (answerable[:, None] == other[None]).mean())


def _print_held_out(name: str, asked: Sequence[Asked]) -> None:
    weights = fit([one for one in asked if one.collection != name])
    here = [one for one in asked if one.collection == name and len(one.evidence)]
    own = np.array([one.answerable for one in here])
    fitted = np.array([_sure(one.evidence[:1], weights)[0] for one in here])
    right = np.array([one.relevant[0] for one in here])
    plain = np.array([one.plain for one in here])
    plain_right = np.array([one.plain_relevant for one in here])
    figures = (
        calibration_error(fitted, right),
        calibration_error(plain, plain_right),
        ((fitted - right) ** 2).mean(),
        ((plain - plain_right) ** 2).mean(),
        told_apart(fitted[own], fitted[~own]),
        told_apart(plain[own], plain[~own]),
    )
    print(f"| {name} | " + " | ".join(f"{figure:.3f}" for figure in figures) + " |")


def _print_thresholds(asked: Sequence[Asked], weights: Numbers) -> None:
    """What it costs and brings to reject an answer when its best result is less sure than that."""
    names = list(dict.fromkeys(one.collection for one in asked))
    print("\nGood answers lost, unanswerable queries rejected:")
    print(f"\n| least | {' | '.join(names)} |")
    print("|---" * (len(names) + 1) + "|")
    for least in (0.02, 0.025, 0.03, 0.035, 0.05, 0.1, 0.2):
        cells = []
        for name in names:
            here = [one for one in asked if one.collection == name and len(one.evidence)]
            rejected = np.array([_sure(one.evidence[:1], weights)[0] < least for one in here])
            good = np.array([one.relevant[:SHOWN].any() for one in here])
            other = np.array([not one.answerable for one in here])
            cells.append(f"{rejected[good].mean():.1%}, {rejected[other].mean():.0%}")
        print(f"| {least:g} | {' | '.join(cells)} |")


def _print_reliability(asked: Sequence[Asked], weights: Numbers) -> None:
    sure = np.concatenate([_sure(one.evidence[:FIRST], weights) for one in asked])
    relevant = np.concatenate([one.relevant[:FIRST] for one in asked])
    print("\n| confidence | results | judged relevant |")
    print("|---|---|---|")
    for low in np.arange(0, 1, 0.1):
        within = (sure >= low) & (sure < low + 0.1)
        if within.any():
            print(
                f"| {low:.1f} to {low + 0.1:.1f} | {within.sum()} | {relevant[within].mean():.2f} |"
            )


if __name__ == "__main__":
    main()
