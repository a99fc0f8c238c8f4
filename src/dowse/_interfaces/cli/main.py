"""The console script: all commands, how a line is run, and how its end is told."""

from __future__ import annotations

import atexit
import codecs
import io
import os
import sys
import traceback
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NoReturn

import click

from dowse._config.former import former
from dowse._interfaces.cli.call import INTERRUPTED, Call, Interrupted, LazyGroup, OutputClosed
from dowse._util.messages import hide_secrets, safe
from dowse._util.process import name_command
from dowse.errors import DowseError

if TYPE_CHECKING:
    from dowse._project.workspace import Given

TOPICS = {
    "Search": {
        "search": "Find the passages that answer a query.",
        "answer": "Answer a question from the documents, with its sources.",
        "explain": "Say why a document is, or is not, among the results.",
        "related": "Show documents related to a document.",
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
        "serve": "Serve the web page, the JSON API and MCP, with indexes and model loaded.",
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
        "import": "Make a project from a file that `dowse export` wrote.",
    },
    "Measure": {
        "eval": "Measure how well a judged collection is answered.",
        "tune": "Fit the confidence to the embedding model of a project.",
    },
    "Set up": {
        "project": "List, add, describe, move, remove, rename, restore or trust projects.",
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
    "documents": ("get", "open", "related", "graph", "ls", "recent", "tags", "folders", "fields"),
    "index": ("index", "watch", "status", "reset"),
    "archive": ("export", "import", "move"),
    "evaluation": ("eval", "tune"),
    "install": ("skill",),
    "project": ("project", "config"),
    "serve": ("serve", "mcp"),
    "setup": ("models", "doctor", "completion", "version"),
}
"""Which commands share a module of `commands`; every other one has its own."""


_CLOSED = 141  # the reader of the output has gone away: 128 and the number of that signal
_BUG = 70  # EX_SOFTWARE of sysexits.h


@click.group(
    cls=LazyGroup,
    topics=TOPICS,
    modules=_MODULES,
    aliases=ALIASES,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)
@click.option("-V", "--version", is_flag=True, help="Show the version of dowse.")
@click.pass_context
def cli(context: click.Context, version: bool) -> None:
    """Search a folder of Markdown by meaning and by words, on your own machine.

    dowse reads your documents and never writes to them.

    Examples:
      dowse index ~/notes                    create or update an index
      dowse search "how do I restore a backup"
      dowse search -n 10 --mode keyword get_station_by_id
      dowse answer "when is a full dump written"
      dowse get guides/restore-the-database.md:12:20     twenty lines from line 12
      dowse COMMAND --help                   more about a command

    Other names work too: query and find for search, update, add and init for index.

    Exit codes: 0 success, 1 failure, 2 wrong usage, 3 indexed but some files were left out, 4 the
    index cannot be used, 5 another process is writing, 70 a bug, 130 interrupted.
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
    codecs.register_error("dowse", _replaced)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="dowse")
    # Until the line is understood nobody knows whether it asks for JSON, and it may never be.
    call = Call(json=_asks_for_json(arguments), given=given)
    try:
        result = cli.main(list(arguments), prog_name="dowse", standalone_mode=False, obj=call)
        _flush()
    except BaseException as error:  # noqa: BLE001  this is the edge: everything gets its exit code
        try:
            code = _report(error, call)
            _flush()
        except BaseException as second:  # noqa: BLE001  the reader may go away meanwhile
            return _report(second, call)
        return code
    return result if isinstance(result, int) else 0


def _flush() -> None:
    """Hand over all that was written, also by click."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError as error:
        raise OutputClosed from error


def _asks_for_json(arguments: Sequence[str]) -> bool:
    options = [*arguments, "--"][: [*arguments, "--"].index("--")]
    is_named = "--json" in options or "--format=json" in options
    return is_named or ("--format", "json") in pairwise(options)


# What shows a character in an encoding that has few.
_ASCII = {"…": "...", "·": "-", "—": "-", "–": "-", "→": "->", "▰": "#", "▱": "-", "✓": "ok"}


def _replaced(error: UnicodeError) -> tuple[str, int]:
    """Write what an encoding does not have: a sign like it, or its number."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    wrong = error.object[error.start : error.end]
    return "".join(_ASCII.get(one) or _numbered(one) for one in wrong), error.end


def _numbered(character: str) -> str:
    if 0xDC80 <= ord(character) <= 0xDCFF:  # a byte of a file name that is no UTF-8
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("ascii", "backslashreplace").decode()


# ── Telling a failure: what happened, what to do, and a number ───────────────


def _report(error: BaseException, call: Call) -> int:
    """Show the user an error, and return its exit code."""
    if isinstance(error, OutputClosed):
        # The interpreter would complain at its end that nobody reads any more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _CLOSED
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    is_own = isinstance(error, click.ClickException)
    if (call.verbose or os.environ.get("DOWSE_DEBUG")) and not is_own:
        call.aside.write(safe(hide_secrets("".join(traceback.format_exception(error)))))
    failure = _as_failure(error)
    if call.json:
        call.out.write_json({"error": failure.message, "hint": failure.hint})
        return failure.exit_code
    call.out.flush()
    if failure.exit_code == INTERRUPTED and call.aside.is_terminal:
        call.aside.write("\r")  # over the ^C that the terminal shows
    call.aside.say(("dowse: ", "bold red"), failure.message)
    if failure.hint:
        call.aside.say(failure.hint)
    return failure.exit_code


def _usage(error: click.ClickException) -> str:
    """Say what is wrong with a command line; of an unknown option, which one may be meant."""
    if not isinstance(error, click.NoSuchOption):
        return error.format_message()
    near = sorted(error.possibilities or ())
    if error.ctx and (found := former("parameter", error.option_name)):
        options = {name for one in error.ctx.command.params for name in one.opts}
        near = [one for one in (f"--{found.here.replace('_', '-')}",) if one in options] or near
    instead = f"Did you mean {' or '.join(near)}?" if near else ""
    return f"There is no option {error.option_name!r}. {instead}".rstrip()


def _as_failure(error: BaseException) -> DowseError:
    if isinstance(error, DowseError):
        return error
    if isinstance(error, (click.Abort, KeyboardInterrupt)):
        return Interrupted("Stopped.")
    if isinstance(error, OSError):
        return DowseError(f"{error}.", "Check the disk and the permissions: dowse doctor")
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        hint = f"See: {context.command_path} --help" if context else ""
        failure = DowseError(_usage(error), hint)
        failure.exit_code = error.exit_code
        return failure
    bug = DowseError(
        f"This is a bug: {type(error).__name__}: {error}",
        "Please report it, with what DOWSE_DEBUG=1 shows when you run the command again.",
    )
    bug.exit_code = _BUG
    return bug
