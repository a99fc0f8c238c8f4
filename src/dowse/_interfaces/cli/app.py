"""All commands of the command line, and how a line is run in this process."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import click

from dowse._interfaces.cli.call import Call
from dowse._interfaces.cli.commands.version import command as version_command
from dowse._interfaces.cli.failures import report
from dowse._interfaces.cli.lazy import LazyGroup

if TYPE_CHECKING:
    from dowse._project.wiring import Given

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
        "move": "Move the index to an engine that machines share, or back.",
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


@click.group(
    cls=LazyGroup,
    topics=TOPICS,
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
        context.exit(context.invoke(version_command))
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
    else:
        context.find_root().ensure_object(Call).begins(context.invoked_subcommand)


def run_here(arguments: Sequence[str], given: Given | None = None) -> int:
    """Runs a line in this process, and gives its exit code."""
    call = _call(arguments, given)
    try:
        result = cli.main(list(arguments), prog_name="dowse", standalone_mode=False, obj=call)
        call.out.flush()
    except BaseException as error:  # noqa: BLE001  this is the edge: everything gets its exit code
        return _reported(error, call)
    return result if isinstance(result, int) else 0


def _call(arguments: Sequence[str], given: Given | None = None) -> Call:
    # Until the line is understood nobody knows whether it asks for JSON, and it may never be.
    before_dashes = list(arguments)[: _position(arguments, "--")]
    return Call(json=_asks_for_json(before_dashes), given=given)


def _reported(error: BaseException, call: Call) -> int:
    try:
        code = report(error, call)
        call.out.flush()
        call.aside.flush()
    except BaseException as second:  # noqa: BLE001  the reader may go away meanwhile
        return report(second, call)
    return code


def _asks_for_json(arguments: Sequence[str]) -> bool:
    if "--json" in arguments or "--format=json" in arguments:
        return True
    return ("--format", "json") in pairwise(arguments)


def _position(arguments: Sequence[str], wanted: str) -> int:
    return arguments.index(wanted) if wanted in arguments else len(arguments)
