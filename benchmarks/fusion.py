"""Chooses the weights of fusion by leaving collections out, and shows what that gives.

    python benchmarks/fusion.py DATA --sets k8s-en,tldr --queries 300 --save chosen.json

Every strategy ranks once per query; then weights are tried on what it found, one after the other,
until none is better. For each collection, the weights that are best on the mean of the others are
judged on it, so that no collection judges what was chosen on it. The sets made by
training/collection.py take part where they are there; k8s-zh judges only. With --save, what was
chosen for each collection is kept for quality.py and exact.py. The last table says what each kind
of evidence is worth.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from dowse._config.schema import change_search
from dowse._project.evaluation import (
    JudgedQuery,
    compare,
    measure,
    open_bench,
    read_collection,
    sample,
)
from dowse._project.workspace import Workspace
from dowse._search.documents import best_of_each
from dowse._search.pipeline import QUERY_STAGES, RANK_STAGES, SearchSettings, run_stages
from dowse._search.request import SearchRequest
from dowse._search.state import SearchParts, SearchState

SETS = (
    "dendron-vault,k8s-en,github-docs,tldr,k8s-zh,"
    "ms-faq,laravel-docs,prometheus-docs,simonw-til,18F-handbook"
)
NOT_CHOSEN_ON = "k8s-zh"  # words decide there, whatever the weights
DEPTH = 10
FOUND: Mapping[str, Any] = {
    "search.top_n": DEPTH,
    "search.top_k": 50,
    "recency.bias": 0.0,
    "search.fresh": False,
}
RANK_FUSION = {"fuse.method": "rrf", "fuse.semantic": 1.0, "gather.share": 0.0}
TRIED: Mapping[str, Sequence[float]] = {
    "fuse.semantic": (1.0, 1.3, 1.6, 2.0, 2.4),
    "gather.share": (0.5, 0.75, 1.0),
    "fuse.title": (0.0, 0.1, 0.2, 0.3, 0.4),
    "fuse.path": (0.0, 0.1, 0.2, 0.3, 0.4, 0.6),
    "fuse.links": (0.0, 0.1, 0.2, 0.3, 0.4, 0.6),
}
ROUNDS = 2
BEFORE = (*QUERY_STAGES, *RANK_STAGES[: [one.name for one in RANK_STAGES].index("community")])
AFTERWARDS = tuple(one for one in RANK_STAGES if one.name in {"fuse", "gather"})
Way = tuple[tuple[str, Any], ...]
"""Changes to the settings."""


class Found:
    """What the strategies found for the queries of a collection."""

    def __init__(self, folder: Path, queries: int) -> None:
        collection = read_collection(folder)
        collection = sample(collection, queries) if queries else collection
        self._settings = SearchSettings()
        self._queries: list[tuple[JudgedQuery, SearchState]] = []
        with open_bench(Workspace(), collection) as bench, bench.engine.read() as reader:
            own = bench.engine.parts
            parts = SearchParts(own.analyzer, own.embedder, None, _no_words, (), time.time())
            settings = change_search(self._settings, FOUND)
            for query in collection.answerable:
                search = SearchState(SearchRequest(query.text), settings, reader, parts)
                run_stages(search, BEFORE, {})
                search.stored(search.found_keys())
                self._queries.append((query, search))
        self.ndcg = cache(self._ndcg)

    def mean(self, way: Way) -> float:
        """The mean nDCG@10 of all queries."""
        return float(np.mean([*self.ndcg(way).values()]))

    def _ndcg(self, way: Way) -> Mapping[str, float]:
        settings = change_search(self._settings, {**FOUND, **dict(way)})
        usual, weights = self._settings.fuse.weights, settings.fuse.weights
        figures = {}
        for query, found in self._queries:
            # A query in a script that the model cannot read has lowered the weight of vectors.
            factors = {name: found.weights[name] / usual[name] for name in usual}
            search = replace(
                found,
                settings=settings,
                weights={name: weight * factors[name] for name, weight in weights.items()},
                candidates=[],
            )
            run_stages(search, AFTERWARDS, {})
            ranked = [*best_of_each(search.candidates)][:DEPTH]
            figures[query.id] = measure(ranked, query.relevant).ndcg_10
        return figures


def _no_words(_: object) -> Any:
    raise AssertionError("no query is expanded here")


def best(others: Sequence[Found]) -> Way:
    """The weights that are best on the mean of some collections, changed one after the other."""
    chosen: dict[str, Any] = {}
    most = np.mean([one.mean(()) for one in others])
    for _ in range(ROUNDS):
        for name, values in TRIED.items():
            for value in values:
                way = tuple(sorted({**chosen, name: value}.items()))
                if (mean := np.mean([one.mean(way) for one in others])) > most + 1e-5:
                    most, chosen = mean, dict(way)
    return tuple(sorted(chosen.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", default=SETS, help="comma separated names of folders")
    parser.add_argument("--queries", type=int, default=0, help="ask so many per set; 0: all")
    parser.add_argument("--save", type=Path, help="keep what was chosen in this file")
    arguments = parser.parse_args()
    names = [name for name in arguments.sets.split(",") if (arguments.data / name).is_dir()]
    fitting = [name for name in names if name != NOT_CHOSEN_ON]
    if len(fitting) < 3:
        raise SystemExit(f"Name three collections or more besides {NOT_CHOSEN_ON}.")
    found = {name: Found(arguments.data / name, arguments.queries) for name in names}
    chosen = {name: best([found[other] for other in fitting if other != name]) for name in names}
    rank_fusion = tuple(sorted(RANK_FUSION.items()))
    print("| collection | RRF | chosen without it | nDCG@10 | difference, 95 % | p | as set |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        one = found[name]
        told = compare(one.ndcg(rank_fusion), one.ndcg(chosen[name]))
        way = ", ".join(f"{key.partition('.')[2]} {value:g}" for key, value in chosen[name])
        print(
            f"| {name} | {told.first:.4f} | {way} | {told.second:.4f}"
            f" | {told.difference:+.4f} ({told.low:+.4f} to {told.high:+.4f}) | {told.p:.4f}"
            f" | {one.mean(()):.4f} |",
            flush=True,
        )
    print(f"\n| without | {' | '.join(names)} | mean |\n|---{'|---' * (len(names) + 1)}|")
    worth: dict[str, Way] = {
        "nothing": (),
        **{name.partition(".")[2]: ((name, 0.0),) for name in TRIED},
        "title, path and links": (("fuse.links", 0.0), ("fuse.path", 0.0), ("fuse.title", 0.0)),
    }
    for without, changes in worth.items():
        means = [found[one].mean(changes) for one in names]
        row = " | ".join(f"{mean:.4f}" for mean in means)
        print(f"| {without} | {row} | {np.mean(means):.4f} |", flush=True)
    if arguments.save:
        arguments.save.write_text(json.dumps({name: dict(way) for name, way in chosen.items()}))


if __name__ == "__main__":
    main()
