"""What the exchangeable parts promise, and what they do not."""

from dowse._model.ports.parts import Analyzer, Embedder, Reranker, Writer
from dowse._model.ports.reading import (
    DocumentTable,
    IndexReader,
    KeywordField,
    KeywordSearch,
    Links,
    TextVectors,
    VectorSearch,
    Vocabulary,
    within,
)
from dowse._model.ports.store import IndexPlaces, IndexWriter, Isolation, Store

__all__ = [
    "Analyzer",
    "DocumentTable",
    "Embedder",
    "IndexPlaces",
    "IndexReader",
    "IndexWriter",
    "Isolation",
    "KeywordField",
    "KeywordSearch",
    "Links",
    "Reranker",
    "Store",
    "TextVectors",
    "VectorSearch",
    "Vocabulary",
    "Writer",
    "within",
]
