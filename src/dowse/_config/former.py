"""What settings, commands and tools of other search tools are called in dowse.

The same rows are the tables of docs/migrating.md and the suggestions for names that dowse does not
have, so that nobody has to read the page first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

Kind = Literal["setting", "command", "tool", "parameter"]
"""What a name stands for."""

RAGDOCS = "mcp-markdown-ragdocs"
HYBRID = "mcp-server-hybrid-search"
QMD = "qmd"
MEMORY = "basic-memory"


class Former(Struct, frozen=True):
    """A name of another tool."""

    tool: str
    kind: Kind
    name: str
    here: str  # what does it in dowse; empty: nothing does
    note: str = ""  # a sentence about the difference


def _rows(tool: str, kind: Kind, *rows: tuple[str, str] | tuple[str, str, str]) -> list[Former]:
    return [Former(tool, kind, *row) for row in rows]


FORMER = (
    *_rows(
        RAGDOCS,
        "setting",
        ("semantic_weight", "fuse.semantic"),
        ("keyword_weight", "fuse.keyword"),
        ("code_search_enabled", "code.enabled"),
        ("code_search_weight", "fuse.code"),
        ("recency_bias", "recency.bias"),
        ("rrf_k_constant", "fuse.rrf_k", "It counts with fuse.method = rrf."),
        ("adaptive_weights_enabled", "classify.enabled"),
        ("dynamic_weights_enabled", "dynamic_weights.enabled"),
        ("variance_threshold", "dynamic_weights.variance_threshold"),
        ("community_detection_enabled", "community.enabled"),
        ("community_boost_factor", "community.boost"),
        ("hyde_enabled", "search.mode", "HyDE is always there, as the mode hyde."),
        ("score_calibration_threshold", "calibrate.midpoint", "With calibrate.method = sigmoid."),
        ("score_calibration_steepness", "calibrate.steepness", "With calibrate.method = sigmoid."),
        ("min_confidence", "threshold.min_confidence"),
        ("max_chunks_per_doc", "diversity.max_chunks_per_doc"),
        ("dedup_enabled", "semantic_dedup.enabled"),
        ("dedup_similarity_threshold", "semantic_dedup.similarity"),
        ("ngram_dedup_enabled", "near_dedup.enabled"),
        ("ngram_dedup_threshold", "near_dedup.similarity"),
        ("mmr_enabled", "diversity.mmr"),
        ("mmr_lambda", "diversity.balance"),
        ("rerank_enabled", "rerank.enabled"),
        ("rerank_model", "rerank.model"),
        ("rerank_top_n", "rerank.top_n"),
        ("parent_retrieval_enabled", "parents.enabled"),
        ("parent_chunk_min_chars", "chunk.section_min"),
        ("parent_chunk_max_chars", "chunk.section_max"),
        ("top_n", "search.top_n"),
    ),
    *_rows(
        RAGDOCS,
        "command",
        ("rebuild-index", "index --rebuild"),
        ("query", "search"),
        ("run", "serve"),
        ("check-config", "config show"),
    ),
    *_rows(
        RAGDOCS,
        "tool",
        ("query_documents_compressed", "query_documents", "Pass compact."),
        ("query_code", "query_documents", 'Pass mode "code".'),
    ),
    *_rows(
        HYBRID,
        "setting",
        ("chunk_size", "chunk.fixed_size", "It counts with chunk.strategy = fixed."),
        ("chunk_overlap", "chunk.fixed_overlap", "It counts with chunk.strategy = fixed."),
        ("tokenizer", "keyword.tokenizer"),
        (
            "top_k",
            "search.top_n",
            "That is the number of results; search.top_k counts the candidates of a strategy.",
        ),
        ("provider", "embed.provider"),
        ("OPENAI_API_KEY", "embed.api_key_env", "It takes the name of the variable."),
    ),
    *_rows(
        HYBRID,
        "command",
        ("ingest", "index"),
        ("reset", "reset"),
    ),
    *_rows(
        HYBRID,
        "tool",
        ("search", "query_documents", "dowse mcp --compat also takes the name search."),
        ("get", "get_document", "dowse mcp --compat also takes the name get."),
        ("get_project_info", "project_info", "dowse mcp --compat also takes the other name."),
    ),
    *_rows(
        QMD,
        "command",
        ("embed", "index", "It makes the vectors as well."),
        ("update", "index"),
        ("query", "search --rerank"),
        ("vsearch", "search --mode semantic"),
        ("multi-get", "get"),
        ("collection", "project"),
        ("context", "project describe NAME --path PATH TEXT"),
        ("cleanup", "doctor --repair"),
        ("pull", "models pull"),
    ),
    *_rows(
        QMD,
        "tool",
        ("query", "query_documents"),
        ("deep_search", "query_documents", "Pass rerank."),
        ("vector_search", "query_documents", 'Pass mode "semantic".'),
        ("multi_get", "get_document"),
        ("status", "project_info"),
    ),
    *_rows(
        QMD,
        "parameter",
        ("minScore", "min_confidence"),
        ("collections", "project"),
        ("collection", "project"),
        ("searches", "query"),
        ("file", "references"),
        ("pattern", "references"),
    ),
    *_rows(
        MEMORY,
        "command",
        ("sync", "index"),
        ("watch", "watch"),
        ("tool", "search", "And get, related and recent: its commands are commands of dowse."),
        ("search-notes", "search"),
        ("read-note", "get"),
        ("build-context", "related"),
        ("recent-activity", "recent"),
    ),
    *_rows(
        MEMORY,
        "tool",
        ("search_notes", "query_documents"),
        ("read_note", "get_document"),
        ("read_content", "get_document"),
        ("view_note", "get_document"),
        ("fetch", "get_document"),
        ("build_context", "related_documents"),
        ("recent_activity", "recent"),
        ("list_directory", "browse"),
        ("list_memory_projects", "project_info"),
        ("write_note", "", "dowse only reads."),
        ("edit_note", "", "dowse only reads."),
        ("move_note", "", "dowse only reads."),
        ("delete_note", "", "dowse only reads."),
        ("canvas", "", "dowse only reads."),
    ),
    *_rows(
        MEMORY,
        "parameter",
        ("identifier", "references"),
        ("page_size", "top_n"),
        ("search_type", "mode"),
        ("after_date", "after"),
        ("timeframe", "since"),
        ("dir_name", "path"),
    ),
)
"""Every name that is known."""


def _plain(name: str) -> str:
    """Reduce `minScore`, `min-score` and `--min_score` to the same name."""
    return name.rpartition(".")[2].casefold().replace("-", "").replace("_", "")


_BY_NAME: Mapping[tuple[Kind, str], Former] = {
    (one.kind, _plain(one.name)): one for one in reversed(FORMER)
}


def former(kind: Kind, name: str) -> Former | None:
    """Find a name of another tool, however it is written."""
    return _BY_NAME.get((kind, _plain(name)))


def suggested(kind: Kind, name: str) -> str:
    """Say what a name of another tool is called here, in a sentence; empty: it is none of them."""
    found = former(kind, name)
    if found is None:
        return ""
    return " ".join(filter(None, (f"Did you mean {found.here}?" if found.here else "", found.note)))
