"""Everything that can be observed of an index, in a form that two indexes can be compared in."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from dowse.ports import Reading
from dowse.types import text_key


def content(reading: Reading) -> dict[str, Any]:
    """What an index holds, without what depends on the order in which it was filled."""
    entries = reading.documents()
    documents = [reading.document(entry.id) for entry in entries]
    chunks = {
        (document.entry.id, chunk.id): document.text[chunk.start : chunk.end]
        for document in documents
        if document is not None
        for chunk in document.chunks
    }
    return {
        "stamp": reading.stamp(),
        "documents": documents,
        "files": {name: state.digest for name, state in reading.files().items()},
        "edges": reading.edges(),
        "communities": reading.communities(),
        "counts": reading.counts(),
        "vocabulary": reading.vocabulary(1_000_000),
        "unembedded": sorted(reading.unembedded()),
        "keyword": _found(reading, reading.vocabulary(40), chunks),
        "vectors": _nearest(reading),
    }


def keyword_scores(reading: Reading) -> dict[str, Any]:
    """How each chunk scores for frequent words, alone, in pairs and in code.

    To six digits: tantivy adds up single floats in an order that depends on its segments.
    """
    words = reading.vocabulary(30)
    queries = [[word] for word in words] + [list(two) for two in pairwise(words)]
    scores = {}
    for search in (reading.keyword, reading.code):
        for query in queries:
            found = dict(search(query, 1_000_000))
            scores[f"{search.__name__} {query}"] = sorted(
                (one.document.id, one.chunk.id, f"{found[one.key]:.5g}")
                for one in reading.chunks(list(found))
            )
    return scores


def _found(
    reading: Reading, words: list[str], chunks: dict[tuple[str, str], str]
) -> dict[str, list[tuple[str, str]]]:
    """Which chunks each word finds; scores depend on deletions that are not merged yet."""
    found = {}
    for word in words:
        keys = [key for key, _ in reading.keyword([word], len(chunks) + 1)]
        found[word] = sorted((one.document.id, one.chunk.id) for one in reading.chunks(keys))
    return found


def _nearest(reading: Reading) -> list[tuple[str, str, float]]:
    words = reading.vocabulary(1)
    vector = reading.vectors([text_key(word) for word in words])
    if not vector:
        return []
    scores = dict(reading.nearest(next(iter(vector.values())), 1_000_000))
    stored = reading.chunks(list(scores))
    return sorted((one.document.id, one.chunk.id, round(scores[one.key], 4)) for one in stored)
