"""Named sets of settings: for kinds of collections, and for the two systems dowse grew from."""

from __future__ import annotations

from collections.abc import Mapping

from dowse.errors import BadSettings

Value = float | str | bool

_RANK_FUSION: dict[str, Value] = {
    "fuse.method": "rrf",
    "fuse.rrf_k": 60.0,
    "fuse.semantic": 1.0,
    "fuse.keyword": 1.0,
    "fuse.code": 1.0,
    "fuse.graph": 0.5,
    "gather.share": 0.0,
    "readable.enabled": False,
}

# How much the two systems let fields weigh beside the text.
_FIELDS: dict[str, Value] = {
    "keyword.title": 3.0,
    "keyword.headers": 2.5,
    "keyword.keywords": 2.5,
    "keyword.description": 2.0,
    "keyword.tags": 2.0,
    "keyword.aliases": 1.5,
}

PRESETS: Mapping[str, Mapping[str, Value]] = {
    # Documentation of all kinds.
    "general": {"fuse.semantic": 1.0, "fuse.keyword": 1.0, "recency.bias": 0.5},
    # Exact names matter more than paraphrases.
    "api-reference": {"fuse.semantic": 0.8, "fuse.keyword": 1.5, "recency.bias": 0.3},
    # Meaning and what is on the desk now matter more than words.
    "personal-notes": {"fuse.semantic": 1.3, "fuse.keyword": 0.7, "recency.bias": 0.8},
    # Old papers are as good as new ones.
    "research-papers": {"fuse.semantic": 1.5, "fuse.keyword": 0.5, "recency.bias": 0.0},
    # The Markdown search with eleven strategies, as it came.
    "seed-a": {
        **_RANK_FUSION,
        **_FIELDS,
        "search.top_n": 5,
        "search.top_k": 0,
        "classify.enabled": False,
        "expand.enabled": True,
        "code.enabled": False,
        "graph.enabled": True,
        "graph.depth": 1,
        "community.enabled": False,
        "dynamic_weights.enabled": False,
        "recency.bias": 0.5,
        "calibrate.enabled": True,
        "calibrate.method": "sigmoid",
        "calibrate.midpoint": 0.0,  # the fusion's own: 0.035 and 150 for k = 60
        "calibrate.steepness": 0.0,
        "threshold.min_confidence": 0.0,
        "exact_dedup.enabled": True,
        "near_dedup.enabled": True,
        "near_dedup.similarity": 0.7,
        "semantic_dedup.enabled": False,
        "diversity.mmr": False,
        "diversity.max_chunks_per_doc": 0,
        "rerank.enabled": False,
        "parents.enabled": False,
    },
    # The vector and keyword engines side by side, thirty candidates each, as it came.
    "seed-b": {
        **_RANK_FUSION,
        **_FIELDS,
        "chunk.strategy": "fixed",
        "chunk.fixed_size": 1000,
        "chunk.fixed_overlap": 200,
        "search.top_n": 10,
        "search.top_k": 30,
        "classify.enabled": False,
        "expand.enabled": False,
        "code.enabled": False,
        "graph.enabled": False,
        "community.enabled": False,
        "dynamic_weights.enabled": False,
        "recency.bias": 0.0,
        "calibrate.enabled": False,
        "threshold.min_confidence": 0.0,
        "exact_dedup.enabled": False,
        "near_dedup.enabled": False,
        "semantic_dedup.enabled": False,
        "diversity.mmr": False,
        "diversity.max_chunks_per_doc": 0,
        "rerank.enabled": False,
        "parents.enabled": False,
    },
}
"""The settings of each preset, by its name."""


def preset_values(name: str) -> Mapping[str, Value]:
    """The settings of a preset; raises `BadSettings` when there is none of that name."""
    try:
        return PRESETS[name]
    except KeyError:
        known = ", ".join(PRESETS)
        raise BadSettings(f"There is no preset {name!r}.", f"Known: {known}.") from None
