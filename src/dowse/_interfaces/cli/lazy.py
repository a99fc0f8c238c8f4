"""A group of commands that are loaded only when they are called."""

from __future__ import annotations

import difflib
import importlib
import keyword
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import click
from click.shell_completion import CompletionItem

from dowse._interfaces.cli.call import global_options

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
        """The command that the arguments name; what is nearest is suggested when there is none."""
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
        """The help of the command that the arguments name; without one, that of the group."""
        if not args:
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()
        return self.resolve_command(ctx, [*args, "--help"])


class LazyGroup(Group):
    """A group whose commands are the modules of `commands` with the same names."""

    def __init__(
        self,
        *arguments: Any,
        topics: Topics,
        aliases: Mapping[str, str] = MappingProxyType({}),
        **keywords: Any,
    ) -> None:
        super().__init__(*arguments, **keywords)
        self._topics = topics
        self.aliases = aliases

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click calls it so
        """All commands, in the order of the help."""
        return [name for topic in self._topics.values() for name in topic]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command by name."""
        cmd_name = self.aliases.get(cmd_name, cmd_name)
        if cmd_name not in self.list_commands(ctx):
            return None
        # As everywhere in Python, a name that is a word of the language gets an underscore.
        name = f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name
        module = importlib.import_module(f"dowse._interfaces.cli.commands.{name}")
        command: click.Command = module.command
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands and options that begin as typed, without loading a command."""
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
        """Lists the commands under their headings, without loading them."""
        for heading, topic in self._topics.items():
            with formatter.section(heading):
                formatter.write_dl(list(topic.items()), col_max=14)
