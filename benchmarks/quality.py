"""How well dowse ranks judged collections, as Markdown tables.

    python benchmarks/quality.py DATA --sets k8s-en,tldr --queries 300 --chosen chosen.json

DATA holds one folder per collection (docs/, queries.jsonl, qrels.tsv). Indexes are kept in dowse's
cache, so that a second run only searches. The file of --chosen is made by fusion.py: it has the
settings that were chosen for each collection on the others, and only they are evidence. The row
"as set" is not, because the defaults were chosen with all collections in view.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from dowse._project.evaluation import (
    Bench,
    Collection,
    Difference,
    Run,
    compare,
    measure_queries,
    open_bench,
    read_collection,
    report,
    sample,
)
from dowse._project.workspace import Workspace

SETS = "dendron-vault,k8s-en,github-docs,k8s-zh,tldr"
RANK_FUSION: Mapping[str, Any] = {
    "fuse.method": "rrf",
    "fuse.rrf_k": 60.0,
    "fuse.semantic": 1.0,
    "gather.share": 0.0,
    "readable.enabled": False,
}
BASELINE, WITHOUT_IT, AS_SET = "RRF k = 60", "**dowse, chosen without it**", "dowse, as set"
NOT_IN_THE_MEAN = "k8s-zh"  # words decide there; the mean with it is shown next to the other


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", default=SETS, help="comma separated names of folders")
    parser.add_argument("--queries", type=int, default=0, help="ask so many per set; 0: all")
    parser.add_argument("--no-rerank", action="store_true", help="leave out what takes longest")
    parser.add_argument("--chosen", type=Path, help="settings chosen without each collection")
    arguments = parser.parse_args()
    chosen = json.loads(arguments.chosen.read_text()) if arguments.chosen else {}
    print("| collection | | nDCG@10 | MRR | recall@100 | p50 | difference of nDCG@10, 95 % | p |")
    print("|---|---|---|---|---|---|---|---|")
    gains = {
        name: _one_set(
            _collection(arguments.data / name, arguments.queries),
            _ways(chosen.get(name), rerank=not arguments.no_rerank),
        )
        for name in arguments.sets.split(",")
    }
    judged = WITHOUT_IT.strip("*") if chosen else f"{AS_SET}, which is no evidence"
    print(f"\nMean relative gain over {BASELINE} ({judged}): {_mean(gains.values()):+.1%}")
    if others := [gain for name, gain in gains.items() if name != NOT_IN_THE_MEAN]:
        print(f"Without {NOT_IN_THE_MEAN}: {_mean(others):+.1%}")


def _ways(
    chosen: Mapping[str, Any] | None, *, rerank: bool
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The ways of searching, the one that the others are compared with first."""
    yield BASELINE, RANK_FUSION
    yield "keyword alone", {"search.mode": "keyword"}
    yield "semantic alone", {"search.mode": "semantic"}
    if chosen is not None:
        yield WITHOUT_IT, chosen
    yield AS_SET, {}
    if rerank:
        yield "dowse, as set, built-in reranker", {"rerank.enabled": True}


def _mean(values: Iterable[float]) -> float:
    every = list(values)
    return sum(every) / len(every)


def _collection(folder: Path, queries: int) -> Collection:
    collection = read_collection(folder)
    return sample(collection, queries) if queries else collection


def _one_set(collection: Collection, ways: Iterable[tuple[str, Mapping[str, Any]]]) -> float:
    """Prints a row for each way; the relative gain of dowse over the first."""
    with open_bench(Workspace(), collection) as bench:
        baseline: dict[str, float] = {}
        gains: dict[str, float] = {}
        for name, changes in ways:
            run = bench.run(name, {"threshold.min_confidence": 0.0, **changes})
            by_query = _ndcg(bench, run)
            baseline = baseline or by_query
            against = compare(baseline, by_query)
            gains[name] = against.relative or 0.0
            _print_row(bench, run, against)
    return gains.get(WITHOUT_IT, gains[AS_SET])


def _ndcg(bench: Bench, run: Run) -> dict[str, float]:
    measured = measure_queries(run, bench.collection.answerable)
    return {query: one.ndcg_10 for query, one in measured.items()}


def _print_row(bench: Bench, run: Run, against: Difference) -> None:
    told_of = report(bench.collection, run)
    figures, time = told_of.measures, told_of.latency
    if figures is None or time is None:
        raise SystemExit(f"{bench.collection.name} has no judged queries.")
    interval = f"({against.low:+.4f} to {against.high:+.4f})"
    told = "" if run.name == BASELINE else f"{against.difference:+.4f} {interval} | {against.p:.4f}"
    print(
        f"| {bench.collection.name} | {run.name} | {figures.ndcg_10:.4f} | {figures.mrr:.4f}"
        f" | {figures.recall_100:.4f} | {time.p50 * 1000:.0f} ms | {told or ' | '} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
