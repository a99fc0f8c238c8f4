"""Fits the confidence on judged collections, and shows how far it can be trusted.

    python benchmarks/confidence.py DATA --sets k8s-en,tldr --queries 200

Every collection, and small vaults that are parts of it, is asked its own queries and queries
without an answer: those of other collections, its own after their answers were taken out, and
nonsense. Each collection is judged with fits on the others: of the confidence, and of whether there
is a good match at all. The column "nearest" judges the second alone. The last lines are the fits on
all of them, which dowse ships, after what strong, possible, weak and a confidence mean by them. The
corpus that ships with dowse, and the sets after --judged, have no part in any fit. The set ms-faq
and those are made by training/collection.py; sets that are not there are left out.
"""

from __future__ import annotations

import argparse
import math
import random
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from dowse._config.schema import change_search
from dowse._model import Condition, Hit, Matrix, Response
from dowse._model.ports import IndexReader
from dowse._project.engine import Engine
from dowse._project.evaluation import (
    SEED,
    Collection,
    JudgedQuery,
    open_bench,
    read_collection,
    sample,
)
from dowse._project.workspace import Workspace
from dowse._search.confidence import ALONE, label_of
from dowse._search.pipeline import run_search
from dowse._search.request import SearchRequest
from dowse._search.state import SearchParts, SearchState

SETS = "dendron-vault,k8s-en,github-docs,tldr,ms-faq"
JUDGED = "laravel-docs,prometheus-docs,simonw-til,18F-handbook"
CORPUS = Path(__file__).parent / "corpus"
MODES = ("hybrid", "keyword", "semantic")
SIZES = (20, 60, 200)  # documents of small vaults
FOREIGN, NONSENSE = 210, 120  # queries of other collections; made-up queries
FIRST = 5  # documents of each query that are fitted on
FAR = {"hybrid": -1.6, "semantic": -1.6, "keyword": -2.6}  # log odds below which nothing is near
ODDS = (-0.5, 0.0, 0.5)  # others, compared with these
BOUNDS = (-2.0, 3.0)  # of what they are above that, as evidence for a result
COMPLETE = ("exact", "all ", "both ", "word found")  # reasons that speak against that
NOTHING = (0.0, 0.0, 0.0, 0.0, 1.0)  # the evidence of a query that finds nothing; it is far
WEIGHTS = {"own": 2.0, "foreign": 1.0, "nonsense": 0.5, "removed": 0.5}  # of a kind of query
RAW = {
    "search.fresh": False,
    "threshold.min_confidence": 0.0,
    "recency.bias": 0.0,
    "search.top_n": 10,
    "search.top_k": 50,
}
BINS = (0, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1)  # of the confidence, for its reliability
KEYS = "asdfghjklqwertyuiopzxcvbnm"
WORDS = (
    *("apple", "river", "castle", "purple", "dancing", "umbrella", "violin", "marmalade"),
    *("glacier", "pelican", "velvet", "harvest", "lantern", "sailor", "pepper", "comet"),
    *("trumpet", "blanket", "cinnamon", "otter", "ballet", "pudding", "orchard", "whale"),
)
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Asked:
    """What one query found: evidence and relevance of each document, best first."""

    collection: str
    kind: str
    evidence: Numbers  # fused score, lead, first, behind, named, chunks, 1
    relevant: Numbers
    near: Numbers  # what says how near the query is: dowse/_search/confidence.py
    complete: bool  # one of the first results has the query as its name, or all its words


@dataclass(frozen=True)
class Fitted:
    """Weights fitted on some collections."""

    near: Numbers  # whether a query has a good match
    right: Numbers  # whether a result is relevant: evidence, near within bounds

    def odds(self, one: Asked) -> float:
        """How near a query is to what was found; below 0 is far."""
        return float(one.near @ self.near) if len(one.relevant) else -math.inf

    def sure(self, one: Asked) -> Numbers:
        """The confidence of each result."""
        return _sure(_bounded(one, self.near), self.right)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--judged", default=JUDGED, help="sets that are judged and not fitted on")
    parser.add_argument("--queries", type=int, default=0, help="own queries per set; 0: all")
    arguments = parser.parse_args()
    names, judged = (_there(arguments.data, one) for one in (arguments.sets, arguments.judged))
    whole = {name: read_collection(arguments.data / name) for name in (*names, *judged)}
    if arguments.queries:
        whole = {name: sample(one, arguments.queries) for name, one in whole.items()}
    with tempfile.TemporaryDirectory() as folder:
        for mode in MODES:
            answers = _ask_all(whole, names, Path(folder), mode)
            print(f"\n### {mode}\n", flush=True)
            _print_tables(answers, names, FAR[mode])


def _there(data: Path, sets: str) -> list[str]:
    """Those of some sets that are there; says which are not."""
    names = [name for name in sets.split(",") if name]
    if missing := [name for name in names if not (data / name).is_dir()]:
        print(f"Not in {data}, and left out: {', '.join(missing)}")
    return [name for name in names if name not in missing]


def _ask_all(
    whole: dict[str, Collection], fitted: Sequence[str], folder: Path, mode: str
) -> list[Asked]:
    """Asks all collections, small vaults of those that are fitted on, and the corpus."""
    asked = []
    for name, collection in whole.items():
        rng = random.Random(f"{SEED} {name}")  # noqa: S311  (the same queries every time)
        others = [one for other, one in whole.items() if other != name]
        asked += _ask(collection, name, others, rng, mode)
        for size in SIZES if name in fitted else ():
            vault = _small_vault(collection, size, folder / f"{name}-{size}", rng)
            asked += _ask(vault, f"small: {name}", others, rng, mode)
    rng = random.Random(SEED)  # noqa: S311  (as above)
    return asked + _ask(read_collection(CORPUS), "the corpus", list(whole.values()), rng, mode)


def _small_vault(whole: Collection, size: int, folder: Path, rng: random.Random) -> Collection:
    """Documents that answer some queries, with others at random."""
    source = whole.documents or folder
    every = sorted(str(path.relative_to(source)) for path in source.rglob("*.md"))
    chosen: set[str] = set()
    for query in rng.sample(whole.answerable, len(whole.answerable)):
        if len(chosen) < 0.6 * size:
            chosen |= set(query.relevant) & set(every)
    rest = [one for one in every if one not in chosen]
    chosen |= set(rng.sample(rest, min(len(rest), max(0, size - len(chosen)))))
    for one in chosen:
        (folder / one).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / one, folder / one)
    asked = tuple(query for query in whole.answerable if set(query.relevant) <= chosen)
    return replace(whole, documents=folder, queries=asked)


def _ask(
    collection: Collection, name: str, others: Sequence[Collection], rng: random.Random, mode: str
) -> list[Asked]:
    share = FOREIGN // len(others)
    foreign = [
        query
        for other in others
        for query in rng.sample(other.answerable, min(share, len(other.answerable)))
    ]
    asked = [("own" if query.relevant else "foreign", query) for query in collection.queries]
    asked += [("foreign", replace(query, relevant={})) for query in foreign]
    made_up = min(NONSENSE, 2 * len(foreign))  # fewer in a run with fewer queries
    asked += [("nonsense", JudgedQuery(text, text, "", {})) for text in _nonsense(rng, made_up)]
    asked += [("removed", query) for query in collection.answerable]
    with open_bench(Workspace(), collection) as bench:
        return [_found(bench.engine, name, kind, query, mode) for kind, query in asked]


def _nonsense(rng: random.Random, count: int) -> Iterator[str]:
    """Keys at random, words at random, and absurd questions."""
    for number in range(count):
        one, two, three = rng.sample(WORDS, 3)
        keys = ("".join(rng.choices(KEYS, k=rng.randint(3, 8))) for _ in range(rng.randint(1, 4)))
        yield (
            " ".join(keys),
            " ".join(rng.sample(WORDS, rng.randint(2, 6))),
            f"how do I teach my {one} to {two} a {three}",
            f"is it legal to keep a {one} in a {two}",
        )[number % 4]


def _found(engine: Engine, name: str, kind: str, query: JudgedQuery, mode: str) -> Asked:
    gone = tuple(query.relevant) if kind == "removed" else ()
    judged = {} if kind == "removed" else query.relevant
    search, response = _searched(engine, query.text, mode, gone)
    hits = sorted(response.hits, key=_fused, reverse=True)
    near = np.array(search.domain.evidence if search.domain else NOTHING)
    relevant = np.array([float(judged.get(hit.document, 0) > 0) for hit in hits[:FIRST]])
    complete = any(hit.reason.startswith(COMPLETE) for hit in hits[:FIRST])
    size = math.log10(max(1, search.reader.keyword.size))
    return Asked(name, kind, _evidence(hits, size), relevant, near, complete)


def _searched(
    engine: Engine, query: str, mode: str, gone: tuple[str, ...]
) -> tuple[SearchState, Response]:
    """A search with all that it knew."""
    demanded = (Condition("under", gone, negated=True),) if gone else ()
    settings = change_search(engine.settings, RAW | {"search.mode": mode})
    with engine.read() as reading:
        analyzer, embedder = engine.parts.analyzer, engine.parts.embedder
        parts = SearchParts(analyzer, embedder, None, _no_words, (), time.time())
        search = SearchState(SearchRequest(query), settings, reading, parts, conditions=demanded)
        return search, run_search(search)


def _no_words(_: IndexReader) -> tuple[Sequence[str], Matrix]:
    raise AssertionError("no query is expanded here")


def _fused(hit: Hit) -> float:
    return next(step.before for step in hit.trace.steps if step.stage == "calibrate")


def _evidence(hits: Sequence[Hit], chunks: float) -> Numbers:
    scores = list(map(_fused, hits))
    lead = scores[0] - scores[1] if len(scores) > 1 else ALONE
    rows = [
        (
            scores[place],
            0.0 if place else lead,
            float(not place),
            scores[0] - scores[place],
            float(any(step.stage == "exact" for step in hit.trace.steps)),
            chunks,
            1.0,
        )
        for place, hit in enumerate(hits[:FIRST])
    ]
    return np.array(rows).reshape(-1, 7)


def fit(asked: Sequence[Asked], far: float) -> Fitted:
    """Whether a query has a good match, then whether a result is relevant."""
    near = fit_nearness(asked)
    near[-1] -= far
    right = _logistic(
        np.concatenate([_bounded(one, near) for one in asked]),
        np.concatenate([one.relevant for one in asked]),
        np.repeat(_weights(asked), [len(one.relevant) for one in asked]),
    )
    return Fitted(near, right)


def fit_nearness(asked: Sequence[Asked]) -> Numbers:
    """Whether a query has a good match: good answers against foreign queries and nonsense."""
    found = [one for one in asked if len(one.relevant)]
    known = [one for one in found if one.kind in {"foreign", "nonsense"} or one.relevant.any()]
    good = np.array([float(one.kind == "own") for one in known])
    return _logistic(np.array([one.near for one in known]), good, _weights(known))


def _bounded(one: Asked, near: Numbers) -> Numbers:
    """The evidence of each result, and how near the query is, within bounds."""
    odds = np.full((len(one.evidence), 1), np.clip(one.near @ near, *BOUNDS))
    return np.hstack([one.evidence, odds])


def _weights(asked: Sequence[Asked]) -> Numbers:
    groups: dict[tuple[str, str], int] = {}
    for one in asked:
        groups[one.collection, one.kind] = groups.get((one.collection, one.kind), 0) + 1
    return np.array([1000 * WEIGHTS[o.kind] / groups[o.collection, o.kind] for o in asked])


def _logistic(evidence: Numbers, right: Numbers, counts: Numbers) -> Numbers:
    """Logistic regression with a trace of ridge, by Newton's method."""
    weights = np.zeros(evidence.shape[1])
    for _ in range(60):
        sure = _sure(evidence, weights)
        slope = (evidence * (counts * sure * (1 - sure))[:, None]).T @ evidence
        step = evidence.T @ (counts * (right - sure)) - 0.01 * weights
        weights += np.linalg.solve(slope + 0.01 * np.eye(len(weights)), step)
    return weights


def _sure(evidence: Numbers, weights: Numbers) -> Numbers:
    sure: Numbers = 1 / (1 + np.exp(-np.clip(evidence @ weights, -30, 30)))
    return sure


def _print_tables(asked: Sequence[Asked], names: Sequence[str], far: float) -> None:
    fitted_on = [one for one in asked if one.collection.removeprefix("small: ") in names]
    head = "".join(f" {far + odds:g}: lost, foreign, nonsense, removed |" for odds in ODDS)
    print(f"| judged on | AUROC: foreign and nonsense | removed | ECE | nearest |{head}")
    print("|---" * (5 + len(ODDS)) + "|")
    for judged in dict.fromkeys(one.collection for one in asked):
        base = judged.removeprefix("small: ")
        others = [one for one in fitted_on if one.collection.removeprefix("small: ") != base]
        here = [one for one in asked if one.collection == judged]
        print(_row(judged, here, fit(others or fitted_on, far)), flush=True)
    fitted = fit(fitted_on, far)
    _print_words(fitted_on, fitted)
    _print_reliability(fitted_on, fitted)
    print(f"\nFitted on {', '.join(names)}: {np.round(fitted.right, 2).tolist()}")
    print(f"Good match: {np.round(fitted.near, 2).tolist()}")


def _print_words(asked: Sequence[Asked], fitted: Fitted) -> None:
    """What the words mean: how often the first result with such a word is right."""
    found = [one for one in asked if len(one.relevant)]
    words = [label_of(float(fitted.sure(one)[0])) for one in found]
    own = [(w, one.relevant[0]) for w, one in zip(words, found, strict=True) if one.kind == "own"]
    kinds = ("foreign", "nonsense")
    rest = [word for word, one in zip(words, found, strict=True) if one.kind in kinds]
    print("\n| word | of the answerable queries | right | of foreign queries and nonsense |")
    print("|---" * 4 + "|")
    for word in ("strong", "possible", "weak"):
        right = np.array([good for said, good in own if said == word])
        shares = f"{len(right) / len(own):.0%} | {_mean(right):.0%}"
        print(f"| {word} | {shares} | {rest.count(word) / max(1, len(rest)):.0%} |")


def _print_reliability(asked: Sequence[Asked], fitted: Fitted) -> None:
    """How often results with such a confidence are relevant."""
    sure = np.concatenate([fitted.sure(one) for one in asked])
    right = np.concatenate([one.relevant for one in asked])
    own = np.repeat([one.kind == "own" for one in asked], [len(one.relevant) for one in asked])
    print("\n| confidence | results | relevant, of all | relevant, of answerable queries |")
    print("|---" * 4 + "|")
    for low, high in pairwise(BINS):
        here = (sure >= low) & ((sure < high) | (high == 1))
        shares = f"{_mean(right[here]):.2f} | {_mean(right[here & own]):.2f}"
        print(f"| {low:g} to {high:g} | {here.sum()} | {shares} |")


def _mean(numbers: Numbers) -> float:
    return float(numbers.mean()) if len(numbers) else math.nan


def _row(name: str, here: Sequence[Asked], fitted: Fitted) -> str:
    best = np.array([fitted.sure(one).max(initial=0.0) for one in here])
    kinds = np.array([one.kind for one in here])
    good = np.array([bool(one.relevant.any()) for one in here])
    apart = told_apart(best[kinds == "own"], best[np.isin(kinds, ["foreign", "nonsense"])])
    removed = told_apart(best[kinds == "own"], best[kinds == "removed"])
    near = np.array([fitted.odds(one) for one in here])
    nearest = told_apart(near[kinds == "own"], near[np.isin(kinds, ["foreign", "nonsense"])])
    odds = np.where([one.complete for one in here], np.inf, near)
    cells = []
    for least in ODDS:
        shares = [(odds[kinds == k] < least).mean() for k in ("foreign", "nonsense", "removed")]
        cells.append(f"{(odds[good] < least).mean():.1%}, " + ", ".join(f"{s:.0%}" for s in shares))
    error = calibration_error(here, fitted)
    figures = f"{apart:.3f} | {removed:.3f} | {error:.3f} | {nearest:.3f}"
    return f"| {name} | {figures} | {' | '.join(cells)} |"


def calibration_error(here: Sequence[Asked], fitted: Fitted) -> float:
    """The expected calibration error of the first result over ten bins, kinds weighted."""
    found = [one for one in here if len(one.relevant)]
    kinds = [one.kind for one in found]
    share = np.array([WEIGHTS[kind] / kinds.count(kind) for kind in kinds])
    sure = np.array([fitted.sure(one)[0] for one in found])
    gap = share / share.sum() * (sure - np.array([one.relevant[0] for one in found]))
    bins = np.minimum((sure * 10).astype(int), 9)
    return float(sum(abs(gap[bins == n].sum()) for n in range(10)))


def told_apart(answerable: Numbers, other: Numbers) -> float:
    """How often an answerable query has the higher confidence (area under the curve)."""
    higher = (answerable[:, None] > other[None]).mean()
    return float(higher + 0.5 * (answerable[:, None] == other[None]).mean())


if __name__ == "__main__":
    main()
