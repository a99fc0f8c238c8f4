"""`dowse ls`: the documents of the index."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator

import click
from rich.text import Text

from dowse._interfaces.cli.call import Call, Command, pass_call
from dowse._interfaces.cli.counted import say_rest, takes_limit
from dowse._interfaces.cli.draw.text import line, number, table
from dowse._interfaces.records import DocumentRecord, DocumentsRecord
from dowse._model import DocumentEntry
from dowse._search.listing import SORTS, Sort, page_of
from dowse._text.amounts import size
from dowse._text.dates import iso
from dowse.errors import NotFound

_EXAMPLES = """\
\b
Examples:
  dowse ls                    all documents, one path to a line
  dowse ls guides/ --long     with id, date, size and number of chunks
  dowse ls "*-zh.md"          * stands for anything, also for /
  dowse ls --sort links -n 10 the documents that most others link to
"""


@click.command(cls=Command, shape=DocumentsRecord, epilog=_EXAMPLES)
@click.argument("pattern", required=False, metavar="[PREFIX|GLOB]")
@click.option(
    "-l", "--long", "detailed", is_flag=True, help="Id, date, size and number of chunks too."
)
@click.option(
    "--sort",
    type=click.Choice(SORTS),
    default="path",
    help="By path, newest first, or first what most documents link to.",
)
@click.option("--since", default="", metavar="DATE", help="Only since: 2024-06, yesterday, 7d.")
@takes_limit()
@pass_call
def command(
    call: Call, pattern: str | None, *, detailed: bool, sort: Sort, since: str, limit: int | None
) -> None:
    """List the documents of the index.

    With PREFIX only those whose path begins so, with a GLOB (which has one of * ? [) those whose
    whole path matches.
    """
    with call.open() as engine:
        found = [one for one in engine.listed(sort, since) if _matches(one.entry.id, pattern)]
        if pattern and not found:
            raise NotFound(f"No document matches {pattern!r}.", "List all of them with: dowse ls")
        listed = page_of(found, limit)
        if call.json:
            shapes = tuple(DocumentRecord.of(one, engine) for one in listed)
            call.write_json(DocumentsRecord(engine.project.name, shapes, len(found)))
            return
    if not listed:
        call.remark(_nothing(since, engine.project.typed))
    entries = [one.entry for one in listed]
    call.out.show(_draw(entries, call.out.width) if detailed else (line(one.id) for one in entries))
    say_rest(call, len(listed), len(found))


def _nothing(since: str, project: str) -> str:
    if since:
        return f"Nothing changed since {since}."
    return f"The index is empty. Fill it with: dowse index -p {project}"


def _matches(document_id: str, pattern: str | None) -> bool:
    if not pattern:
        return True
    if set(pattern) & set("*?["):
        return fnmatch.fnmatchcase(document_id, pattern)
    return document_id.startswith(pattern.removeprefix("./"))


def _draw(entries: list[DocumentEntry], width: int | None) -> Iterator[Text]:
    rows = [
        (
            (entry.short_id, "dim"),
            iso(entry.modified)[:10],
            size(entry.size),
            number(entry.chunks),
            entry.id,
        )
        for entry in entries
    ]
    yield from table(rows, width, right=(2, 3))
