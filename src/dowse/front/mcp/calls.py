"""Where a tool is called: in this process, or in a running `dowse serve`."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dowse.errors import DowseError
from dowse.front.mcp.projects import VisibleProjects
from dowse.front.mcp.tools.table import ToolSpec, tools
from dowse.parameters import Arguments

if TYPE_CHECKING:
    from dowse.front.mcp.replies import Reply
    from dowse.service import Service

AskTool = Callable[[str, Arguments, str | None], Any]
"""Asks a server for what a tool gives, by name, arguments and pinned project; None: no server."""


class Calls:
    """Calls tools in this process."""

    def __init__(self, projects: VisibleProjects) -> None:
        self.projects = projects

    def warm(self) -> None:
        """Loads everything in the background, once."""
        self.projects.warm()

    def run(self, spec: ToolSpec, arguments: Arguments) -> Reply:
        """What a tool gives."""
        return spec.run(self.projects, arguments)


class SharedCalls(Calls):
    """Calls tools in a running server, so that nothing is loaded here; without one, here."""

    def __init__(
        self, projects: VisibleProjects, ask: AskTool, answers: Callable[[], bool]
    ) -> None:
        super().__init__(projects)
        self._ask, self._answers = ask, answers
        self._looked = False

    def warm(self) -> None:
        """Loads everything in the background, once, where no server answers."""
        if not self._looked:
            self._looked = True
            threading.Thread(target=self._warm, name="dowse-mcp-look", daemon=True).start()

    def _warm(self) -> None:
        if not self._answers():
            super().warm()

    def run(self, spec: ToolSpec, arguments: Arguments) -> Reply:
        """What a tool gives."""
        told = self._ask(spec.name, arguments, self.projects.pinned)
        if told is None:
            return super().run(spec, arguments)
        from dowse.front.mcp.replies import Reply, ResourceLink  # noqa: PLC0415  the handshake needs none

        if "failure" in told:
            raise DowseError(told["failure"])
        links = tuple(ResourceLink(*link) for link in told["links"])
        return Reply(told["structured"], told["text"], links)


def run_tool(service: Service, request: Mapping[str, Any]) -> tuple[int | None, Frames]:
    """Calls a tool for another process, from its folder; without a name it only answers."""
    asked = request["tool"]
    spec = tools(compat=True).get(asked["name"])
    if spec is None:
        return 0, [(1, b"{}")]
    seen = service.seen_from(Path(request["here"]))
    projects = VisibleProjects(lambda: seen, asked["pinned"])
    try:
        reply = spec.run(projects, asked["arguments"])
        links = [(link.uri, link.name, link.title) for link in reply.links]
        told = {"structured": reply.structured, "text": reply.text, "links": links}
    except DowseError as error:
        told = {"failure": str(error)}
    return 0, [(1, json.dumps(told).encode())]


Frames = list[tuple[int, bytes]]
"""What is sent to the other process: which stream, and the bytes."""
