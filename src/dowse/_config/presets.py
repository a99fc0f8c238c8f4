"""Named sets of settings: for kinds of collections, and for the two systems dowse grew from."""

from __future__ import annotations

from collections.abc import Mapping

Value = float | str | bool

_RANK_FUSION: dict[str, Value] = {
    "fuse.method": "rrf",
    "fuse.rrf_k": 60.0,
    "fuse.semantic": 1.0,
    "fuse.keyword": 1.0,
}

PRESETS: Mapping[str, Mapping[str, Value]] = {
    # Documentation of all kinds.
    "general": {"fuse.semantic": 1.0, "fuse.keyword": 1.0, "recency.bias": 0.5},
    # Exact names matter more than paraphrases.
    "api-reference": {"fuse.semantic": 0.8, "fuse.keyword": 1.5, "recency.bias": 0.3},
    # Meaning and recent changes matter more than words.
    "personal-notes": {"fuse.semantic": 1.3, "fuse.keyword": 0.7, "recency.bias": 0.8},
    # Old papers are as good as new ones.
    "research-papers": {"fuse.semantic": 1.5, "fuse.keyword": 0.5, "recency.bias": 0.0},
    # The Markdown search with eleven strategies, as it came.
    "seed-a": {
        **_RANK_FUSION,
        # Sections of 1500 to 2000 characters, chunks of about 500 in them, with the headings above.
        "chunk.strategy": "headers",
        "chunk.section_min": 1500,
        "chunk.section_max": 2000,
        "chunk.chunk_min": 200,
        "chunk.chunk_goal": 500,
        "chunk.chunk_max": 1500,
        "chunk.overlap": 100,
        "chunk.context": "headings",
        "keyword.stemming": True,
        "keyword.stopwords": True,
        "keyword.title": 3.0,
        "keyword.headers": 2.5,
        "keyword.keywords": 2.5,
        "keyword.description": 2.0,
        "keyword.tags": 2.0,
        "keyword.aliases": 1.5,
        "keyword.author": 1.0,
        "keyword.category": 1.0,
        "keyword.content": 1.0,
        "vocabulary.size": 10_000,
        "search.top_n": 5,
        "search.top_k": -1,  # max(10, 2 × top_n)
        "expand.enabled": True,
        "graph.enabled": True,
        "graph.depth": 1,
        "recency.bias": 0.5,
        "calibrate.enabled": True,
        "calibrate.method": "sigmoid",
        "calibrate.midpoint": 0.0,  # the fusion's own: 0.035 and 150 for k = 60
        "calibrate.steepness": 0.0,
        "exact_dedup.enabled": True,
        "near_dedup.enabled": True,
        "near_dedup.similarity": 0.7,
    },
    # The vector engine and the keyword engine, thirty candidates each, as it came.
    "seed-b": {
        **_RANK_FUSION,
        # Windows of the file as it is, with its frontmatter. Nothing is added to them, so that a
        # title or a tag counts in the one window that says it; nothing in them weighs more.
        "chunk.strategy": "fixed",
        "chunk.fixed_size": 1000,
        "chunk.fixed_overlap": 200,
        "chunk.frontmatter": True,
        "chunk.context": "none",
        "keyword.stemming": False,
        "keyword.stopwords": False,
        "keyword.title": 0.0,
        "keyword.headers": 0.0,
        "keyword.keywords": 0.0,
        "keyword.description": 0.0,
        "keyword.tags": 0.0,
        "keyword.aliases": 0.0,
        "keyword.author": 0.0,
        "keyword.category": 0.0,
        "keyword.content": 1.0,
        "search.top_n": 10,
        "search.top_k": 30,
    },
}
"""What each preset sets, by its name; `dowse._config.schema` adds what it turns off."""
