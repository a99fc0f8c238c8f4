"""Where a tool is called: in this process, or in a running `dowse serve`."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dowse._config.parameters import Arguments
from dowse._interfaces.mcp.projects import BeingIndexed, VisibleProjects
from dowse._interfaces.mcp.tools.table import ToolSpec, tools
from dowse.errors import DowseError

if TYPE_CHECKING:
    from dowse._interfaces.mcp.replies import Reply
    from dowse._project.pool import EnginePool

_LOOK = 0.5  # seconds between two looks at what a server is doing

AskTool = Callable[[str, Arguments, str | None], Any]
"""Asks a server for what a tool gives, by name, arguments and pinned project; None: no server.

Without a name it asks what the server is doing.
"""


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

    def doing(self) -> str:
        """What is being worked on and how far it is, in a few words."""
        return self.projects.doing()


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
        from dowse._interfaces.mcp.replies import Reply, ResourceLink  # noqa: PLC0415  the handshake needs none

        if "indexing" in told:
            wait = partial(self._wait, told["indexing"])
            raise BeingIndexed(told["failure"], "", told["indexing"], wait)
        if "failure" in told:
            raise DowseError(told["failure"])
        links = tuple(ResourceLink(*link) for link in told["links"])
        return Reply(told["structured"], told["text"], links)

    def doing(self) -> str:
        """What the server is working on and how far it is; without a server, this process."""
        state = self._state()
        return str(state["doing"]) if state else super().doing()

    def _state(self) -> Any:
        return self._ask("", {}, self.projects.pinned)

    def _wait(self, project: str, seconds: float) -> None:
        """Waits until the server has indexed a project."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and project in (self._state() or {"running": ()})["running"]:
            time.sleep(_LOOK)


def run_tool(service: EnginePool, request: Mapping[str, Any]) -> tuple[int | None, Frames]:
    """Calls a tool for another process, from its folder; without a name, says what is done here."""
    asked = request["tool"]
    spec = tools(compat=True).get(asked["name"])
    seen = service.seen_from(Path(request["here"]))
    projects = VisibleProjects(lambda: seen, asked["pinned"])
    told = _doing(projects) if spec is None else _told(spec, projects, asked["arguments"])
    return 0, [(1, json.dumps(told).encode())]


def _doing(projects: VisibleProjects) -> dict[str, Any]:
    running = [job.project for job in projects.service.running()]
    return {"doing": projects.doing(), "running": running}


def _told(spec: ToolSpec, projects: VisibleProjects, arguments: Arguments) -> dict[str, Any]:
    try:
        reply = spec.run(projects, arguments)
    except BeingIndexed as error:
        return {"failure": str(error), "indexing": error.project}
    except DowseError as error:
        return {"failure": str(error)}
    links = [(link.uri, link.name, link.title) for link in reply.links]
    return {"structured": reply.structured, "text": reply.text, "links": links}


Frames = list[tuple[int, bytes]]
"""What is sent to the other process: which stream, and the bytes."""
