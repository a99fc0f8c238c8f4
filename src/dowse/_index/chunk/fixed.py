"""The `fixed` strategy: windows of equal size, counted in characters so that any script works."""

from __future__ import annotations

from dowse._index.chunk.builder import PartMaker, visible_stretch
from dowse._index.chunk.options import ChunkOptions
from dowse._model import ChunkedDocument, Document
from dowse._util.deadline import Deadline


def cut_into_windows(
    document: Document, options: ChunkOptions, deadline: Deadline
) -> ChunkedDocument:
    """Cuts a document into windows, each of which is a chunk and its own section."""
    maker = PartMaker(document)
    sections, chunks = [], []
    body, last = visible_stretch(document)
    edge = kept = body  # how far windows, and how far those that were kept, have come
    while edge < last:
        deadline.check()
        start = max(body, edge - options.fixed_overlap)
        edge = min(start + options.fixed_size, last)
        if not document.text[start:edge].isspace():
            overlap = max(0, kept - start)
            section = maker.section(start, edge, overlap)
            sections.append(section)
            chunks.append(maker.chunk(section, start, edge, overlap))
            kept = edge
    return ChunkedDocument(document, tuple(sections), tuple(chunks))
