"""What the exchangeable parts promise, and what they do not."""

from dowse._model.ports.parts import Analyzer, Embedder, Reranker, Writer
from dowse._model.ports.reading import (
    Catalogue,
    KeywordField,
    KeywordSearch,
    Links,
    Reading,
    TextVectors,
    VectorSearch,
    Vocabulary,
    within,
)
from dowse._model.ports.store import IndexPlaces, Isolation, Store, Writing

__all__ = [
    "Analyzer",
    "Catalogue",
    "Embedder",
    "IndexPlaces",
    "Isolation",
    "KeywordField",
    "KeywordSearch",
    "Links",
    "Reading",
    "Reranker",
    "Store",
    "TextVectors",
    "VectorSearch",
    "Vocabulary",
    "Writer",
    "Writing",
    "within",
]
