"""One call of the command line: its global options, and what every command does with them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dowse._interfaces.cli.screen import Screen, escaped
from dowse.errors import DowseError, Refused, UsageError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from rich.text import Text

    from dowse._interfaces.cli.draw.progress import ProgressDrawer
    from dowse._model import Announce, Event
    from dowse._project.all_projects import AllProjects
    from dowse._project.engine import Engine
    from dowse._project.registry import Project
    from dowse._project.workspace import Given, ResolvedSettings, Workspace


def _silent(event: Event) -> None:
    """Ignore an event; the announcer of `_model` would make --help load numpy."""


INTERRUPTED = 130
"""The exit code after Ctrl-C: 128 and the number of the signal."""


class Interrupted(DowseError):
    """The user pressed Ctrl-C."""

    exit_code = INTERRUPTED


class Call:
    """What holds for a whole call, wherever in the line it was said."""

    def __init__(self, *, json: bool = False, given: Given | None = None) -> None:
        self.project: str | None = None
        self.json = json
        self.quiet = False
        self.verbose = False
        self.given = given  # parts that every project is opened with
        self.alone = False  # no running server is asked
        self.asked: dict[str, list[str]] = {}  # the query and its options, as they were typed

    @cached_property
    def workspace(self) -> Workspace:
        """The user's projects and settings."""
        from dowse._project.workspace import Workspace  # noqa: PLC0415  --help does not need it

        return Workspace(given=self.given)

    @cached_property
    def out(self) -> Screen:
        """Where results go."""
        return Screen(sys.stdout)

    @cached_property
    def aside(self) -> Screen:
        """Where progress and remarks go."""
        return Screen(sys.stderr)

    @property
    def here(self) -> Path:
        """Return the folder that the call is made in."""
        return Path.cwd().resolve()

    def progress(self) -> ProgressDrawer:
        """Return what draws the progress of this call."""
        from dowse._interfaces.cli.draw.progress import ProgressDrawer  # noqa: PLC0415  as above

        return ProgressDrawer(self.aside, quiet=self.quiet)

    def select(self) -> Project:
        """Find the project that this call is about."""
        return self.workspace.select(self.project, self.here)

    def open(
        self,
        overrides: Mapping[str, Any] | None = None,
        announce: Announce = _silent,
        *,
        fetch: bool = False,
    ) -> AbstractContextManager[Engine]:
        """Open the project that this call is about; with `fetch`, fetch missing weights."""
        return self.open_project(self.select(), announce, overrides, fetch=fetch)

    @contextmanager
    def open_to_search(
        self, announce: Announce = _silent, overrides: Mapping[str, Any] | None = None
    ) -> Iterator[Engine | AllProjects]:
        """Open what a search is about: a project, or all of them if none is meant."""
        project = self.workspace.find(self.project, self.here)
        if project is not None:
            with self.open_project(project, announce, overrides) as engine:
                yield engine
            return
        from dowse._project.all_projects import AllProjects  # noqa: PLC0415  most calls mean one

        with ExitStack() as opened:
            yield AllProjects(
                self.workspace.projects,
                lambda one: opened.enter_context(self.open_project(one, announce, overrides)),
            )

    def open_project(
        self,
        project: Project,
        announce: Announce = _silent,
        overrides: Mapping[str, Any] | None = None,
        *,
        fetch: bool = False,
    ) -> AbstractContextManager[Engine]:
        """Open one project; with `fetch`, fetch missing weights."""
        chosen = self.workspace.settings(project, overrides)
        self.say_withheld(project, chosen)
        return self.workspace.open(project, None, announce, fetch=fetch, chosen=chosen)

    def answer(self, record: object, draw: Callable[[int | None], Iterable[Text]]) -> None:
        """Print the result: as one JSON document, or drawn for people."""
        if self.json:
            self.write_json(record)
        else:
            self.out.show(draw(self.out.width))

    def choose_format(self, name: str | None) -> str | None:
        """Return the form that is asked for, by its name or by --json; None if none is."""
        if self.json and name not in {None, "json"}:
            raise UsageError(f"--json and --format {name} contradict each other.", "Use one.")
        self.json = self.json or name == "json"
        return "json" if self.json else name

    def write_json(self, record: object) -> None:
        """Write one JSON document."""
        self.out.write_bytes(as_json(record))

    def write_json_line(self, record: object) -> None:
        """Write one JSON document on one line, for commands that go on."""
        self.out.write_bytes(as_json_line(record))
        self.out.flush()

    def show_aside(self, draw: Callable[[int | None], Iterable[Text]]) -> None:
        """Draw something on stderr, unless the user wants quiet."""
        if not self.quiet:
            self.out.flush()
            self.aside.show(draw(self.aside.width))

    def remark(self, *sentences: str) -> None:
        """Say something on stderr, unless the user wants quiet."""
        from dowse._interfaces.cli.draw.text import folded, line  # noqa: PLC0415  --help does not need it

        if not self.quiet:
            self.out.flush()
            for sentence in sentences:
                self.aside.show(folded(line((sentence, "yellow")), self.aside.width))

    def can_confirm(self) -> bool:
        """Tell whether a person is there who can be asked."""
        return not self.json and sys.stdin.isatty() and self.aside.is_terminal

    def require_yes(self, question: str, *, yes: bool) -> None:
        """Return only if the user agrees; raise `Refused` if not, or if nobody can be asked."""
        if yes:
            return
        if not self.can_confirm():
            raise Refused(f"{question} Not interactive.", "Confirm with --yes.")
        if not click.confirm(question, err=True):
            raise Refused("Nothing was changed.")

    def say_withheld(self, project: Project, chosen: ResolvedSettings) -> None:
        """Say what the dowse.toml of a project asks for without the user's consent."""
        if chosen.withheld:
            asked = ", to ".join(chosen.withheld)
            why = chosen.local.strange if chosen.local else ""
            self.remark(
                f"Its dowse.toml asks to {asked}: not done without your consent"
                f"{f', because {why}' if why else ''}.",
                f"Agree with: dowse project trust {shlex.quote(str(project.roots[0]))}",
            )


def as_json(record: object) -> bytes:
    """Write a record as a JSON document."""
    import msgspec  # noqa: PLC0415  most calls write none

    return escaped(msgspec.json.format(msgspec.json.encode(record), indent=2)) + b"\n"


def as_json_line(record: object) -> bytes:
    """Write a record as a JSON document on one line."""
    import msgspec  # noqa: PLC0415  as above

    return escaped(msgspec.json.encode(record)) + b"\n"
