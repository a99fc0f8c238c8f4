"""What the exchangeable parts promise, and what they do not."""

from dowse.ports.parts import Analyzer, Embedder, Reranker, Writer
from dowse.ports.reading import (
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
from dowse.ports.store import IndexPlaces, Isolation, Store, Writing

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
