"""`dowse export`, `import`, `move`: a project as one file, or in another store."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import click
from msgspec import Struct

from dowse._interfaces.cli.call import Call, Command, pass_call
from dowse._interfaces.records import ProjectRecord
from dowse._model import Counts
from dowse._project.archive.archive import ExportRecord, export_project
from dowse._project.archive.import_ import import_project
from dowse._project.archive.move import MoveRecord, move_project
from dowse._util.files import real_path, short_path
from dowse._util.messages import counted, size


@click.command(cls=Command, record=ExportRecord)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite a file that is there already.")
@pass_call
def export_command(call: Call, file: Path, force: bool) -> None:
    """Write a project into one file: texts, chunks and vectors.

    An import needs neither the documents nor the model. The file holds the whole text of
    the documents, but no settings beyond how they were cut, and no paths of this machine.

    Examples:
      dowse export ~/notes.dowse
      dowse export -p work ~/work.dowse --force
    """
    with call.progress() as announce:
        exported = export_project(
            call.workspace, call.select(), real_path(file), overwrite=force, announce=announce
        )
    held = f"{counted(exported.documents, 'document')}, {counted(exported.chunks, 'chunk')}"
    call.answer(exported, f"{short_path(Path(exported.file))}: {held}, {size(exported.bytes)}.")
    call.remark(*exported.notices)


class ImportRecord(Struct, frozen=True):
    """What `dowse import` made."""

    project: Annotated[ProjectRecord, "The new project."]
    counts: Annotated[Counts, "How much its index holds."]
    notices: Annotated[tuple[str, ...], "What could not be imported, and how to change that."]


@click.command("import", cls=Command, record=ImportRecord)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--root",
    "roots",
    multiple=True,
    metavar="PATH",
    type=click.Path(path_type=Path, exists=True),
    help="Where its documents are on this machine, if they are; repeat it for each folder.",
)
@click.option(
    "--replace",
    is_flag=True,
    help="Replace the project of that name, if there is one; its settings stay.",
)
@pass_call
def import_command(call: Call, file: Path, roots: tuple[Path, ...], replace: bool) -> None:
    """Make a project from a file that `dowse export` wrote.

    It can be searched by words at once, and by meaning if its model is on this machine. -p gives it
    another name. A file that is damaged, or no export, changes nothing.

    Examples:
      dowse import ~/notes.dowse
      dowse import ~/notes.dowse -p theirs
      dowse import ~/notes.dowse --root ~/notes     the documents are here, too
      dowse import ~/notes.dowse --replace          replace an earlier copy
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
    call.answer(
        ImportRecord(ProjectRecord.of(imported.project, call.workspace), counts, imported.notices),
        f"{name}: {held}. Search it with: dowse search -p {quote(name)} WORDS",
    )
    call.remark(*imported.notices)


@click.command(cls=Command, record=MoveRecord)
@click.option(
    "--to",
    required=True,
    metavar="URL",
    help="The database, or `here` for the folder of the project.",
)
@click.option(
    "--name", metavar="NAME", help="Name of the index there, if several machines share it."
)
@click.option("--search", metavar="WHAT", help="What searches there: a value of store.search.")
@click.option("--token-env", metavar="NAME", help="Environment variable that holds the password.")
@click.option("--keep", is_flag=True, help="Keep the index where it was as well.")
@pass_call
def move_command(  # noqa: PLR0917  (its options)
    call: Call,
    to: str,
    name: str | None,
    search: str | None,
    token_env: str | None,
    keep: bool,
) -> None:
    """Move the index to a database that machines share, or back.

    Documents, chunks, vectors, links and words move; no model runs. A move that was interrupted
    goes on where it stopped. At the end both sides are compared by their counts and by a sample of
    searches. Only then does the project switch to the new place; the old index is removed.

    Examples:
      dowse move --to postgresql://dowse@10.0.0.5/search --token-env DATABASE_PASSWORD
      dowse move --to postgresql+tls://dowse@db.example.org/search --search postgresql --name notes
      dowse move --to here             back into the project's folder
    """
    changes = {"name": name, "search": search, "token_env": token_env}
    with call.progress() as announce:
        record = move_project(
            call.workspace,
            call.select(),
            to,
            changes={option: value for option, value in changes.items() if value is not None},
            keep=keep,
            announce=announce,
        )
    call.answer(
        record,
        f"{record.project}: {counted(record.documents, 'document')} with"
        f" {counted(record.chunks, 'chunk')} moved to {record.target}."
        f" {record.agreement:.0%} of a sample of searches find the same as before.",
    )
