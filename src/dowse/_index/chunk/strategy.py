"""Document → sections and chunks."""

from __future__ import annotations

from msgspec.structs import replace

from dowse._index.chunk.fixed import cut_into_windows
from dowse._index.chunk.headers import cut_by_headers
from dowse._index.chunk.options import ChunkOptions
from dowse._model import ChunkedDocument, Document
from dowse._util.deadline import Deadline

_STRATEGIES = {"headers": cut_by_headers, "fixed": cut_into_windows}


def chunk(
    document: Document, options: ChunkOptions, deadline: Deadline | None = None
) -> ChunkedDocument:
    """Cuts a document; one without a visible character has neither sections nor chunks.

    Raises `TookTooLong` when the deadline passes.
    """
    cut = _STRATEGIES[options.strategy](document, options, deadline or Deadline())
    return replace(cut, context=options.context)
