"""dowse as a retriever of LlamaIndex: `pip install 'dowse-search[llamaindex]'`."""

from __future__ import annotations

import asyncio
from typing import Any

from dowse._model import Hit
from dowse.api import Dowse
from dowse.integrations import metadata_of, needs_extra

with needs_extra("llamaindex"):
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

# What a model reads of a passage in addition to its text; the rest is for programs.
_READ = {"title", "header_path", "document", "modified"}


class DowseRetriever(BaseRetriever):
    """Finds passages with dowse; its asynchronous methods search in a thread.

    `asking` holds what `Dowse.search` takes: `DowseRetriever(notes, asking={"n": 8})`.
    """

    def __init__(self, dowse: Dowse, asking: dict[str, Any] | None = None, **keywords: Any) -> None:
        super().__init__(**keywords)
        self._dowse = dowse
        self._asking = asking or {}

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self._dowse.search(query_bundle.query_str, **self._asking)
        return [NodeWithScore(node=self._node(hit), score=hit.score) for hit in found.hits]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)

    def _node(self, hit: Hit) -> TextNode:
        metadata = metadata_of(
            hit, self._dowse.project.name, str(self._dowse.path_of(hit.document))
        )
        unread = [name for name in metadata if name not in _READ]
        return TextNode(
            id_=hit.id,
            text=hit.text,
            metadata=metadata,
            excluded_llm_metadata_keys=unread,
            excluded_embed_metadata_keys=unread,
        )
