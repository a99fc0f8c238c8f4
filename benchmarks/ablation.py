"""Ablation: what each stage and strategy is worth on judged collections, as Markdown tables.

    python benchmarks/ablation.py FOLDER/k8s-en --queries 60 --set fuse.keyword=2

A folder holds docs/, queries.jsonl and qrels.tsv. Every stage and strategy is switched the other
way, one at a time; the last rows return a few results only, chosen in several ways. Each row
changes one thing; change and p are of nDCG@10 against the first row. With so many rows, one of
twenty has p < .05 by chance alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from dowse._config.schema import MANY_WORDS, assigned, change_search, is_of_a_search
from dowse._project.engine import takes_vectors
from dowse._project.evaluation import (
    Bench,
    Collection,
    Run,
    compare,
    mean,
    measure_queries,
    open_bench,
    read_collection,
    sample,
)
from dowse._project.workspace import Workspace
from dowse._search.pipeline import SEARCH_FLOW, SearchSettings
from dowse._search.strategies import STRATEGIES

BASELINE = "as set"
"""The variant that the others are compared with: the settings as they hold."""

_FUSION: Mapping[str, Mapping[str, Any]] = {
    "fuse: ceiling": {"fuse.method": "convex", "fuse.normalise": "ceiling"},
    "fuse: min-max": {"fuse.method": "convex", "fuse.normalise": "minmax"},
    "fuse: RRF k = 60": {"fuse.method": "rrf", "fuse.rrf_k": 60.0},
}
# Choosing results that differ shows only where few are chosen.
_FEW: Mapping[str, Mapping[str, Any]] = {
    "10 documents": {"diversity.max_chunks_per_doc": 0, "documents.passages": False},
    "10 documents, MMR": {"diversity.mmr": True, "documents.passages": False},
    "10 passages": {"diversity.max_chunks_per_doc": 0, "documents.passages": True},
    "10 passages, 2 per doc": {"diversity.max_chunks_per_doc": 2, "documents.passages": True},
    "10 passages, MMR": {"diversity.mmr": True, "documents.passages": True},
}


class Variant(Struct, frozen=True):
    """A way of searching that differs from another in one point."""

    name: str
    changes: Mapping[str, Any]  # to the settings, by their full names
    needs_vectors: bool = False  # without vectors it would do nothing


class AblationRow(Struct, frozen=True):
    """What one variant measured, compared with the settings as they hold."""

    variant: str  # what is different
    changes: Mapping[str, Any]  # the settings that make the difference
    ndcg_10: float
    mrr: float
    recall_100: float
    p50: float  # seconds that half of the searches took at most
    difference: float  # of nDCG@10 to the settings as they hold
    p: float  # how often chance alone gives as large a difference, either way
    notices: tuple[str, ...]  # what the variant could not do


def ablations(settings: SearchSettings, *, by_meaning: bool = True) -> tuple[Variant, ...]:
    """List the settings as they hold, then every stage and strategy switched the other way alone.

    The last variants return a few results only, chosen in several ways: only there choosing makes
    a difference. Without vectors, what needs them is left out.
    """
    on, off = {"enabled": True}, {"enabled": False}
    variants = [
        _switched(
            one.name, off, on, one.uses == "vectors", is_on=getattr(settings, one.name).enabled
        )
        for one in STRATEGIES
        if one.optional
    ]
    variants += [
        _switched(one.name, one.off, one.on, one.needs_vectors, is_on=one.is_on(settings))
        for one in SEARCH_FLOW
        if one.off and one.ablated
    ]
    variants += [Variant(name, changes) for name, changes in _FUSION.items()]
    variants += [
        Variant(f"{one.name} alone", {"search.mode": one.name}, one.uses == "vectors")
        for one in STRATEGIES
        if one.alone
    ]
    # A stage that is off and has no usual setting changes nothing.
    variants = [
        one
        for one in variants
        if any(settings.value(name) != value for name, value in one.changes.items())
    ]
    variants += [
        Variant(
            name, {"diversity.mmr": False, **chosen, "search.top_n": 10}, "diversity.mmr" in chosen
        )
        for name, chosen in _FEW.items()
    ]
    usable = [one for one in variants if by_meaning or not one.needs_vectors]
    return (Variant(BASELINE, {}), *usable)


def _switched(
    name: str, off: Mapping[str, Any], on: Mapping[str, Any], needs_vectors: bool, *, is_on: bool
) -> Variant:
    """Make the variant in which a strategy or a stage is switched the other way."""
    changes = {f"{name}.{option}": value for option, value in (off if is_on else on).items()}
    way = "without" if is_on else "with"
    return Variant(f"{way} {name.replace('_', ' ')}", changes, needs_vectors and not is_on)


def ablate(
    collection: Collection, variants: Sequence[Variant], run: Callable[[Variant], Run]
) -> tuple[AblationRow, ...]:
    """Run every variant, and compare each with the first."""
    rows: list[AblationRow] = []
    baseline: dict[str, float] = {}
    for variant in variants:
        found = run(variant)
        measured = measure_queries(found, collection.answerable)
        average = mean(measured.values())
        if average is None:
            break
        by_query = {query: one.ndcg_10 for query, one in measured.items()}
        baseline = baseline or by_query
        against = compare(baseline, by_query)
        rows.append(
            AblationRow(
                variant.name,
                variant.changes,
                average.ndcg_10,
                average.mrr,
                average.recall_100,
                float(np.median(list(found.seconds.values()))),
                against.difference,
                against.p,
                found.notices,
            )
        )
    return tuple(rows)


def variants_of(bench: Bench, changes: Mapping[str, Any]) -> tuple[Variant, ...]:
    """List the variants of the settings that hold for a collection."""
    stamp = bench.engine.built_with()
    settings = change_search(bench.engine.settings, changes)
    return ablations(settings, by_meaning=stamp is not None and takes_vectors(stamp))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", type=Path, nargs="+", help="folders of judged collections")
    parser.add_argument("--queries", type=int, default=0, help="ask so many per set; 0: all")
    parser.add_argument("--set", action="append", default=[], help="a setting: fuse.keyword=2")
    arguments = parser.parse_args()
    changes = dict(assigned(text) for text in arguments.set)
    for folder in arguments.sets:
        whole = read_collection(folder)
        _one_set(sample(whole, arguments.queries) if arguments.queries else whole, changes)


def _one_set(collection: Collection, changes: Mapping[str, Any]) -> None:
    print(f"\n| {collection.name} | nDCG@10 | MRR | R@100 | p50 | change | p |")
    print("|---|---|---|---|---|---|---|")
    # One of the variants expands queries, which needs vectors of words.
    overrides = {"vocabulary.size": MANY_WORDS, **changes}
    of_searches = {name: value for name, value in changes.items() if is_of_a_search(name)}
    with open_bench(Workspace(), collection, overrides) as bench:
        rows = ablate(
            collection,
            variants_of(bench, of_searches),
            lambda one: bench.run(one.name, {**of_searches, **one.changes}),
        )
        for notice in dict.fromkeys(bench.notices):
            print(notice)
    for row in rows:
        print(
            f"| {row.variant} | {row.ndcg_10:.3f} | {row.mrr:.3f} | {row.recall_100:.3f}"
            f" | {1000 * row.p50:.0f} ms | {row.difference:+.3f} | {row.p:.3f} |"
        )
        for notice in row.notices:
            print(f"| {notice} |")


if __name__ == "__main__":
    main()
