"""`dowse status`: what the index holds, and whether it is up to date."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shlex import quote

import click
from rich.text import Text

from dowse._interfaces.cli.call import Call, Command, pass_call
from dowse._interfaces.cli.draw.text import Part, number, pairs
from dowse._interfaces.records import StatusRecord
from dowse._project.engine import Status
from dowse._text.amounts import counted, size
from dowse._util.locations import short_path


@click.command(
    cls=Command,
    shape=StatusRecord,
    epilog="\b\nExamples:\n  dowse status\n  dowse status -p work --json",
)
@pass_call
def command(call: Call) -> None:
    """Show what the index holds, and whether it is up to date.

    Looks at the names and times of all files, and reads none of them.
    """
    with call.open() as engine:
        status = engine.status()
    call.answer(StatusRecord.of(status), lambda width: draw_status(status, width))
    if status.notices:
        call.remark(*status.notices)


def draw_status(status: Status, width: int | None) -> Iterator[Text]:
    """A status, drawn."""
    counts = status.counts
    rows: list[tuple[str, Part]] = [("Project", (status.project, "bold"))]
    rows += [
        ("Folder" if place == 0 else "", _folder(root, status))
        for place, root in enumerate(status.roots)
    ]
    rows += [
        ("Index", f"{short_path(status.folder)} ({size(status.bytes)})"),
        ("Documents", number(counts.documents)),
        ("Chunks", f"{number(counts.chunks)} in {counted(counts.sections, 'section')}"),
        ("Vectors", f"{number(counts.embedded)} of {number(counts.chunks)} chunks"),
        ("Model", str((status.stamp or {}).get("model", "none yet"))),
        ("Links", f"{number(counts.links)}, of which {number(counts.dangling)} lead nowhere yet"),
        ("Code", counted(counts.code_blocks, "block")),
        ("Words", f"{number(counts.terms)} different ones"),
        ("Groups", f"{number(counts.communities)} of documents that link to each other"),
        ("State", _state(status)),
    ]
    if status.unread:
        files = counted(status.unread, "file")
        why = f"{files} could not be read; why: dowse index -p {quote(status.project)}"
        rows.append(("Left out", (why, "yellow")))
    if counts.secrets:
        rows.append(("Secrets", f"{number(counts.secrets)} left out (read.redact)"))
    rows += [("Run", (status.run, "yellow"))] if status.run else []
    yield from pairs(rows, width)


def _folder(root: str, status: Status) -> Part:
    if root not in status.imported:
        return short_path(root)
    return f"{Path(root).stem}: not on this machine, its text comes from an import", "yellow"


def _state(status: Status) -> Part:
    changes = status.freshness
    if status.stamp is None:
        return f"not indexed yet: dowse index -p {quote(status.project)}", "yellow"
    if not (changes.new or changes.changed or changes.deleted):
        return "up to date", "green"
    counts = ((changes.new, "new"), (changes.changed, "changed"), (changes.deleted, "deleted"))
    changed = ", ".join(f"{number(count)} {word}" for count, word in counts if count)
    return f"{changed} since: dowse index -p {quote(status.project)}", "yellow"
