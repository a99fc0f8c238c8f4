"""`dowse open`: the file of a result or of a reference, in the user's editor."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import Annotated

import click
from msgspec import Struct

from dowse._config.editors import open_command, viewer_command
from dowse._interfaces.cli.call import Call, Command, pass_call
from dowse._interfaces.cli.complete import document_ids
from dowse._interfaces.cli.last_results import Result, recall
from dowse._project.engine import Engine
from dowse._text.amounts import counted
from dowse._text.file_names import CONVERTED, kind_of
from dowse.errors import DowseError, NotFound, UsageError

_EXAMPLES = """\
\b
Examples:
  dowse open 2                          the second result of the last search
  dowse open guides/restore.md:12       at line 12
  dowse open "[[Restore#Steps]]"        at a heading
  dowse open 1 --with obsidian
  dowse config set open.editor "code --reuse-window"
  dowse config set open.editor "myeditor --at {line} {path}"
"""


class OpenRecord(Struct, frozen=True):
    """What `dowse open` opened."""

    path: Annotated[str, "The file, absolute."]
    line: Annotated[int, "From 1."]
    command: Annotated[tuple[str, ...], "What was run, or would be with --print."]


@click.command(cls=Command, shape=OpenRecord, epilog=_EXAMPLES)
@click.argument("reference", metavar="N|REFERENCE", shell_complete=document_ids)
@click.option("--with", "editor", default="", metavar="EDITOR", help="The editor for this call.")
@click.option("--print", "only_print", is_flag=True, help="Print the command; do not run it.")
@pass_call
def command(call: Call, reference: str, editor: str, only_print: bool) -> None:
    """Open a file in your editor, at the line.

    N is a place in the last list of results; REFERENCE is anything that `dowse get` takes. The
    editor is that of the setting open.editor, or of $VISUAL or $EDITOR; without any, the system
    opens the file.
    """
    result = _listed(call, reference)
    if result is not None:
        call.project = result.project
    with call.open() as engine:
        path, line = _place(engine, call, reference, result)
        chosen = editor or engine.settings.open.editor
    if not path.exists():
        raise NotFound(f"{path} is not there any more.", "Update the index with: dowse index")
    run = _command(path, line, chosen)
    if not only_print:
        _run(run)
    if call.json:
        call.write_json(OpenRecord(str(path), line, tuple(run)))
    elif only_print:
        call.out.write(shlex.join(run) + "\n")


def _listed(call: Call, reference: str) -> Result | None:
    """The result of this number in the last list; None when the reference is no such number."""
    if not reference.isdecimal() or len(reference) >= 4:  # four digits may be an id
        return None
    known = recall(call.workspace.locations)
    if not known:
        raise UsageError("There is no list of results yet.", "Search first: dowse search QUERY")
    if int(reference) not in known:
        raise UsageError(
            f"The last list has no result {reference}.",
            f"It has {counted(len(known), 'result')}, from {min(known)} to {max(known)}.",
        )
    return known[int(reference)]


def _place(engine: Engine, call: Call, reference: str, result: Result | None) -> tuple[Path, int]:
    if result is not None:
        return engine.path_of(result.document), result.line
    passage = engine.get(reference, here=call.here)
    return engine.path_of(passage.document), passage.first_line


def _command(path: Path, line: int, editor: str) -> list[str]:
    """An editor shows text; the lines of other files are those of what they were converted to."""
    if kind_of(path.name) in CONVERTED and "://" not in editor:
        return viewer_command(path)
    return open_command(path, line, editor)


def _run(command: list[str]) -> None:
    try:
        code = subprocess.run(command, check=False).returncode  # noqa: S603  the user's own editor
    except OSError as error:
        raise UsageError(
            f"{command[0]} cannot be started: {error.strerror}.",
            "Set another editor with: dowse config set open.editor code",
        ) from error
    if code:
        raise DowseError(
            f"{command[0]} ended with the code {code}.",
            "See what it says, or set an editor with: dowse config set open.editor code",
        )
