"""The terms of a document's chunks, as keyword search weighs them."""

from __future__ import annotations

from collections.abc import Sequence

from dowse._model import Chunk, ChunkedDocument, CodeBlock
from dowse._model.ports import Analyzer
from dowse._store.remote.weights import Lengths


class ChunkTerms:
    """For each chunk of a document, the terms of its text and those of its code."""

    def __init__(self, chunked: ChunkedDocument, analyzer: Analyzer) -> None:
        self._chunked, self._analyzer = chunked, analyzer
        self.blocks = chunked.code_by_chunk()
        self.body = [self._body_of(chunk) for chunk in chunked.chunks]
        self.code = [self._code_of(blocks) for blocks in self.blocks]

    @property
    def lengths(self) -> Lengths:
        """How many terms all chunks have together."""
        return Lengths(len(self.body), sum(map(len, self.body)), sum(map(len, self.code)))

    def _body_of(self, chunk: Chunk) -> list[str]:
        fields, text = self._chunked.document.fields, self._chunked.text_of(chunk)
        placed = self._analyzer.chunk_terms(fields, chunk.header_path, text)
        return [term for term, _ in placed]

    def _code_of(self, blocks: Sequence[CodeBlock]) -> list[str]:
        code = "\n".join(block.text for block in blocks)
        return [term for term, _ in self._analyzer.code_terms(code)]
