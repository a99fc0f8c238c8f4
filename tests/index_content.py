"""Everything that can be observed of an index, in a form that two indexes can be compared in."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from dowse._model import context_of, text_key
from dowse._model.ports import IndexReader, IndexWriter, KeywordField


def content(reading: IndexReader) -> dict[str, Any]:
    """What an index holds, without what depends on the order in which it was filled."""
    entries = reading.catalogue.documents()
    documents = [reading.catalogue.document(entry.id) for entry in entries]
    chunks = {
        (document.entry.id, chunk.id): document.text[chunk.start : chunk.end]
        for document in documents
        if document is not None
        for chunk in document.chunks
    }
    return {
        "stamp": reading.catalogue.stamp(),
        "documents": documents,
        "files": {name: state.digest for name, state in reading.catalogue.files().items()},
        "edges": reading.links.all(),
        "communities": reading.links.communities(),
        "counts": reading.catalogue.counts(),
        "vocabulary": reading.vocabulary.most_frequent(1_000_000),
        "unembedded": sorted(waiting_texts(reading)),
        "keyword": _found(reading, reading.vocabulary.most_frequent(40), chunks),
        "vectors": _nearest(reading),
    }


def keyword_scores(reading: IndexReader) -> dict[str, Any]:
    """How each chunk scores for frequent words, alone, in pairs and in code.

    To six digits: tantivy adds up single floats in an order that depends on its segments.
    """
    words = reading.vocabulary.most_frequent(30)
    queries = [[word] for word in words] + [list(two) for two in pairwise(words)]
    scores = {}
    fields: tuple[KeywordField, ...] = ("body", "code")
    for field in fields:
        for query in queries:
            found = dict(reading.keyword.search(field, query, 1_000_000))
            scores[f"{field} {query}"] = sorted(
                (one.document.id, one.chunk.id, f"{found[one.key]:.5g}")
                for one in reading.catalogue.chunks(list(found))
            )
    return scores


def _found(
    reading: IndexReader, words: list[str], chunks: dict[tuple[str, str], str]
) -> dict[str, list[tuple[str, str]]]:
    """Which chunks each word finds; scores depend on deletions that are not merged yet."""
    found = {}
    for word in words:
        keys = [key for key, _ in reading.keyword.search("body", [word], len(chunks) + 1)]
        found[word] = sorted(
            (one.document.id, one.chunk.id) for one in reading.catalogue.chunks(keys)
        )
    return found


def _nearest(reading: IndexReader) -> list[tuple[str, str, float]]:
    words = reading.vocabulary.most_frequent(1)
    vector = reading.text_vectors.known([text_key(word) for word in words])
    if not vector:
        return []
    scores = dict(reading.vectors.nearest(next(iter(vector.values())), 1_000_000))
    stored = reading.catalogue.chunks(list(scores))
    return sorted((one.document.id, one.chunk.id, round(scores[one.key], 4)) for one in stored)


def waiting_texts(of: IndexReader | IndexWriter) -> list[str]:
    """The embedding texts of the chunks that have no vector, in the order of the text."""
    keys, context = list(of.text_vectors.waiting()), context_of(of.catalogue.stamp())
    return [stored.embedding_text(context) for stored in of.catalogue.chunks(keys)]
