"""What each stage and strategy is worth: each is switched the other way, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from msgspec import Struct

from dowse._project.evaluation.compare import compare
from dowse._project.evaluation.measures import Measures, mean, measure_queries
from dowse._project.evaluation.records import Collection, Run
from dowse._project.evaluation.report import latency
from dowse._search.pipeline import SEARCH_FLOW, SearchSettings
from dowse._search.stages.strategies import STRATEGIES

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

    variant: Annotated[str, "What is different."]
    changes: Annotated[Mapping[str, Any], "The settings that make the difference."]
    ndcg_10: Annotated[float, "nDCG@10."]
    mrr: Annotated[float, "Reciprocal rank of the first relevant document."]
    recall_100: Annotated[float, "Share of the relevant documents among the first 100."]
    p50: Annotated[float | None, "Seconds that half of the searches took at most."]
    difference: Annotated[float, "Of nDCG@10 to the settings as they hold."]
    p: Annotated[float, "How often chance alone gives as large a difference, either way."]
    notices: Annotated[tuple[str, ...], "What the variant could not do."]


def ablations(settings: SearchSettings, *, by_meaning: bool = True) -> tuple[Variant, ...]:
    """The settings as they hold, then every stage and strategy switched the other way alone.

    The last variants return a few results only, chosen in several ways: only there choosing makes
    a difference. Without vectors, what needs them is left out.
    """
    fusion = [Variant(name, changes) for name, changes in _FUSION.items()]
    variants = [*_switched(settings), *fusion, *_alone()]
    differing = [one for one in variants if not _holds(settings, one.changes)]
    few = [
        Variant(
            name,
            {"diversity.mmr": False, **changes, "search.top_n": 10},
            needs_vectors="diversity.mmr" in changes,
        )
        for name, changes in _FEW.items()
    ]
    usable = [one for one in [*differing, *few] if by_meaning or not one.needs_vectors]
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


def _switched(settings: SearchSettings) -> Iterator[Variant]:
    """Every strategy and stage that has a switch, switched the other way."""
    for strategy in STRATEGIES:
        if strategy.optional:
            is_on = getattr(settings, strategy.name).enabled
            changes = {f"{strategy.name}.enabled": not is_on}
            needs = strategy.uses == "vectors" and not is_on
            yield Variant(f"{_other_way(is_on)} {strategy.name}", changes, needs)
    for stage in SEARCH_FLOW:
        if stage.off and stage.ablated:
            is_on = stage.is_on(settings)
            options = stage.off if is_on else stage.on
            changes = {f"{stage.name}.{name}": value for name, value in options.items()}
            name = f"{_other_way(is_on)} {stage.name.replace('_', ' ')}"
            yield Variant(name, changes, stage.needs_vectors and not is_on)


def _other_way(is_on: bool) -> str:
    return "without" if is_on else "with"


def _alone() -> Iterator[Variant]:
    """Every strategy that can rank alone, alone."""
    for one in STRATEGIES:
        if one.alone:
            yield Variant(f"{one.name} alone", {"search.mode": one.name}, one.uses == "vectors")


def _holds(settings: SearchSettings, changes: Mapping[str, Any]) -> bool:
    """Whether nothing would change; so it is for a stage that is off and has no usual setting."""
    return all(settings.value(setting) == value for setting, value in changes.items())
