"""What each stage of a search does, in plain words: for people who do not know its name."""

from __future__ import annotations

from collections.abc import Mapping

STAGE_WORDS: Mapping[str, str] = {
    "understand": "Reads the query",
    "classify": "Weighs by the kind of query",
    "expand": "Adds similar words",
    "retrieve": "Finds passages",
    "graph": "Adds what is linked with them",
    "complete": "Scores what only some found",
    "readable": "Trusts vectors as far as they read",
    "community": "Favours what belongs together",
    "dynamic_weights": "Weighs by how sure each ranking is",
    "fuse": "Makes one ranking of all",
    "names": "Looks for titles like the query",
    "fresh": "Leaves out deleted files",
    "gather": "Adds other passages of the document",
    "recency": "Prefers newer documents",
    "calibrate": "Turns the score into a confidence",
    "exact": "Puts a title like the query first",
    "threshold": "Drops uncertain results",
    "exact_dedup": "Drops exact copies",
    "near_dedup": "Drops near copies",
    "semantic_dedup": "Drops what means the same",
    "documents": "Keeps one result per document",
    "diversity": "Mixes the list",
    "rerank": "Reads the first results again",
    "parents": "Shows whole sections",
    "top_n": "Keeps the first results",
}
"""By the name of the stage."""
