"""`dowse ls`, `recent`, `tags`, `folders`, `fields`: what the index lists."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click

from dowse._interfaces.cli.call import Call, Command, pass_call
from dowse._interfaces.cli.draw import Part, line, table
from dowse._interfaces.cli.options import FILTERS
from dowse._interfaces.records import (
    CountedListRecord,
    DocumentListRecord,
    DocumentsRecord,
    FieldListRecord,
    counted_list,
    document_list,
    field_list,
)
from dowse._search.listing import SORTS, Counted, Filter, Sort
from dowse._util.messages import size
from dowse.errors import NotFound

_MOST = 20  # values of each field, where all fields are listed
_SHOWN = 3  # values of each field on a line
_ALL = 1_000_000

_since = click.option(
    "--since", default="", metavar="DATE", help="Only since: 2024-06, yesterday, 7d."
)
_path = click.option(
    "--path",
    multiple=True,
    metavar="PATH",
    help="Only documents whose path begins so. Can be repeated.",
    shell_complete=FILTERS["path"],
)


def _limit(default: int | None = None) -> Callable[[Any], Any]:
    """Give a command the option that limits its list."""
    return click.option(
        "-n",
        "--limit",
        type=click.IntRange(min=1),
        default=default,
        show_default=default is not None,
        metavar="N",
        help="How many at most." if default else "How many at most; by default all.",
    )


Rows = Sequence[Sequence[Part]]
"""The lines of a table."""


def _show(call: Call, record: object, rows: Rows, total: int, nothing: str = "") -> None:
    """Print a table; say `nothing` where it is empty, and when it is a part of the whole list."""
    call.answer(record, lambda width: table(rows, width, right=(0,)))
    if nothing and not rows:
        call.remark(nothing)
    _say_rest(call, len(rows), total)


def _say_rest(call: Call, shown: int, total: int) -> None:
    if 0 < shown < total and not call.json:
        call.remark(f"{shown:,} of {total:,} are shown.")


# ── Documents ────────────────────────────────────────────────────────────────

_LS_EXAMPLES = """\
\b
Examples:
  dowse ls                    all documents, one path to a line
  dowse ls guides/ --long     with id, date, size and number of chunks
  dowse ls "*-zh.md"          * stands for anything, also for /
  dowse ls --sort links -n 10 the documents that most others link to
"""


@click.command(cls=Command, record=DocumentsRecord, epilog=_LS_EXAMPLES)
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
@_since
@_limit()
@pass_call
def ls_command(
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
        record = document_list(DocumentsRecord, engine, found, limit)
    if call.json:
        call.write_json(record)
        return
    listed = record.documents
    if not listed:
        call.remark(
            f"Nothing changed since {since}."
            if since
            else f"The index is empty. Fill it with: dowse index -p {engine.project.typed}"
        )
    if detailed:
        rows: Rows = [
            ((one.short_id, "dim"), one.modified[:10], size(one.size), f"{one.chunks:,}", one.id)
            for one in listed
        ]
        call.out.show(table(rows, call.out.width, right=(2, 3)))
    else:
        call.out.show(line(one.id) for one in listed)
    _say_rest(call, len(listed), record.total)


def _matches(document_id: str, pattern: str | None) -> bool:
    if not pattern:
        return True
    if set(pattern) & set("*?["):
        return fnmatch.fnmatchcase(document_id, pattern)
    return document_id.startswith(pattern.removeprefix("./"))


_RECENT_EXAMPLES = """\
\b
Examples:
  dowse recent                   the last ten documents that changed
  dowse recent --since 7d        in the last week
  dowse recent --since 2025-06-30 -n 100 --json
"""


@click.command(cls=Command, record=DocumentListRecord, epilog=_RECENT_EXAMPLES)
@_since
@_path
@_limit(10)
@pass_call
def recent_command(call: Call, since: str, path: tuple[str, ...], limit: int) -> None:
    """List the documents that changed last, newest first.

    The date is that of the frontmatter where it has one, otherwise that of the file.
    """
    with call.open() as engine:
        listed = engine.listed("modified", since, path)
        found = document_list(DocumentListRecord, engine, listed, limit)
    rows = [(one.modified[:10], (one.id, "cyan"), (one.title, "dim")) for one in found.items]
    nothing = f"Nothing changed since {since}." if since else "The index is empty."
    _show(call, found, rows, found.total, nothing)


# ── Values with counts ───────────────────────────────────────────────────────

_TAGS_EXAMPLES = """\
\b
Examples:
  dowse tags                     most frequent first
  dowse tags --path projects/    only those of documents in a folder
  dowse search --tag TAG         what has a tag
"""


@click.command(cls=Command, record=CountedListRecord, epilog=_TAGS_EXAMPLES)
@_path
@_limit()
@pass_call
def tags_command(call: Call, path: tuple[str, ...], limit: int | None) -> None:
    """List the tags, with how many documents have each.

    A document with the tag a/b counts for the tag a too, as in a search.
    """
    _list_values(call, "tag", path, limit, nothing="No document has a tag.")


_FOLDERS_EXAMPLES = """\
\b
Examples:
  dowse folders
  dowse folders --path projects/    only those below a folder
  dowse search --path guides/ backup
"""


@click.command(cls=Command, record=CountedListRecord, epilog=_FOLDERS_EXAMPLES)
@_path
@_limit()
@pass_call
def folders_command(call: Call, path: tuple[str, ...], limit: int | None) -> None:
    """List the folders, with how many documents are below each."""
    _list_values(call, "path", path, limit, nothing="No document is in a folder.")


def _list_values(
    call: Call, name: Filter, path: tuple[str, ...], limit: int | None, *, nothing: str
) -> None:
    """List the values of a filter; say `nothing` if there are none."""
    with call.open() as engine:
        found = counted_list(engine, name, path, limit)
    _show(call, found, _counts(found.items), found.total, nothing)


def _counts(items: Iterable[Counted]) -> Rows:
    return [(f"{one.documents:,}", one.name) for one in items]


_FIELDS_EXAMPLES = """\
\b
Examples:
  dowse fields                   all fields, with their most frequent values
  dowse fields status            all values of one field
  dowse search --where status=draft
"""


@click.command(cls=Command, record=FieldListRecord, epilog=_FIELDS_EXAMPLES)
@click.argument("name", required=False)
@_path
@_limit()
@pass_call
def fields_command(call: Call, name: str | None, path: tuple[str, ...], limit: int | None) -> None:
    """List the fields of the frontmatter, with how many documents have each.

    With NAME, list all values of this field.
    """
    with call.open() as engine:
        most = (limit or _ALL) if name else _MOST
        found = field_list(engine, name, path, None if name else limit, values=most)
    if name is None:
        rows = []
        for one in found.items:
            values = ", ".join(
                f"{value} ({count})" for count, value in _counts(one.values[:_SHOWN])
            )
            rest = one.different - _SHOWN
            values += f" and {rest:,} more" if rest > 0 else ""
            rows.append((f"{one.documents:,}", (one.name, "bold"), values))
        _show(call, found, rows, found.total, "No document has frontmatter.")
        return
    if not found.items:
        raise NotFound(
            f"No document has the field {name!r}.", "List all of them with: dowse fields"
        )
    field = found.items[0]
    _show(call, found, _counts(field.values), field.different)
