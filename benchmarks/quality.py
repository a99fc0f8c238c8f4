"""How well dowse ranks judged collections, as Markdown tables.

    python benchmarks/quality.py DATA --sets k8s-en,tldr --queries 300

DATA holds one folder per collection (docs/, queries.jsonl, qrels.tsv). Indexes are kept in dowse's
cache, so that a second run only searches.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dowse.evaluate import (
    Bench,
    Collection,
    Run,
    compare,
    measure_queries,
    open_bench,
    read_collection,
    report,
    sample,
)
from dowse.projects.workspace import Workspace

SETS = "dendron-vault,k8s-en,github-docs,k8s-zh,tldr"
RANK_FUSION: Mapping[str, Any] = {
    "fuse.method": "rrf",
    "fuse.rrf_k": 60.0,
    "fuse.semantic": 1.0,
    "gather.share": 0.0,
    "readable.enabled": False,
}
WAYS: Mapping[str, Mapping[str, Any]] = {
    "RRF k = 60": RANK_FUSION,
    "keyword alone": {"search.mode": "keyword"},
    "semantic alone": {"search.mode": "semantic"},
    "**dowse**": {},
    "dowse, built-in reranker": {"rerank.enabled": True},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", default=SETS, help="comma separated names of folders")
    parser.add_argument("--queries", type=int, default=0, help="ask so many per set; 0: all")
    parser.add_argument("--no-rerank", action="store_true", help="leave out what takes longest")
    arguments = parser.parse_args()
    rerank = not arguments.no_rerank
    ways = {name: how for name, how in WAYS.items() if "rerank" not in name or rerank}
    print("| collection | | nDCG@10 | MRR | recall@100 | p50 | difference of nDCG@10 | p |")
    print("|---|---|---|---|---|---|---|---|")
    gains = [
        _one_set(_collection(arguments.data / name, arguments.queries), ways)
        for name in arguments.sets.split(",")
    ]
    print(f"\nMean relative gain over RRF k = 60: {sum(gains) / len(gains):+.1%}")


def _collection(folder: Path, queries: int) -> Collection:
    collection = read_collection(folder)
    return sample(collection, queries) if queries else collection


def _one_set(collection: Collection, ways: Mapping[str, Mapping[str, Any]]) -> float:
    with open_bench(Workspace(), collection) as bench:
        baseline: dict[str, float] = {}
        gain = 0.0
        for name, changes in ways.items():
            run = bench.run(name, {"threshold.min_confidence": 0.0, **changes})
            by_query = _ndcg(bench, run)
            baseline = baseline or by_query
            against = compare(baseline, by_query)
            gain = (against.relative or 0.0) if name == "**dowse**" else gain
            _print_row(bench, run, against.difference, against.p)
    return gain


def _ndcg(bench: Bench, run: Run) -> dict[str, float]:
    measured = measure_queries(run, bench.collection.answerable)
    return {query: one.ndcg_10 for query, one in measured.items()}


def _print_row(bench: Bench, run: Run, difference: float, p: float) -> None:
    told_of = report(bench.collection, run)
    figures, time = told_of.measures, told_of.latency
    if figures is None or time is None:
        raise SystemExit(f"{bench.collection.name} has no judged queries.")
    told = "" if run.name == "RRF k = 60" else f"{difference:+.4f} | {p:.4f}"
    print(
        f"| {bench.collection.name} | {run.name} | {figures.ndcg_10:.4f} | {figures.mrr:.4f}"
        f" | {figures.recall_100:.4f} | {time.p50 * 1000:.0f} ms | {told or ' | '} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
