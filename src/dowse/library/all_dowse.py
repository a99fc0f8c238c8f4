"""All projects for programs: `from dowse import AllDowse`."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Self, TypedDict, Unpack

from dowse.library.dowse import Asking, asked_of, locations_of
from dowse.ports import Embedder, Reranker
from dowse.present.budget import within_texts
from dowse.projects.all_projects import AllProjects
from dowse.projects.workspace import Workspace
from dowse.types import Response
from dowse.wiring import Given


class OpeningAll(TypedDict, total=False):
    """What can be said when all projects are opened; `Opening` explains each."""

    home: str | os.PathLike[str] | None
    embedder: Embedder | None
    reranker: Reranker | None


class AllDowse:
    """All projects of a user, to be searched at once and closed, or used in a `with`."""

    def __init__(
        self,
        *,
        home: str | os.PathLike[str] | None = None,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
    ) -> None:
        """Opens each project when it is first searched; `Opening` explains the arguments."""
        self._opened = ExitStack()
        workspace = Workspace(locations_of(home), Given(embedder, reranker))
        self._all = AllProjects(
            workspace.projects.all(),
            lambda project: self._opened.enter_context(workspace.open(project)),
            workspace.projects.broken(),
        )

    def search(self, query: str = "", **asking: Unpack[Asking]) -> Response:
        """The best passages of all projects; `Hit.project` names the one each is from."""
        asked = asked_of("search", query, asking)
        found = self._all.search(
            asked.query, filters=asked.filters, changes=asked.changes, offset=asked.offset
        )
        return within_texts(found, asked.max_tokens)

    def answer(self, query: str, **asking: Unpack[Asking]) -> Response:
        """The same, with what the passages say to the question in `Response.answer`."""
        asked = asked_of("answer", query, asking)
        found = self._all.answer(asked.query, filters=asked.filters, changes=asked.changes)
        return within_texts(found, asked.max_tokens)

    def close(self) -> None:
        """Closes all that were opened."""
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
