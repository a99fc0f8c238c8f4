"""Document → sections and chunks."""

from __future__ import annotations

from dowse.chunk.fixed import cut_into_windows
from dowse.chunk.headers import cut_by_headers
from dowse.chunk.options import ChunkOptions
from dowse.types import ChunkedDocument, Document

_STRATEGIES = {"headers": cut_by_headers, "fixed": cut_into_windows}


def chunk(document: Document, options: ChunkOptions) -> ChunkedDocument:
    """Cuts a document; one without a visible character has neither sections nor chunks."""
    return _STRATEGIES[options.strategy](document, options)
