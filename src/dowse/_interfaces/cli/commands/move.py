"""`dowse move`: the index of a project in another store."""

from __future__ import annotations

from typing import Annotated

import click
from msgspec import Struct

from dowse._interfaces.cli.call import Call, Command, pass_call
from dowse._interfaces.cli.draw.text import folded, line
from dowse._project.archive.move import Moved, move_project
from dowse._text.amounts import counted
from dowse._util.masking import hide_secrets

_EXAMPLES = """\
\b
Examples:
  dowse move --to milvus://10.0.0.5:19530
  dowse move --to qdrant+tls://search.example.org --token-env QDRANT_KEY --name handbook
  dowse move --to here             back into the project's folder
"""


class MoveRecord(Struct, frozen=True):
    """What `dowse move` did."""

    project: Annotated[str, "Name of the project."]
    source: Annotated[str, "Where its index was."]
    target: Annotated[str, "Where its index is now."]
    documents: Annotated[int, "How many it holds."]
    chunks: Annotated[int, "How many it holds."]
    vectors: Annotated[int, "Chunks that have one."]
    written: Annotated[int, "Documents that were written by this run."]
    agreement: Annotated[float, "Share of the first results of a sample that both sides share."]

    @classmethod
    def of(cls, moved: Moved) -> MoveRecord:
        """The shape of a move."""
        counts = moved.counts
        return cls(
            moved.project,
            hide_secrets(moved.source),
            hide_secrets(moved.target),
            counts.documents,
            counts.chunks,
            counts.embedded,
            moved.written,
            moved.agreement,
        )


@click.command(cls=Command, shape=MoveRecord, epilog=_EXAMPLES)
@click.option("--to", required=True, metavar="URL", help="The engine, or here for the folder.")
@click.option("--name", metavar="NAME", help="Name of the index there, for machines that share it.")
@click.option("--token-env", metavar="NAME", help="Environment variable that holds the key.")
@click.option("--keep", is_flag=True, help="Keep the index where it was as well.")
@pass_call
def command(call: Call, to: str, name: str | None, token_env: str | None, keep: bool) -> None:
    """Move the index to an engine that machines share, or back.

    Documents, chunks, vectors, links and words move; no model runs. A move that was interrupted
    goes on where it stopped. At the end both sides are compared by their counts and by a sample of
    searches. Only then the project switches to the new place, and the old index is removed.
    """
    changes = {"name": name, "token_env": token_env}
    with call.progress() as announce:
        moved = move_project(
            call.workspace,
            call.select(),
            to,
            changes={option: value for option, value in changes.items() if value is not None},
            keep=keep,
            announce=announce,
        )
    shape = MoveRecord.of(moved)
    summary = (
        f"{moved.project}: {counted(shape.documents, 'document')} with"
        f" {counted(shape.chunks, 'chunk')} moved to {shape.target}."
        f" {moved.agreement:.0%} of the first results of a sample are the same as before."
    )
    call.answer(shape, lambda width: folded(line(summary), width))
