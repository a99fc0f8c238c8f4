"""The terms of a document: a store finds them, or a process that prepares files for it."""

from __future__ import annotations

from dowse._model import ChunkedDocument, DocumentTerms
from dowse._model.ports import Analyzer


def terms_of(chunked: ChunkedDocument, analyzer: Analyzer) -> DocumentTerms:
    """What can be searched of a document by words."""
    document, chunks = chunked.document, []
    for chunk, blocks in zip(chunked.chunks, chunked.code_by_chunk(), strict=True):
        text = chunked.text_of(chunk)
        body = analyzer.chunk_stream(document.fields, chunk.header_path, text)
        code = "\n".join(block.text for block in blocks)
        chunks.append((body, analyzer.code_stream(code) if code else ""))
    return DocumentTerms(chunks, analyzer.vocabulary(document.text[document.body :]))
