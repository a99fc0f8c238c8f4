"""One call of the command line: its global options, and what every command does with them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dowse._interfaces.cli.draw.unseen import escaped
from dowse._interfaces.cli.screen import Screen
from dowse._interfaces.served import ServedEngine, find_server
from dowse._util.process import name_command
from dowse.errors import UsageError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from rich.text import Text

    from dowse._interfaces.cli.draw.progress import ProgressDrawer
    from dowse._model import Announce, Event
    from dowse._project.all_projects import AllProjects
    from dowse._project.engine import Engine
    from dowse._project.registry import Project
    from dowse._project.wiring import Given
    from dowse._project.workspace import ResolvedSettings, Workspace


def _silent(event: Event) -> None:
    """An announcer of its own: the one in `types` would make --help load numpy."""


_Asked = TypeVar("_Asked")


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
        """The folder that the call is made in."""
        return Path.cwd().resolve()

    def progress(self) -> ProgressDrawer:
        """What draws the progress of this call."""
        from dowse._interfaces.cli.draw.progress import ProgressDrawer  # noqa: PLC0415  as above

        return ProgressDrawer(self.aside, quiet=self.quiet)

    def select(self) -> Project:
        """The project that this call is about."""
        return self.workspace.select(self.project, self.here)

    def open(
        self,
        overrides: Mapping[str, Any] | None = None,
        announce: Announce = _silent,
        *,
        fetch: bool = False,
    ) -> AbstractContextManager[Engine]:
        """Opens the project that this call is about; with `fetch`, missing weights are fetched."""
        project = self.select()
        chosen = self.workspace.settings(project, overrides)
        self.say_withheld(project, chosen)
        return self.workspace.open_with(project, chosen, announce, fetch=fetch)

    @contextmanager
    def open_to_search(
        self, announce: Announce = _silent, overrides: Mapping[str, Any] | None = None
    ) -> Iterator[Engine | AllProjects]:
        """Opens what a search is about: a project, or all of them where none is meant."""
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

    @contextmanager
    def ask(self, open_here: Callable[[], AbstractContextManager[_Asked]]) -> Iterator[_Asked]:
        """Open what a command only asks: the engine of a running server, or one of this process.

        The second is opened only if no server answers.
        """
        server = None if self.alone else find_server()
        with ExitStack() as opened:
            if server is None:
                yield opened.enter_context(open_here())
            else:
                # It is no engine, but has all that is asked of one.
                served: Any = ServedEngine(
                    server, self.project, self.asked, lambda: opened.enter_context(open_here())
                )
                yield served

    def open_project(
        self,
        project: Project,
        announce: Announce = _silent,
        overrides: Mapping[str, Any] | None = None,
    ) -> AbstractContextManager[Engine]:
        """Opens one project."""
        chosen = self.workspace.settings(project, overrides)
        self.say_withheld(project, chosen)
        return self.workspace.open_with(project, chosen, announce)

    def begins(self, command: str) -> None:
        """Notes which command this process runs, so that a second writer can name it."""
        name_command(f"dowse {command}")

    def answer(self, shape: object, draw: Callable[[int | None], Iterable[Text]]) -> None:
        """Gives the result: as one JSON document, or drawn for people."""
        if self.json:
            self.write_json(shape)
        else:
            self.out.show(draw(self.out.width))

    def choose_format(self, name: str | None) -> str | None:
        """The form that is asked for, by its name or by --json; None when none is."""
        if self.json and name not in {None, "json"}:
            raise UsageError(f"--json and --format {name} contradict each other.", "Use one.")
        self.json = self.json or name == "json"
        return "json" if self.json else name

    def write_json(self, shape: object) -> None:
        """Writes one JSON document."""
        self.out.write_bytes(as_json(shape))

    def write_json_line(self, shape: object) -> None:
        """Writes one JSON document on one line, for commands that go on."""
        self.out.write_bytes(as_json_line(shape))
        self.out.flush()

    def show_aside(self, draw: Callable[[int | None], Iterable[Text]]) -> None:
        """Draws something on stderr, unless the user wants quiet."""
        if not self.quiet:
            self.out.flush()
            self.aside.show(draw(self.aside.width))

    def remark(self, *sentences: str) -> None:
        """Says something on stderr, unless the user wants quiet."""
        from dowse._interfaces.cli.draw.text import folded, line  # noqa: PLC0415  --help does not need it

        if not self.quiet:
            self.out.flush()
            for sentence in sentences:
                self.aside.show(folded(line((sentence, "yellow")), self.aside.width))

    def say_withheld(self, project: Project, chosen: ResolvedSettings) -> None:
        """Says what the dowse.toml of a project asks for without the user's consent."""
        if chosen.withheld:
            asked = ", to ".join(chosen.withheld)
            why = chosen.local.strange if chosen.local else ""
            self.remark(
                f"Its dowse.toml asks to {asked}: not done without your consent"
                f"{f', because {why}' if why else ''}.",
                f"Agree with: dowse project trust {shlex.quote(str(project.roots[0]))}",
            )


def as_json(shape: object) -> bytes:
    """A shape as a JSON document."""
    import msgspec  # noqa: PLC0415  most calls write none

    return escaped(msgspec.json.format(msgspec.json.encode(shape), indent=2)) + b"\n"


def as_json_line(shape: object) -> bytes:
    """A shape as a JSON document on one line."""
    import msgspec  # noqa: PLC0415  as above

    return escaped(msgspec.json.encode(shape)) + b"\n"


pass_call = click.make_pass_decorator(Call, ensure=True)


class Command(click.Command):
    """A command that takes the global options too, so that they may come before or after it."""

    def __init__(self, *arguments: Any, shape: type | None = None, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.params += global_options()
        self.shape = shape  # of what it prints with --json

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """The option that shows the help, under the names that this context gives it."""
        known = self._help_option
        if known is not None and {*known.opts} != {*self.get_help_option_names(ctx)}:
            self._help_option = None  # click keeps that of the first context, which may lack -h
        return super().get_help_option(ctx)


def global_options() -> list[click.Option]:
    """The options that every command takes."""
    return [
        click.Option(
            ["-p", "--project"],
            metavar="NAME",
            help="Project to use; by default that of the current folder. A search takes `all`.",
            expose_value=False,
            callback=_note("project"),
            shell_complete=_project_names,
        ),
        _flag(["--json"], "json", "Print one JSON document, also for errors."),
        _flag(["-q", "--quiet"], "quiet", "Print only results and errors."),
        _flag(["-v", "--verbose"], "verbose", "Verbose output, with tracebacks of errors."),
    ]


def _flag(names: list[str], field: str, meaning: str) -> click.Option:
    return click.Option(
        names, is_flag=True, help=meaning, expose_value=False, callback=_note(field)
    )


def _note(field: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def note(context: click.Context, _: click.Parameter, value: Any) -> None:
        if value:
            setattr(context.find_root().ensure_object(Call), field, value)

    return note


def _project_names(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    projects = context.find_root().ensure_object(Call).workspace.projects.all()
    return [project.name for project in projects if project.name.startswith(incomplete)]
