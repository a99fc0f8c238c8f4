"""Chooses the weights of fusion by leaving collections out, and shows what that gives.

    python benchmarks/fusion.py DATA --sets k8s-en,tldr --queries 300 --save chosen.json

Every strategy ranks once per query; then all ways of fusing are tried on what it found. For each
collection, the way that is best on the mean of the others is judged on it, so that no collection
judges settings that were chosen on it. With --save, the settings that were chosen for each
collection are kept for quality.py and exact.py.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from dowse._config.schema import change_search
from dowse._project.evaluation import compare, measure, open_bench, read_collection, sample
from dowse._project.workspace import Workspace
from dowse._search.request import SearchRequest

SETS = "dendron-vault,k8s-en,github-docs,k8s-zh,tldr"
NOT_CHOSEN_ON = "k8s-zh"  # words decide there, whatever the weights
FOUND = {"search.top_n": 10, "search.top_k": 50, "recency.bias": 0.0}
RANK_FUSION = {"fuse.method": "rrf", "fuse.semantic": 1.0, "gather.share": 0.0}
WEIGHTS, SHARES = (0.7, 1.0, 1.1, 1.2, 1.3, 1.4, 1.7, 2.0), (0.0, 0.25, 0.5, 0.75, 1.0)
WAYS: Mapping[str, Mapping[str, Any]] = {
    "RRF k = 60": RANK_FUSION,
    "as set": {},
    **{
        f"semantic {weight}, gather {share}": {"fuse.semantic": weight, "gather.share": share}
        for weight, share in product(WEIGHTS, SHARES)
    },
}
Figures = Mapping[str, Mapping[str, float]]
"""nDCG@10 by way and query."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", default=SETS, help="comma separated names of folders")
    parser.add_argument("--queries", type=int, default=0, help="ask so many per set; 0: all")
    parser.add_argument("--save", type=Path, help="keep what was chosen in this file")
    arguments = parser.parse_args()
    names = arguments.sets.split(",")
    if len(set(names) - {NOT_CHOSEN_ON}) < 2:
        raise SystemExit(f"Name two collections or more besides {NOT_CHOSEN_ON}.")
    measured = {name: _measure(arguments.data / name, arguments.queries) for name in names}
    chosen = {name: _best(measured, name) for name in names}
    print("| collection | RRF | chosen without it | nDCG@10 | difference, 95 % | p | as set |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        _print_row(name, measured[name], chosen[name])
    if arguments.save:
        arguments.save.write_text(json.dumps({name: WAYS[way] for name, way in chosen.items()}))


def _measure(folder: Path, queries: int) -> Figures:
    collection = read_collection(folder)
    collection = sample(collection, queries) if queries else collection
    with open_bench(Workspace(), collection) as bench:
        judged = collection.answerable
        found = {
            one.id: bench.engine.find(SearchRequest(one.text, changes=FOUND)) for one in judged
        }
        figures = {}
        for name, changes in WAYS.items():
            settings = change_search(bench.engine.settings, {**FOUND, **changes})
            figures[name] = {
                query.id: measure(
                    [document for document, _ in found[query.id].documents(settings)],
                    query.relevant,
                ).ndcg_10
                for query in judged
            }
        return figures


def _best(measured: Mapping[str, Figures], judged: str) -> str:
    """The way that is best on the mean of the other collections."""
    others = [name for name in measured if name not in {judged, NOT_CHOSEN_ON}]

    def mean(way: str) -> float:
        return float(np.mean([np.mean([*measured[name][way].values()]) for name in others]))

    return max((way for way in WAYS if way.startswith("semantic")), key=mean)


def _print_row(name: str, figures: Figures, chosen: str) -> None:
    told = compare(figures["RRF k = 60"], figures[chosen])
    as_set = np.mean([*figures["as set"].values()])
    print(
        f"| {name} | {told.first:.4f} | {chosen} | {told.second:.4f}"
        f" | {told.difference:+.4f} ({told.low:+.4f} to {told.high:+.4f}) | {told.p:.4f}"
        f" | {as_set:.4f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
