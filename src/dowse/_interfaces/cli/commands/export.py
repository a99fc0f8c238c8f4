"""`dowse export`: a project as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click
from msgspec import Struct

from dowse._interfaces.cli.call import Call, Command, pass_call
from dowse._interfaces.cli.draw.text import folded, line
from dowse._project.archive.export import Exported, export_project
from dowse._text.amounts import counted, size
from dowse._util.files import real_path
from dowse._util.locations import short_path

_EXAMPLES = """\
\b
Examples:
  dowse export notes.dowse
  dowse export -p work /tmp/work.dowse --force
"""


class ExportRecord(Struct, frozen=True):
    """What `dowse export` wrote."""

    project: Annotated[str, "Name of the project."]
    file: Annotated[str, "The file, absolute."]
    bytes: Annotated[int, "Its size."]
    documents: Annotated[int, "How many it holds."]
    chunks: Annotated[int, "How many it holds."]
    vectors: Annotated[int, "Chunks that have one."]
    notices: Annotated[tuple[str, ...], "What is missing, and how to change that."]

    @classmethod
    def of(cls, exported: Exported) -> ExportRecord:
        """The shape of an export."""
        known = {name: getattr(exported, name) for name in cls.__struct_fields__}
        return cls(**known | {"file": str(exported.file)})


@click.command(cls=Command, shape=ExportRecord, epilog=_EXAMPLES)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite a file that is there already.")
@pass_call
def command(call: Call, file: Path, force: bool) -> None:
    """Write a project into one file: texts, chunks and vectors.

    An import needs neither the documents nor the model. The file holds the whole text of
    the documents, but no settings beyond how they were cut, and no paths of this machine.
    """
    with call.progress() as announce:
        exported = export_project(
            call.workspace, call.select(), real_path(file), overwrite=force, announce=announce
        )
    held = f"{counted(exported.documents, 'document')}, {counted(exported.chunks, 'chunk')}"
    summary = f"{short_path(exported.file)}: {held}, {size(exported.bytes)}."
    call.answer(ExportRecord.of(exported), lambda width: folded(line(summary), width))
    call.remark(*exported.notices)
