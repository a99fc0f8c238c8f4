"""What each stage and strategy is worth: all of them switched the other way, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from dowse.evaluate.compare import compare
from dowse.evaluate.measures import Measures, mean, measure_queries
from dowse.evaluate.records import Collection, Run
from dowse.evaluate.report import latency
from dowse.flow import Recipe

BASELINE = "as set"
"""The variant that the others are compared with: the settings as they hold."""

_SWITCHES = {
    "classify": "classify.enabled",
    "expand": "expand.enabled",
    "code": "code.enabled",
    "graph": "graph.enabled",
    "readable": "readable.enabled",
    "community": "community.enabled",
    "dynamic weights": "dynamic_weights.enabled",
    "exact dedup": "exact_dedup.enabled",
    "near dedup": "near_dedup.enabled",
    "semantic dedup": "semantic_dedup.enabled",
    "rerank": "rerank.enabled",
}
_NEED_VECTORS = {"expand.enabled", "semantic_dedup.enabled", "diversity.mmr", "rerank.enabled"}
_GATHER = 0.5  # the share that it is switched on with

_ALTERNATIVES: Mapping[str, Mapping[str, Any]] = {
    "fuse: ceiling": {"fuse.method": "convex", "fuse.normalise": "ceiling"},
    "fuse: min-max": {"fuse.method": "convex", "fuse.normalise": "minmax"},
    "fuse: RRF k = 60": {"fuse.method": "rrf", "fuse.rrf_k": 60.0},
    "keyword alone": {"search.mode": "keyword"},
    "semantic alone": {"search.mode": "semantic"},
    "code alone": {"search.mode": "code"},
}
# Choosing passages that differ shows only where few are chosen.
_FEW: Mapping[str, Mapping[str, Any]] = {
    "10 passages": {"diversity.mmr": False, "diversity.max_chunks_per_doc": 0},
    "10 passages, 1 per doc": {"diversity.mmr": False, "diversity.max_chunks_per_doc": 1},
    "10 passages, 2 per doc": {"diversity.mmr": False, "diversity.max_chunks_per_doc": 2},
    "10 passages, MMR": {"diversity.mmr": True},
}


@dataclass(frozen=True, slots=True)
class Variant:
    """A way of searching that differs from another in one point."""

    name: str
    changes: Mapping[str, Any]  # to the settings, by their full names


@dataclass(frozen=True, slots=True)
class AblationRow:
    """What one variant came to, beside the settings as they hold."""

    variant: Annotated[str, "What is different."]
    changes: Annotated[Mapping[str, Any], "The settings that make the difference."]
    ndcg_10: Annotated[float, "nDCG@10."]
    mrr: Annotated[float, "Reciprocal rank of the first relevant document."]
    recall_100: Annotated[float, "Share of the relevant documents among the first 100."]
    p50: Annotated[float | None, "Seconds that half of the searches took at most."]
    difference: Annotated[float, "Of nDCG@10 to the settings as they hold."]
    p: Annotated[float, "How often chance alone gives as large a difference, either way."]
    notices: Annotated[tuple[str, ...], "What searching so could not do."]


def ablations(recipe: Recipe, *, by_meaning: bool = True) -> tuple[Variant, ...]:
    """The settings as they hold, then every stage and strategy switched the other way alone.

    At last come a few passages only, chosen in several ways: only there choosing makes a
    difference. Without vectors, what needs them is left out.
    """
    switched = [_switched(recipe, name, setting) for name, setting in _SWITCHES.items()]
    others = [Variant(name, changes) for name, changes in _ALTERNATIVES.items()]
    variants = [*switched, _gather(recipe), *_without_threshold(recipe), *others]
    differing = [one for one in variants if not _holds(recipe, one.changes)]
    few = [Variant(name, {**changes, "search.top_n": 10}) for name, changes in _FEW.items()]
    usable = [one for one in [*differing, *few] if by_meaning or not _needs_vectors(one)]
    return (Variant(BASELINE, {}), *usable)


def ablate(
    collection: Collection, variants: Sequence[Variant], run: Callable[[Variant], Run]
) -> tuple[AblationRow, ...]:
    """Runs every variant, and compares each with the first."""
    queries = collection.answerable
    rows: list[AblationRow] = []
    baseline: dict[str, float] = {}
    for variant in variants:
        found = run(variant)
        measured = measure_queries(found, queries)
        average = mean(measured.values())
        if average is None:
            break
        by_query = {query: one.ndcg_10 for query, one in measured.items()}
        baseline = baseline or by_query
        rows.append(_row(variant, found, average, baseline, by_query))
    return tuple(rows)


def _row(
    variant: Variant,
    run: Run,
    average: Measures,
    baseline: Mapping[str, float],
    by_query: Mapping[str, float],
) -> AblationRow:
    against, time = compare(baseline, by_query), latency(run)
    return AblationRow(
        variant.name,
        variant.changes,
        average.ndcg_10,
        average.mrr,
        average.recall_100,
        time.p50 if time else None,
        against.difference,
        against.p,
        run.notices,
    )


def _switched(recipe: Recipe, name: str, setting: str) -> Variant:
    is_on = bool(_value(recipe, setting))
    return Variant(f"{'without' if is_on else 'with'} {name}", {setting: not is_on})


def _gather(recipe: Recipe) -> Variant:
    is_on = recipe.gather.share > 0
    name = f"{'without' if is_on else 'with'} gather"
    return Variant(name, {"gather.share": 0.0 if is_on else _GATHER})


def _without_threshold(recipe: Recipe) -> list[Variant]:
    has_one = recipe.threshold.min_confidence != 0
    return [Variant("without threshold", {"threshold.min_confidence": 0.0})] if has_one else []


def _holds(recipe: Recipe, changes: Mapping[str, Any]) -> bool:
    return all(_value(recipe, setting) == value for setting, value in changes.items())


def _needs_vectors(variant: Variant) -> bool:
    turned_on = {setting for setting, value in variant.changes.items() if value is True}
    return bool(turned_on & _NEED_VECTORS) or variant.changes.get("search.mode") == "semantic"


def _value(recipe: Recipe, setting: str) -> Any:
    section, _, option = setting.partition(".")
    return getattr(getattr(recipe, section), option)
