"""Commands and groups of click that take the global options and are loaded when they are called."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import click
from click.shell_completion import CompletionItem

from dowse._interfaces.cli.call import Call

pass_call = click.make_pass_decorator(Call, ensure=True)


class Command(click.Command):
    """A command that takes the global options too, so that they may come before or after it."""

    def __init__(self, *arguments: Any, record: type | None = None, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.params += global_options()
        self.record = record  # of what it prints with --json


def global_options() -> list[click.Option]:
    """Make the options that every command takes."""
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


Topics = Mapping[str, Mapping[str, str]]
"""Commands with their summaries, under the headings that the help shows."""

_NEAR = 0.65  # how alike two names must be for one to be suggested: `delete` is not `related`


class Group(click.Group):
    """A group that takes the global options and knows what nearly was a command."""

    aliases: Mapping[str, str] = MappingProxyType({})  # other names that people try

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.params += global_options()

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments name; suggest the nearest if there is none."""
        known = self.list_commands(ctx)
        if args[0] == "help":  # as git has it
            return self._help(ctx, args[1:])
        if args[0] not in [*known, *self.aliases] and not args[0].startswith("-"):
            spelled = difflib.get_close_matches(args[0], [*known, *self.aliases], n=2, cutoff=_NEAR)
            near = list(dict.fromkeys(self.aliases.get(one, one) for one in spelled))
            said = f"There is no command {args[0]!r}."
            ctx.fail(f"{said} Did you mean {' or '.join(near)}?" if near else said)
        return super().resolve_command(ctx, args)

    def _help(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Show the help of the command that the arguments name; without one, that of the group."""
        if not args:
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()
        return self.resolve_command(ctx, [*args, "--help"])


class LazyGroup(Group):
    """A group whose commands are in the modules of `commands`, each as NAME_command."""

    def __init__(
        self,
        *arguments: Any,
        topics: Topics,
        modules: Mapping[str, Sequence[str]],
        aliases: Mapping[str, str],
        **keywords: Any,
    ) -> None:
        super().__init__(*arguments, **keywords)
        self._topics = topics
        self._modules = {name: module for module, names in modules.items() for name in names}
        self.aliases = aliases

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click calls it so
        """List all commands, in the order of the help."""
        return [name for topic in self._topics.values() for name in topic]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command by name."""
        cmd_name = self.aliases.get(cmd_name, cmd_name)
        if cmd_name not in self.list_commands(ctx):
            return None
        name = self._modules.get(cmd_name, cmd_name)
        module = importlib.import_module(f"dowse._interfaces.cli.commands.{name}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete commands and options, without loading a command."""
        commands = [
            CompletionItem(name, help=summary)
            for topic in self._topics.values()
            for name, summary in topic.items()
            if name.startswith(incomplete)
        ]
        return commands + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002  click calls it so
        formatter: click.HelpFormatter,
    ) -> None:
        """List the commands under their headings, without loading them."""
        for heading, topic in self._topics.items():
            with formatter.section(heading):
                formatter.write_dl(list(topic.items()), col_max=14)
