"""The console script: all commands, how a line is run, and how its end is told."""

from __future__ import annotations

import atexit
import importlib
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.shell_completion import CompletionItem

from dowse._interfaces.cli.call import INTERRUPTED, Call, Group, Interrupted
from dowse._interfaces.cli.screen import OutputClosed, prepare_streams, safe, silence_streams
from dowse._util.messages import hide_secrets
from dowse._util.process import name_command
from dowse.errors import DowseError

if TYPE_CHECKING:
    from dowse._project.workspace import Given

TOPICS = {
    "Search": {
        "search": "Find the passages that answer a query.",
        "answer": "Answer a question from the documents, with its sources.",
        "explain": "Say why a document is, or is not, among the results.",
        "related": "Show what belongs to a document.",
        "graph": "Export the documents and the links between them.",
        "get": "Show a document, or some lines of it.",
        "open": "Open a file in your editor, at the line.",
        "ls": "List the documents of the index.",
        "recent": "List the documents that changed last, newest first.",
        "tags": "List the tags, with how many documents have each.",
        "folders": "List the folders, with how many documents are below each.",
        "fields": "List the fields of the frontmatter, with how many documents have each.",
    },
    "Serve": {
        "serve": "Serve the web page, the JSON API and MCP from one warm process.",
        "mcp": "Serve agents over the Model Context Protocol.",
        "skill": "Teach an agent when and how to use dowse.",
    },
    "Index": {
        "index": "Create or update the index of a folder.",
        "watch": "Update the index whenever the folder changes.",
        "status": "Show what the index holds, and whether it is up to date.",
        "reset": "Empty the index; documents stay as they are.",
        "export": "Write a project into one file: texts, chunks and vectors.",
        "move": "Move the index to a database that machines share, or back.",
        "import": "Make a project of a file that `dowse export` wrote.",
    },
    "Measure": {
        "eval": "Measure how well a judged collection is answered.",
        "tune": "Find the settings that rank best on a project's own documents.",
    },
    "Set up": {
        "project": "List, add, describe, remove, rename, restore or trust projects.",
        "config": "Show and change settings.",
        "models": "List, fetch and remove model weights.",
        "doctor": "Find what is wrong, and say how to fix it.",
        "completion": "Print the completion script for a shell.",
        "version": "Show the version of dowse.",
    },
}
"""All commands, as the help lists them."""

ALIASES = {
    "query": "search",
    "find": "search",
    "ask": "answer",
    "update": "index",
    "add": "index",
    "init": "index",
    "show": "get",
    "cat": "get",
    "list": "ls",
    "edit": "open",
    "projects": "project",
}
"""Other names of commands, which people who know other tools try."""

_MODULES = {
    "search": ("search", "answer", "explain"),
    "documents": ("get", "open", "related", "graph"),
    "lists": ("ls", "recent", "tags", "folders", "fields"),
    "index": ("index", "watch", "status", "reset"),
    "archive": ("export", "import", "move"),
    "evaluation": ("eval", "tune"),
    "setup": ("models", "doctor", "completion", "version"),
}
"""Which commands share a module of `commands`; every other one has its own."""

_EXAMPLES = """\
\b
Examples:
  dowse index ~/notes                    create or update an index
  dowse search "how do I restore a backup"
  dowse search -n 10 --mode keyword get_station_by_id
  dowse answer "how often is the rain gauge calibrated"
  dowse get guides/restore.md:12:20      twenty lines from line 12
  dowse COMMAND --help                   more about a command

Other names work too: query and find for search, update, add and init for index.

Exit codes: 0 fine, 1 failed, 2 wrong call, 3 indexed but some files were left out, 4 the index
cannot serve, 5 another process is writing, 70 a bug, 130 interrupted.
"""

_CLOSED = 141  # the reader of the output has gone away: 128 and the number of that signal
_BUG = 70  # EX_SOFTWARE of sysexits.h


Topics = Mapping[str, Mapping[str, str]]
"""Commands with their summaries, under the headings that the help shows."""


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


@click.group(
    cls=LazyGroup,
    topics=TOPICS,
    modules=_MODULES,
    aliases=ALIASES,
    epilog=_EXAMPLES,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)
@click.option("-V", "--version", is_flag=True, help="Show the version of dowse.")
@click.pass_context
def cli(context: click.Context, version: bool) -> None:
    """Search a folder of Markdown by meaning and by words, on your own machine.

    dowse reads your documents and never writes to them.
    """
    if version:
        context.exit(context.invoke(context.command.get_command(context, "version")))  # type: ignore[attr-defined]
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
    else:
        name_command(f"dowse {context.invoked_subcommand}")  # a second writer will name it


# ── Running a line ───────────────────────────────────────────────────────────


def main() -> NoReturn:
    """Run the console script."""
    ended = list[int]()
    atexit.register(_leave, ended)  # what is registered first runs last
    # A second thread of numpy's makes a search 3 to 8 % faster and takes twice the processor time,
    # because it keeps a core busy while it waits for the next product.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    code = run(sys.argv[1:])
    if code == INTERRUPTED:
        os._exit(code)  # after Ctrl-C nobody wants to wait for threads
    ended.append(code)
    sys.exit(code)


def _leave(ended: Sequence[int]) -> None:
    """End the process when threads have ended and all others have cleaned up.

    To take down every module as well takes a tenth of the time of a search.
    """
    if not ended:
        return
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        return  # the interpreter says what is wrong with a stream
    os._exit(ended[0])


def run(arguments: Sequence[str], given: Given | None = None) -> int:
    """Run a line, and return its exit code; `given` are parts that projects are opened with."""
    prepare_streams()
    # Until the line is understood nobody knows whether it asks for JSON, and it may never be.
    call = Call(json=_asks_for_json(arguments), given=given)
    try:
        result = cli.main(list(arguments), prog_name="dowse", standalone_mode=False, obj=call)
        call.out.flush()
    except BaseException as error:  # noqa: BLE001  this is the edge: everything gets its exit code
        try:
            code = _report(error, call)
            call.out.flush()
            call.aside.flush()
        except BaseException as second:  # noqa: BLE001  the reader may go away meanwhile
            return _report(second, call)
        return code
    return result if isinstance(result, int) else 0


def _asks_for_json(arguments: Sequence[str]) -> bool:
    options = [*arguments, "--"][: [*arguments, "--"].index("--")]
    if "--json" in options or "--format=json" in options:
        return True
    return ("--format", "json") in pairwise(options)


# ── Telling a failure: what happened, what to do, and a number ───────────────


def _report(error: BaseException, call: Call) -> int:
    """Show the user an error, and return its exit code."""
    if isinstance(error, OutputClosed):
        silence_streams()
        return _CLOSED
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    if (call.verbose or os.environ.get("DOWSE_DEBUG")) and not isinstance(
        error, click.ClickException
    ):
        call.aside.write(safe(hide_secrets("".join(traceback.format_exception(error)))))
    failure = _as_failure(error)
    if call.json:
        call.write_json({"error": failure.message, "hint": failure.hint})
    else:
        _draw_failure(failure, call)
    return failure.exit_code


def _draw_failure(failure: DowseError, call: Call) -> None:
    call.out.flush()
    if failure.exit_code == INTERRUPTED and call.aside.is_terminal:
        call.aside.write("\r")  # over the ^C that the terminal shows
    call.aside.say(("dowse: ", "bold red"), failure.message)
    if failure.hint:
        call.aside.say(failure.hint)


class _Bug(DowseError):
    exit_code = _BUG


def _as_failure(error: BaseException) -> DowseError:
    if isinstance(error, DowseError):
        return error
    if isinstance(error, (click.Abort, KeyboardInterrupt)):
        return Interrupted("Stopped.")
    if isinstance(error, click.ClickException):
        return _from_click(error)
    if isinstance(error, OSError):
        return DowseError(f"{error}.", "Check the disk and the permissions: dowse doctor")
    return _Bug(
        f"This is a bug: {type(error).__name__}: {error}",
        "Please report it, with what DOWSE_DEBUG=1 shows when you run the command again.",
    )


def _from_click(error: click.ClickException) -> DowseError:
    failure = DowseError(error.format_message())
    failure.exit_code = error.exit_code
    context = getattr(error, "ctx", None)
    if context:
        failure.hint = f"See: {context.command_path} --help"
    return failure
