"""Words of the documents that mean nearly the same as a query."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from typing import Annotated

from msgspec import Meta

from dowse._model import Matrix, Vector, text_key
from dowse._model.ports import IndexReader
from dowse._search.query.understand import listed
from dowse._search.stages.strategies import query_vector
from dowse._search.state import SearchState
from dowse._util.arrays import np
from dowse._util.bounds import SHARE, Options


class ExpandOptions(Options, frozen=True):
    """Whether words near the query are appended to it for the semantic search."""

    enabled: Annotated[
        bool, "Add words of the documents that are close in meaning to the semantic query."
    ] = False
    terms: Annotated[int, Meta(ge=1, le=50), "How many words to add at most (1–50)."] = 3
    similarity: Annotated[
        float, SHARE, "Cosine to the query at or above which a word may be added (0–1)."
    ] = 0.5


_LEARN = "Make them with: dowse config set expand.enabled true, then dowse index"


def expand_query(search: SearchState) -> None:
    """Add the words of the documents nearest to the query, for the semantic ranking."""
    vector = query_vector(search)
    if vector is None:
        return
    words, vectors = search.parts.words(search.reader)
    if not words:
        search.notices.append(f"No word was added to the query: no word has a vector. {_LEARN}")
        return
    known = set(search.parts.analyzer.vocabulary(search.query.text))
    added = nearest_words(vector, words, vectors, known, search.settings.expand)
    if added:
        search.embedded_text = " ".join([search.query.text, *added])
        search.notices.append(f"The search by meaning added {listed(added)} to the query.")
        search.vector = None  # of what was asked; the next one is of what is searched for


def nearest_words(
    query_vector: Vector,
    words: Sequence[str],
    vectors: Matrix,
    query_words: Collection[str],
    options: ExpandOptions,
) -> list[str]:
    """Find the words nearest to the query that are not in it; ties in alphabetical order.

    `vectors` holds one row for each of `words`.
    """
    if not words:
        return []
    asked = {word.casefold() for word in query_words}
    cosines = np.vecdot(vectors, query_vector).tolist()
    near = [
        (-cosine, word)
        for cosine, word in zip(cosines, words, strict=True)
        if cosine >= options.similarity and word.casefold() not in asked
    ]
    return [word for _, word in sorted(near)[: options.terms]]


# ── The words of the documents with their vectors, kept for as long as the index stays the same ───


class KnownWords:
    """Remembers the vocabulary of the generation that was asked for last."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._of = (
            -1,
            -1,
        )  # generation and size: a discarded index counts generations from 0
        self._words: list[str] = []
        self._vectors: Matrix | None = None

    def of(self, reading: IndexReader) -> tuple[list[str], Matrix]:
        """Return the words that have a vector, and their vectors."""
        with self._lock:
            wanted = (reading.catalogue.generation, reading.keyword.size)
            if self._vectors is None or self._of != wanted:
                self._words, self._vectors = self._load(reading)
                self._of = wanted
            return self._words, self._vectors

    def _load(self, reading: IndexReader) -> tuple[list[str], Matrix]:
        keys = {text_key(word): word for word in reading.vocabulary.most_frequent(self._size)}
        known = reading.text_vectors.known(list(keys))
        words = [word for key, word in keys.items() if key in known]
        vectors = [known[key] for key in keys if key in known]
        return words, np.stack(vectors) if vectors else np.zeros((0, 0), dtype=np.float32)
