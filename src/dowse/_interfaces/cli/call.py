"""One call of the command line: its global options, and what every command does with them."""

from __future__ import annotations

import difflib
import json
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import cached_property, partial
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TextIO

import click
from click.shell_completion import CompletionItem

from dowse._config.former import suggested
from dowse._util.files import locations, make_private_folder, read_small, replace_file
from dowse.errors import DowseError, Refused, UsageError

if TYPE_CHECKING:
    from rich.text import Text

    from dowse._interfaces.cli.draw import ProgressDrawer, Screen
    from dowse._model import Announce, Response
    from dowse._project.all_projects import AllProjects
    from dowse._project.engine import Engine
    from dowse._project.registry import Project
    from dowse._project.workspace import Given, ResolvedSettings, Workspace


INTERRUPTED = 130
"""The exit code after Ctrl-C: 128 and the number of the signal."""


class Interrupted(DowseError):
    """The user pressed Ctrl-C."""

    exit_code = INTERRUPTED


class OutputClosed(Exception):
    """The reader of the output has closed it, as `head` does."""


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
        return _screen(sys.stdout)

    @cached_property
    def aside(self) -> Screen:
        """Where progress and remarks go."""
        return _screen(sys.stderr)

    @property
    def here(self) -> Path:
        """Return the folder that the call is made in."""
        return Path.cwd().resolve()

    def progress(self) -> ProgressDrawer:
        """Return what draws the progress of this call."""
        return self.aside.progress(quiet=self.quiet)

    def select(self) -> Project:
        """Find the project that this call is about."""
        return self.workspace.select(self.project, self.here)

    def open(self, announce: Announce = lambda _: None) -> AbstractContextManager[Engine]:
        """Open the project that this call is about."""
        return self.open_project(self.select(), announce)

    @contextmanager
    def open_to_search(
        self,
        announce: Announce = lambda _: None,
        overrides: Mapping[str, Any] | None = None,
    ) -> Iterator[Engine | AllProjects]:
        """Open what a call reads: a project, or all of them if none is meant."""
        with ExitStack() as opened:

            def engine_of(project: Project) -> Engine:
                return opened.enter_context(self.open_project(project, announce, overrides))

            yield self.workspace.open_to_search(self.project, self.here, engine_of)

    def open_project(
        self,
        project: Project,
        announce: Announce,
        overrides: Mapping[str, Any] | None = None,
        *,
        fetch: bool = False,
    ) -> AbstractContextManager[Engine]:
        """Open one project; with `fetch`, fetch missing weights."""
        chosen = self.workspace.settings(project, overrides)
        self.say_withheld(project, chosen)
        return self.workspace.open(project, None, announce, fetch=fetch, chosen=chosen)

    def answer(self, record: object, shown: str | Callable[[int | None], Iterable[Text]]) -> None:
        """Print the result: as one JSON document, or for people as a sentence or drawn lines."""
        if self.json:
            self.out.write_json(record)
        elif isinstance(shown, str):
            self.out.say(shown)
        else:
            self.out.show(shown(self.out.width))

    def choose_format(self, name: str | None) -> str | None:
        """Return the form that is asked for, by its name or by --json; None if none is."""
        if self.json and name not in {None, "json"}:
            raise UsageError(f"--json and --format {name} contradict each other.", "Use one.")
        self.json = self.json or name == "json"
        return "json" if self.json else name

    def show_aside(self, draw: Callable[[int | None], Iterable[Text]]) -> None:
        """Draw something on stderr, unless the user wants quiet."""
        if not self.quiet:
            self.out.flush()
            self.aside.show(draw(self.aside.width))

    def remark(self, *sentences: str) -> None:
        """Say something on stderr, unless the user wants quiet."""
        if not self.quiet:
            self.out.flush()
            for sentence in sentences:
                self.aside.say((sentence, "yellow"))

    def can_confirm(self) -> bool:
        """Tell whether a person is there who can be asked."""
        return not self.json and sys.stdin.isatty() and self.aside.is_terminal

    def agrees(self, question: str) -> bool:
        """Ask the user, if a person is there."""
        if not self.can_confirm():
            return False
        self.out.flush()
        return click.confirm(question, err=True)

    def require_yes(self, question: str, *, yes: bool) -> None:
        """Return only if the user agrees; raise `Refused` if not, or if nobody can be asked."""
        if not yes and not self.can_confirm():
            raise Refused(f"{question} Not interactive.", "Confirm with --yes.")
        if not yes and not self.agrees(question):
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

    # ── The last list of results, so that `dowse open 2` opens the second of them ──

    @property
    def _results(self) -> Path:
        return locations().cache / "last-results.json"

    def remember(self, response: Response) -> None:
        """Keep the places of a response; if nothing can be written, nothing is kept."""
        listed = {
            hit.rank: [hit.project, hit.document, hit.line]
            for hit in response.hits or response.nearest
        }
        with suppress(OSError):
            make_private_folder(self._results.parent)
            replace_file(self._results, json.dumps(listed).encode())

    def recall(self) -> dict[int, tuple[str, str, int]]:
        """Return project, document and line by the number of the result; empty: none are kept."""
        try:
            listed = json.loads(read_small(self._results))
            return {
                int(rank): (str(project), str(document), int(line))
                for rank, (project, document, line) in listed.items()
            }
        except (OSError, ValueError, TypeError, AttributeError, RecursionError):
            return {}


def _screen(stream: TextIO) -> Screen:
    from dowse._interfaces.cli.draw import Screen  # noqa: PLC0415  --help draws nothing

    return Screen(stream)


# ── Commands and groups that take the global options ────────────────────────────────────

pass_call = click.make_pass_decorator(Call, ensure=True)


class Command(click.Command):
    """A command that takes the global options too, so that they may come before or after it."""

    def __init__(self, *arguments: Any, record: type | None = None, **keywords: Any) -> None:
        super().__init__(*arguments, **_with_examples(keywords))
        self.params += global_options()
        self.record = record  # of what it prints with --json


def _with_examples(keywords: dict[str, Any]) -> dict[str, Any]:
    """Let the examples at the end of a docstring follow the options, as they are written."""
    text, mark, examples = cleandoc(keywords["help"] or "").partition("\n\nExamples:\n")
    return {"epilog": f"\b\nExamples:\n{examples}" if mark else None} | keywords | {"help": text}


def global_options() -> list[click.Option]:
    """Make the options that every command takes."""
    option = partial(click.Option, expose_value=False, callback=_note)
    return [
        option(
            ["-p", "--project"],
            metavar="NAME",
            help="The project; by default that of the current folder. `all` means all of them.",
            shell_complete=_project_names,
        ),
        option(["--json"], is_flag=True, help="Print one JSON document, also for errors."),
        option(["-q", "--quiet"], is_flag=True, help="Print only results and errors."),
        option(
            ["-v", "--verbose"], is_flag=True, help="Verbose output, with tracebacks of errors."
        ),
    ]


def _note(context: click.Context, parameter: click.Parameter, value: object) -> None:
    if value:
        setattr(context.find_root().ensure_object(Call), str(parameter.name), value)


def _project_names(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    projects = context.find_root().ensure_object(Call).workspace.projects.all()
    return [project.name for project in projects if project.name.startswith(incomplete)]


_NEAR = 0.65  # how alike two names must be for one to be suggested: `delete` is not `related`


class Group(click.Group):
    """A group that takes the global options and knows what nearly was a command."""

    aliases: Mapping[str, str] = MappingProxyType({})  # other names that people try

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **_with_examples(keywords))
        self.params += global_options()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Show the help of a group that is called without a command."""
        return super().parse_args(ctx, args if args or self.invoke_without_command else ["--help"])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments name; suggest the nearest if there is none."""
        if args == ["help"]:
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()
        if args[0] == "help":  # as git has it
            return self.resolve_command(ctx, [*args[1:], "--help"])
        known = [*self.list_commands(ctx), *self.aliases]
        if args[0] not in known and not args[0].startswith("-"):
            # What empties an index is never suggested.
            safe = [one for one in known if one != "reset"]
            spelled = difflib.get_close_matches(args[0], safe, n=2, cutoff=_NEAR)
            near = list(dict.fromkeys(self.aliases.get(one, one) for one in spelled))
            projects = self.get_command(ctx, "project")
            if isinstance(projects, click.Group) and args[0] in projects.commands:
                near = [f"project {args[0]}", *near]
            is_sentence = len(args) > 2 and not any(one.startswith("-") for one in args)
            if is_sentence and not spelled and "search" in known:
                near.insert(0, f"search {shlex.quote(' '.join(args))}")
            instead = f"Did you mean {' or '.join(near)}?" if near else ""
            if ctx.parent is None:  # other tools have no such groups
                instead = suggested("command", args[0]) or instead
            ctx.fail(f"There is no command {args[0]!r}. {instead}".rstrip())
        return super().resolve_command(ctx, args)


class LazyGroup(Group):
    """A group whose commands are in the modules of `commands`, each as NAME_command."""

    def __init__(
        self,
        *arguments: Any,
        topics: Mapping[str, Mapping[str, str]],
        modules: Mapping[str, Sequence[str]] = MappingProxyType({}),
        aliases: Mapping[str, str] = MappingProxyType({}),
        **keywords: Any,
    ) -> None:
        """Take commands with their summaries, under the headings that the help shows.

        `modules` says which commands share a module; every other one has its own.
        """
        super().__init__(*arguments, **keywords)
        self._topics = topics
        self._summaries = {name: one for topic in topics.values() for name, one in topic.items()}
        self._modules = {name: module for module, names in modules.items() for name in names}
        self.aliases = aliases

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click calls it so
        """List all commands, in the order of the help."""
        return list(self._summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  as above
        """Load a command by name."""
        cmd_name = self.aliases.get(cmd_name, cmd_name)
        if cmd_name not in self._summaries:
            return None
        module = import_module(
            f"dowse._interfaces.cli.commands.{self._modules.get(cmd_name, cmd_name)}"
        )
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete commands and options, without loading a command."""
        commands = [
            CompletionItem(name, help=summary)
            for name, summary in self._summaries.items()
            if name.startswith(incomplete)
        ]
        return commands + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002  as above
        formatter: click.HelpFormatter,
    ) -> None:
        """List the commands under their headings, without loading them."""
        for heading, topic in self._topics.items():
            with formatter.section(heading):
                formatter.write_dl(list(topic.items()), col_max=14)
