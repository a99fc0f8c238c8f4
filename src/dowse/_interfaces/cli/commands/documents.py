"""`dowse get`, `open`, `related`, `graph`, and the lists from `ls` to `fields`: documents."""

from __future__ import annotations

import fnmatch
import shlex
import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import click
from msgspec import Struct
from rich.text import Text

from dowse._config.editors import open_command as editor_command
from dowse._interfaces.cli.call import Call, Command, pass_call
from dowse._interfaces.cli.draw import Part, as_json, line, sentence, table
from dowse._interfaces.cli.options import FILTERS, document_ids
from dowse._interfaces.records import (
    CountedListRecord,
    DocumentListRecord,
    DocumentRecord,
    DocumentsRecord,
    FieldListRecord,
    GraphRecord,
    PassagesRecord,
    ProjectPassage,
    counted_list,
    document_list,
    field_list,
    filled,
    related_with_paths,
    with_path,
)
from dowse._interfaces.served import ask
from dowse._model import Neighbour, Passage, Related
from dowse._project.outputs import check_output, write_output
from dowse._project.registry import ALL
from dowse._search.listing import SORTS, Counted, Filter, Sort
from dowse._text.file_names import CONVERTED, kind_of
from dowse._util.files import real_path, short_path
from dowse._util.messages import counted, safe, size
from dowse.errors import DowseError, NotFound, UsageError


@click.command(cls=Command, record=PassagesRecord)
@click.argument(
    "references",
    nargs=-1,
    required=True,
    metavar="DOC[:LINE[:COUNT|-LAST]]...",
    shell_complete=document_ids,
)
@click.option("--lines", "numbered", is_flag=True, help="Number the lines.")
@pass_call
def get_command(call: Call, references: tuple[str, ...], numbered: bool) -> None:
    """Show a document, or some lines of it.

    DOC is a path as `dowse ls` lists it, the end of one, a path from the current folder, or an id
    that `dowse search` shows. The text is the one in the index; piped, it is printed as it is.

    Examples:
      dowse get guides/restore-the-database.md     all of it
      dowse get restore-the-database:12     from line 12; the end of the path is enough
      dowse get terms:5:20 Home             20 lines from line 5, and another document
      dowse get terms:5-24                  lines 5 to 24, as results name them
      dowse get 355883cf                    by the id that search and ls --long show
    """
    asked = (ask(call, "document", ProjectPassage, reference=one) for one in references)
    told = tuple(filter(None, asked))
    if len(told) == len(references):
        project = told[0].project if len({one.project for one in told}) == 1 else ALL
        passages = tuple(filled(Passage, one) for one in told)
    else:
        with call.open_to_search() as searched, searched.hold():
            project = searched.project.name
            having = [(searched.having(one, call.here), one) for one in references]
            found = [(engine, engine.get(one, here=call.here)) for engine, one in having]
            passages = tuple(with_path(one, engine) if call.json else one for engine, one in found)
    if call.json:
        call.out.write_json(PassagesRecord(project, passages))
        return
    for one in passages:
        text = one.text
        if numbered:
            digits = len(str(one.last_line))
            text = "\n".join(
                f"{number:>{digits}}  {written}"
                for number, written in enumerate(text.split("\n"), one.first_line)
            )
        if call.out.is_terminal:
            is_whole = one.last_line - one.first_line + 1 == one.total_lines
            place = "" if is_whole else f":{one.first_line}-{one.last_line}"
            call.out.show([line((one.document + place, "cyan"), (f"  {one.title}", "dim"))])
            text = safe(text)
        call.out.write(text + "\n")


_INDENT = 2


@click.command(cls=Command, record=Related)
@click.argument("reference", metavar="DOC", shell_complete=document_ids)
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="Show at most this many of each kind.",
)
@pass_call
def related_command(call: Call, reference: str, limit: int) -> None:
    """Show documents related to a document.

    These are the documents that it links to or that link to it, others in its community, and
    similar ones with their cosine. Its unresolved links come last. DOC is what `dowse get` takes.

    Examples:
      dowse related guides/restore-the-database.md
      dowse related restore-the-database -n 3     the end of the path is enough
      dowse related Home --json
    """
    if (related := ask(call, "related", Related, reference=reference, n=str(limit))) is None:
        with call.open_to_search() as searched:
            engine = searched.having(reference, call.here)
            related = engine.related(reference, limit, here=call.here)
            related = related_with_paths(related, engine) if call.json else related
    groups = {
        "Links to": related.linked,
        "Linked from": related.linking,
        "Same community": related.community,
        "Similar": related.similar,
    }
    call.answer(related, lambda width: _draw_related(related, groups, width))
    if not any(groups.values()) and not related.dangling:
        call.remark("No other document is linked to it or similar to it.")


def _draw_related(
    related: Related, groups: Mapping[str, Sequence[Neighbour]], width: int | None
) -> Iterator[Text]:
    yield from sentence(width, (related.document, "cyan"), "  ", (related.title, "bold"))
    for heading, neighbours in groups.items():
        if neighbours:
            yield Text()
            yield line((heading, "bold"))
        for one in neighbours:
            cosine = "" if one.score is None else f"{one.score:.2f}  "
            yield from sentence(width, cosine, (one.id, "cyan"), "  ", one.title, indent=_INDENT)
    if related.dangling:
        yield Text()
        yield line(("Unresolved links", "bold"))
    for name in related.dangling:
        yield from sentence(width, name, indent=_INDENT)


class OpenRecord(Struct, frozen=True):
    """What `dowse open` opened."""

    path: Annotated[str, "The file, absolute."]
    line: Annotated[int, "From 1."]
    command: Annotated[tuple[str, ...], "What was run, or would be with --print."]


@click.command(cls=Command, record=OpenRecord)
@click.argument("reference", metavar="N|REFERENCE", shell_complete=document_ids)
@click.option("--with", "editor", default="", metavar="EDITOR", help="The editor for this call.")
@click.option("--print", "only_print", is_flag=True, help="Print the command; do not run it.")
@pass_call
def open_command(call: Call, reference: str, editor: str, only_print: bool) -> None:
    """Open a file in your editor, at the line.

    N is the number of a result in the last list; REFERENCE is anything that `dowse get` takes. The
    editor is that of open.editor, $VISUAL or $EDITOR; without any, the system opens the file.

    Examples:
      dowse open 2                          the second result of the last search
      dowse open guides/restore-the-database.md:12    at line 12
      dowse open "[[Restore#Steps]]"        at a heading
      dowse open 1 --with obsidian
      dowse config set open.editor "code --reuse-window"
      dowse config set open.editor "myeditor --at {line} {path}"
    """
    # Four digits may be an id.
    listed = _listed(call, reference) if reference.isdecimal() and len(reference) < 4 else None
    if listed:
        call.project, document, line = listed
    with call.open() as engine:
        if not listed:
            passage = engine.get(reference, here=call.here)
            document, line = passage.document, passage.first_line
        path = engine.path_of(document)
        chosen = editor or engine.settings.open.editor
    if not path.exists():
        raise NotFound(f"{path} is not there any more.", "Update the index with: dowse index")
    if kind_of(path.name) in CONVERTED and "://" not in chosen:
        # An editor shows text, and lines of other files are not their own: the system opens it.
        run = editor_command(path, line, environment={})
    else:
        run = editor_command(path, line, chosen)
    if not only_print:
        _run(run)
    if call.json:
        call.out.write_json(OpenRecord(str(path), line, tuple(run)))
    elif only_print:
        call.out.write(shlex.join(run) + "\n")


def _listed(call: Call, reference: str) -> tuple[str, str, int]:
    """Return the result of this number in the last list."""
    known = call.recall()
    if not known:
        raise UsageError("There is no list of results yet.", "Search first: dowse search QUERY")
    if int(reference) not in known:
        raise UsageError(
            f"The last list has no result {reference}.",
            f"It has {counted(len(known), 'result')}, from {min(known)} to {max(known)}.",
        )
    return known[int(reference)]


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


@click.command(cls=Command, record=GraphRecord)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write to this file, which must be outside all project folders.",
)
@click.option("--force", is_flag=True, help="Overwrite a file that is there already.")
@pass_call
def graph_command(call: Call, output: Path | None, force: bool) -> None:
    """Export the documents and the links between them.

    It is one JSON document.

    Examples:
      dowse graph | jq -r ".edges[] | select(.target == null) | .written"
      dowse graph -o ~/graph.json
    """
    if output:
        output = check_output(call.workspace, real_path(output), force=force)
    with call.open() as engine:
        graph = engine.graph()
    data = as_json(GraphRecord.of(graph, engine.project.name))
    if output:
        write_output(call.workspace, output, data, force=force)
        documents, links = counted(len(graph.documents), "document"), len(graph.edges)
        call.remark(f"{documents} and {counted(links, 'link')} written to {short_path(output)}")
    elif call.out.is_terminal:
        call.out.write(safe(data.decode()))
    else:
        call.out.write_bytes(data)


# ── Lists: documents, and values with counts ────────────────────────────────────

_MOST = 20  # values of each field, where all fields are listed
_SHOWN = 3  # values of each field on a line
_ALL = 1_000_000  # values, where one field is listed

_since = click.option(
    "--since", default="", metavar="DATE", help="Only what changed since 2024-06, yesterday, 7d."
)
_path = click.option(
    "--path",
    multiple=True,
    metavar="PATH",
    help="Only documents whose path begins with this. Can be repeated.",
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
        help="Show at most this many." if default else "Show at most this many; by default all.",
    )


def _show(
    call: Call,
    record: object,
    rows: Iterable[Sequence[Part]],
    total: int,
    nothing: str,
    *,
    right: Collection[int] = (0,),
) -> None:
    """Print a table; say `nothing` where it is empty, and when it is a part of the whole list."""
    rows = list(rows)
    call.answer(record, lambda width: table(rows, width, right))
    if not call.json and len(rows) < total:
        call.remark(f"{len(rows):,} of {total:,} are shown.")
    elif not rows:
        call.remark(nothing)


def _place(listed: DocumentRecord, project: str) -> str:
    """Name a document, with its project where a list has several."""
    return listed.id if listed.project == project else f"{listed.project}: {listed.id}"


def _nothing(since: str) -> str:
    return f"Nothing changed since {since}." if since else "The index is empty."


# ── Documents ────────────────────────────────────────────────────────────────


@click.command(cls=Command, record=DocumentsRecord)
@click.argument("pattern", required=False, metavar="[PREFIX|GLOB]")
@click.option(
    "-l", "--long", "detailed", is_flag=True, help="Also show id, date, size and number of chunks."
)
@click.option(
    "--sort",
    type=click.Choice(SORTS),
    default="path",
    help="By path, by date (newest first), or by links to it (most first).",
)
@_since
@_limit()
@pass_call
def ls_command(
    call: Call, pattern: str | None, *, detailed: bool, sort: Sort, since: str, limit: int | None
) -> None:
    """List the documents of the index.

    With PREFIX, only those whose path begins with it. With a GLOB (it has *, ? or [), only those
    whose whole path matches.

    Examples:
      dowse ls                    all documents, one path to a line
      dowse ls guides/ --long     with id, date, size and number of chunks
      dowse ls "*-zh.md"          * matches anything, also /
      dowse ls --sort links -n 10  the documents that most others link to
    """
    glob = pattern or "*"
    if not set(glob) & set("*?["):
        glob = glob.removeprefix("./") + "*"
    with call.open_to_search() as searched:
        found = [
            one for one in searched.listed(sort, since) if fnmatch.fnmatchcase(one.entry.id, glob)
        ]
        if pattern and not found:
            raise NotFound(f"No document matches {pattern!r}.", "List all of them with: dowse ls")
        record = document_list(DocumentsRecord, searched, found, limit)
    rows: list[Sequence[Part]] = []
    for one in record.documents:
        details = ((one.short_id, "dim"), one.modified[:10], size(one.size), f"{one.chunks:,}")
        rows.append((*(details if detailed else ()), _place(one, record.project)))
    _show(call, record, rows, record.total, _nothing(since), right=(2, 3))


@click.command(cls=Command, record=DocumentListRecord)
@_since
@_path
@_limit(10)
@pass_call
def recent_command(call: Call, since: str, path: tuple[str, ...], limit: int) -> None:
    """List the documents that changed last, newest first.

    The date is that of the frontmatter where it has one, otherwise that of the file.

    Examples:
      dowse recent                   the last ten documents that changed
      dowse recent --since 7d        in the last week
      dowse recent --since 2025-06-30 -n 100 --json
    """
    with call.open_to_search() as searched:
        found = document_list(
            DocumentListRecord, searched, searched.listed("modified", since, path), limit
        )
    rows = [
        (one.modified[:10], (_place(one, found.project), "cyan"), (one.title, "dim"))
        for one in found.items
    ]
    _show(call, found, rows, found.total, _nothing(since))


# ── Values with counts ───────────────────────────────────────────────────────


@click.command(cls=Command, record=CountedListRecord)
@_path
@_limit()
@pass_call
def tags_command(call: Call, path: tuple[str, ...], limit: int | None) -> None:
    """List the tags, with how many documents have each.

    A document with the tag a/b counts for the tag a too, as in a search.

    Examples:
      dowse tags                     most frequent first
      dowse tags --path guides/      only those of documents in a folder
      dowse search --tag TAG         what has a tag
    """
    _list_values(call, "tag", path, limit, nothing="No document has a tag.")


@click.command(cls=Command, record=CountedListRecord)
@_path
@_limit()
@pass_call
def folders_command(call: Call, path: tuple[str, ...], limit: int | None) -> None:
    """List the folders, with how many documents are below each.

    Examples:
      dowse folders
      dowse folders --path guides/    only those below a folder
      dowse search --path guides/ backup
    """
    _list_values(call, "path", path, limit, nothing="No document is in a folder.")


def _list_values(
    call: Call, name: Filter, path: tuple[str, ...], limit: int | None, *, nothing: str
) -> None:
    """List the values of a filter; say `nothing` if there are none."""
    with call.open_to_search() as searched:
        found = counted_list(searched, name, path, limit)
    _show(call, found, _counts(found.items), found.total, nothing)


def _counts(items: Iterable[Counted]) -> Iterator[tuple[str, str]]:
    return ((f"{one.documents:,}", one.name) for one in items)


@click.command(cls=Command, record=FieldListRecord)
@click.argument("name", required=False)
@_path
@_limit()
@pass_call
def fields_command(call: Call, name: str | None, path: tuple[str, ...], limit: int | None) -> None:
    """List the fields of the frontmatter, with how many documents have each.

    With NAME, list all values of this field.

    Examples:
      dowse fields                   all fields, with their most frequent values
      dowse fields author            all values of one field
      dowse search --where "author=field team"
    """
    with call.open_to_search() as searched:
        most = (limit or _ALL) if name else _MOST
        found = field_list(searched, name, path, None if name else limit, values=most)
    if name and not found.items:
        raise NotFound(
            f"No document has the field {name!r}.", "List all of them with: dowse fields"
        )
    if name:
        field = found.items[0]
        _show(call, found, _counts(field.values), field.different, "It has no value.")
        return
    rows = []
    for one in found.items:
        values = ", ".join(f"{value} ({count})" for count, value in _counts(one.values[:_SHOWN]))
        rest = one.different - _SHOWN
        values += f" and {rest:,} more" if rest > 0 else ""
        rows.append((f"{one.documents:,}", (one.name, "bold"), values))
    _show(call, found, rows, found.total, "No document has frontmatter.")
