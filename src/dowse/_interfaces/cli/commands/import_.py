"""`dowse import`: a project out of one file."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import click
from msgspec import Struct

from dowse._interfaces.cli.call import Call, Command, pass_call
from dowse._interfaces.cli.draw.text import folded, line
from dowse._interfaces.records import ProjectRecord
from dowse._model import Counts
from dowse._project.archive.import_ import Imported, import_project
from dowse._project.workspace import Workspace
from dowse._text.amounts import counted
from dowse._util.files import real_path

_EXAMPLES = """\
\b
Examples:
  dowse import notes.dowse
  dowse import notes.dowse -p theirs
  dowse import notes.dowse --root ~/notes     the documents are here, too
  dowse import notes.dowse --replace          instead of the one that is there
"""


class ImportRecord(Struct, frozen=True):
    """What `dowse import` made."""

    project: Annotated[ProjectRecord, "The new project."]
    counts: Annotated[Counts, "How much its index holds."]
    notices: Annotated[tuple[str, ...], "What could not be imported, and how to change that."]

    @classmethod
    def of(cls, imported: Imported, workspace: Workspace) -> ImportRecord:
        """The shape of an import."""
        project = ProjectRecord.of(imported.project, workspace)
        return cls(project, imported.counts, imported.notices)


@click.command("import", cls=Command, shape=ImportRecord, epilog=_EXAMPLES)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--root",
    "roots",
    multiple=True,
    metavar="PATH",
    type=click.Path(path_type=Path, exists=True),
    help="Where its documents lie here, if they do; several in the order of the project's folders.",
)
@click.option(
    "--replace",
    is_flag=True,
    help="Take the place of the project of that name, if there is one; its settings stay.",
)
@pass_call
def command(call: Call, file: Path, roots: tuple[Path, ...], replace: bool) -> None:
    """Make a project of a file that `dowse export` wrote.

    It can be searched by words at once, and by meaning where its model is there. -p gives it
    another name. A file that is damaged, or something else, changes nothing.
    """
    with call.progress() as announce:
        imported = import_project(
            call.workspace,
            real_path(file),
            name=call.project,
            roots=[real_path(root) for root in roots],
            replace=replace,
            announce=announce,
        )
    name, counts = imported.project.name, imported.counts
    held = f"{counted(counts.documents, 'document')}, {counted(counts.chunks, 'chunk')}"
    summary = f"{name}: {held}. Search it with: dowse search -p {quote(name)} WORDS"
    call.answer(
        ImportRecord.of(imported, call.workspace), lambda width: folded(line(summary), width)
    )
    call.remark(*imported.notices)
