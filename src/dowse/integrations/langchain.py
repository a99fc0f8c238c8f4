"""dowse as a retriever of LangChain: `pip install 'dowse-search[langchain]'`."""

from __future__ import annotations

from typing import Any

from dowse.api import Dowse
from dowse.integrations import metadata_of, needs_extra

with needs_extra("langchain"):
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import ConfigDict, Field


class DowseRetriever(BaseRetriever):
    """Finds passages with dowse; its asynchronous methods search in a thread.

    `asking` holds what `Dowse.search` takes: `DowseRetriever(dowse=notes, asking={"n": 8})`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    dowse: Dowse
    asking: dict[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002  the signature is LangChain's
        **asking: Any,
    ) -> list[Document]:
        name = self.dowse.project.name
        return [
            Document(
                id=hit.id,
                page_content=hit.text,
                metadata=metadata_of(hit, name, str(self.dowse.path_of(hit.document))),
            )
            for hit in self.dowse.search(query, **{**self.asking, **asking}).hits
        ]
