"""What ten tasks cost an agent: calls, tokens, and whether it has what it needs.

    python benchmarks/agents.py [--json FILE] [--compare FILE]

Each task names what must be read, and ways to get it, the shortest first. A way that this version
does not offer is left out, so that an older version takes the way that it has. Tokens are those of
what a client shows to a model: the arguments of the calls, and the text of the replies with links.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dowse import Dowse
from dowse._config.parameters import check_arguments
from dowse._interfaces.mcp.projects import VisibleProjects
from dowse._interfaces.mcp.server import page
from dowse._interfaces.mcp.tools import tools
from dowse._project.pool import EnginePool
from dowse._search.formats import count_tokens
from dowse.errors import DowseError

try:
    from dowse._project.workspace import Workspace
except ImportError:  # of older versions
    from dowse.workspace import Workspace  # type: ignore[import-not-found, no-redef]

VAULT = Path(__file__).parents[1] / "examples" / "vault"
OTHER = {"leave.md": "# Leave\n\nA day of leave is asked for two weeks before it.\n"}

Call = tuple[str, Mapping[str, Any]]
"""A tool, and its arguments; the tool "resources/list" lists documents."""


@dataclass(frozen=True, slots=True)
class Task:
    """Something that an agent is asked for."""

    name: str
    needs: tuple[str, ...]  # what must have been read in the end
    ways: tuple[tuple[Call, ...], ...]  # calls that give it, the shortest way first


def _search(query: str, **arguments: Any) -> Call:
    return "query_documents", {"query": query, "project": "vault", **arguments}


def _get(*references: str, **arguments: Any) -> Call:
    return "get_document", {"references": list(references), "project": "vault", **arguments}


_DECISIONS = (
    "decisions/0001-radio-instead-of-mobile-data.md",
    "decisions/0002-plain-postgresql.md",
    "decisions/0003-two-minute-interval.md",
)
_INCIDENTS = ("iced-anemometers", "gateway-clock", "missing-partition")

TASKS = (
    Task("answer one question", ("4 €",), ((_search("what fixed the gateway clock", n=3),),)),
    Task(
        "find all documents on a topic",
        ("0001-radio", "radio-frame", "0003-two-minute", "network-handbook"),
        (
            (_search("radio airtime of frames", compact=True),),
            (_search("radio airtime of frames", n=20),),
        ),
    ),
    Task(
        "fill 2,000 tokens with what is known of a topic",
        ("0001-radio", "radio-frame", "0003-two-minute", "network-handbook"),
        (
            (_search("radio airtime of frames", max_tokens=2000),),
            (
                _search("radio airtime of frames", max_tokens=2000),
                _search("radio airtime of frames", max_tokens=2000, n=20),
            ),
        ),
    ),
    Task(
        "see what there is",
        ("decisions/", "sensor/wind", "data team"),
        (
            (("browse", {"project": "vault"}),),
            (("resources/list", {}), _search("tag season author team", n=20)),
        ),
    ),
    Task(
        "see what changed since July",
        ("missing-partition", "field day"),
        (
            (("recent", {"project": "vault", "since": "2026-07-01"}),),
            (("query_documents", {"project": "vault", "after": "2026-07-01", "n": 20}),),
        ),
    ),
    Task(
        "read all decisions",
        ("LTE-M", "monthly partitions", "ALOHA"),
        (
            (_get("decisions/*.md"),),
            (_search("decision", path=["decisions/"], n=20), _get(*_DECISIONS)),
        ),
    ),
    Task(
        "list all incidents",
        _INCIDENTS,
        (
            (_search("what happened", tag="incident", compact=True),),
            (_search("what happened", tag=["incident"], n=20),),
        ),
    ),
    Task(
        "follow a link to its heading",
        ("clock.wait_for_sync",),
        ((_get("[[gateway-configuration#Settings that people change]]"),),),
    ),
    Task(
        "ask with loose types",
        ("iced-anemometers",),
        (
            (_search("why did the wind stop", n="3", tag="incident"),),
            (
                _search("why did the wind stop", n="3", tag="incident"),
                _search("why did the wind stop", n=3, tag=["incident"]),
            ),
        ),
    ),
    Task(
        "read a document of an unknown project",
        ("two weeks before",),
        (
            (("get_document", {"references": ["leave.md"]}),),
            (
                ("get_document", {"references": ["leave.md"]}),
                ("get_document", {"references": ["leave.md"], "project": "handbook"}),
            ),
        ),
    ),
)


class Agent:
    """Calls the tools of this version, and counts what that costs."""

    def __init__(self, folder: Path) -> None:
        self._projects = VisibleProjects(lambda: EnginePool(Workspace(), folder))
        self._tools = tools()

    def offers(self, way: Sequence[Call]) -> bool:
        """Whether this version has the tools and parameters of a way."""
        return all(
            name == "resources/list"
            or (name in self._tools and self._known(name) >= set(arguments))
            for name, arguments in way
        )

    def _known(self, name: str) -> set[str]:
        rows = self._tools[name].parameters
        return {one for row in rows for one in (row.name, *row.aliases)}

    def call(self, call: Call) -> str:
        """What a model reads of a reply."""
        name, arguments = call
        if name == "resources/list":
            return self._resources()
        spec = self._tools[name]
        try:
            try:
                values = check_arguments(spec.parameters, arguments, guessed=True)
            except TypeError:  # older versions guess nothing
                values = check_arguments(spec.parameters, arguments)
            reply = spec.run(self._projects, values)
        except DowseError as error:
            return str(error)
        links = "\n".join(f"{link.uri} {link.name} {link.title}" for link in reply.links)
        return f"{reply.text}\n{links}"

    def _resources(self) -> str:
        listed, _ = page(self._projects, None)
        return "\n".join(f"{one.uri} {one.name} {one.title} {one.description}" for one in listed)


def cost(agent: Agent, task: Task) -> dict[str, Any]:
    """The calls and tokens of the shortest way that gives what a task needs."""
    for way in filter(agent.offers, task.ways):
        replies = [agent.call(call) for call in way]
        asked = sum(count_tokens(json.dumps(arguments)) for _, arguments in way)
        tokens = asked + sum(map(count_tokens, replies))
        found = all(need in "\n".join(replies) for need in task.needs)
        if found or way == task.ways[-1]:
            return {"calls": len(way), "tokens": tokens, "found": found}
    return {"calls": 0, "tokens": 0, "found": False}


def measure() -> dict[str, dict[str, Any]]:
    """What every task costs, on the sample vault and one more project."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for name in ("config", "data", "cache"):
            os.environ[f"DOWSE_{name.upper()}_DIR"] = str(home / name)
        (home / "handbook").mkdir()
        for file, text in OTHER.items():
            (home / "handbook" / file).write_text(text, "utf-8")
        for place in (VAULT, home / "handbook"):
            with Dowse(place) as project:
                project.index()
        agent = Agent(home)
        return {task.name: cost(agent, task) for task in TASKS}


def table(now: Mapping[str, Any], before: Mapping[str, Any] | None) -> str:
    """The costs as a table of Markdown."""
    old = "calls before | tokens before | " if before else ""
    lines = [f"| task | {old}calls | tokens |", "|---" * (5 if before else 3) + "|"]
    for name, cost_now in now.items():
        earlier = f"{_cells(before[name])} | " if before else ""
        lines.append(f"| {name} | {earlier}{_cells(cost_now)} |")
    sums = [_sum(one) for one in (before, now) if one]
    lines.append(f"| **all** | {' | '.join(sums)} |")
    return "\n".join(lines)


def _cells(cost_of: Mapping[str, Any]) -> str:
    missing = "" if cost_of["found"] else " (not found)"
    return f"{cost_of['calls']}{missing} | {cost_of['tokens']:,}"


def _sum(costs: Mapping[str, Any]) -> str:
    calls = sum(one["calls"] for one in costs.values())
    return f"{calls} | {sum(one['tokens'] for one in costs.values()):,}"


def main() -> None:
    """Measures, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the costs into this file")
    parser.add_argument("--compare", type=Path, help="such a file, of an older version")
    arguments = parser.parse_args()
    costs = measure()
    if arguments.json:
        arguments.json.write_text(json.dumps(costs, indent=2) + "\n", "utf-8")
    before = json.loads(arguments.compare.read_text("utf-8")) if arguments.compare else None
    print(table(costs, before))


if __name__ == "__main__":
    main()
