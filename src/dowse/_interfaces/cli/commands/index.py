"""`dowse index`, `watch`, `status`, `reset`: make the index, follow the folder, look at both."""

from __future__ import annotations

import logging
import posixpath
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import click
from msgspec import Struct
from rich.text import Text

from dowse._interfaces.cli.call import Call, Command, Interrupted, pass_call
from dowse._interfaces.cli.draw import Part, duration, line, sentence, stage_times, table
from dowse._interfaces.cli.log import start_logging, takes_logging
from dowse._interfaces.served import ask
from dowse._model import IndexReport, Shard
from dowse._project.engine import Status
from dowse._project.registry import ALL
from dowse._text.file_names import ENDINGS
from dowse._util.files import real_path, short_path
from dowse._util.messages import counted, size
from dowse.errors import NotFound, Refused

INCOMPLETE = 3
"""The exit code for: indexed, but some files were left out."""

_MOST = 100_000  # parts


def _shard(context: click.Context, parameter: click.Parameter, text: str | None) -> Shard | None:
    """Return the part that `3/16` means."""
    number, _, count = (text or "").partition("/")
    if number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count) <= _MOST:
        return Shard(int(number), int(count))
    if text is None:
        return None
    raise click.BadParameter(
        f"{text!r} is not a part. Write it as 3/16, from 1/16 to 16/16.", context, parameter
    )


@click.command(cls=Command, record=IndexReport)
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@click.option(
    "--rebuild",
    is_flag=True,
    help="Empty the index first; vectors that are still right are reused.",
)
@click.option(
    "--shard",
    callback=_shard,
    metavar="I/N",
    help="Index only part I of N of the documents; other machines index the other parts.",
)
@click.option(
    "--wait",
    type=click.FloatRange(min=0),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait while another process is writing.",
)
@pass_call
def index_command(
    call: Call, paths: tuple[Path, ...], rebuild: bool, shard: Shard | None, wait: float
) -> int:
    """Create or update the index of a folder.

    PATH is a folder or a file. Without PATH, the project of the current folder is indexed. A folder
    that belongs to no project becomes a new project. Unchanged files are skipped. Ctrl-C is safe at
    any time. The exit code is 3 when files were left out. A file that is indexed with a remark is
    reported and does not change the exit code.

    With --shard, documents are divided by a hash of their ids. When a database keeps the index
    (store.url), all parts can be indexed at once. Run dowse index without it after the last part.

    Examples:
      dowse index ~/notes              make a project of a folder, or update it
      dowse index                      update the project of the current folder
      dowse index -p work ~/a ~/b      one project over two folders
      dowse index --rebuild            rebuild it, after settings have changed
      dowse index --shard 3/16         index the third of sixteen parts
    """
    began = time.perf_counter()
    given = [real_path(path) for path in paths]
    if call.project is None:
        _offer_move(call, given[0] if given else call.here)
    known = {one.name for one in call.workspace.projects.all()}
    project, within = call.workspace.select_for_indexing(call.project, given, call.here)
    with call.progress() as announce:
        try:
            with call.open_project(project, announce, fetch=True) as engine:
                report = engine.index(
                    within, rebuild=rebuild, shard=shard, wait=wait, announce=announce
                )
        except KeyboardInterrupt:
            served = ask(call, "status", _ServedStatus, project=project.name)
            raise Interrupted(
                "Stopped. Everything indexed so far is kept.",
                f"A running dowse serve follows {project.name} and goes on with it."
                if served and served.watch["watching"]
                else "Run the same command again to continue.",
            ) from None
    if project.name not in known and not (report.added or report.left_out):
        call.workspace.projects.remove(project.name)
        folders, kinds = ", ".join(map(str, project.roots)), ", ".join(ENDINGS)
        raise NotFound(
            f"There is no document in {folders}, so no project was made.",
            f"dowse reads files that end in {kinds}, unless a .gitignore or .ignore names them.",
        )
    took = time.perf_counter() - began
    if not call.quiet or call.json:
        call.answer(report, lambda width: draw_report(report, took, width, verbose=call.verbose))
    call.remark(*report.notices)
    if shard is not None:
        call.remark(
            f"This was part {shard}. When all parts are done, finish the index with: dowse index"
            f" -p {project.name}"
        )
    return 0 if report.complete else INCOMPLETE


_NAMED = 20  # files left out that are named without --verbose


class _ServedStatus(Struct, frozen=True):
    watch: dict[str, Any]


def _offer_move(call: Call, folder: Path) -> None:
    """Move a project along when its folder has been moved, if the user agrees."""
    former = call.workspace.find_moved(folder)
    if former is None:
        return
    found = (
        f"{former.roots[0]} is gone, and the files of the project {former.name} are in {folder}."
    )
    if not call.agrees(f"{found} Has it moved there?"):
        raise Refused(
            found,
            f"If it has moved: dowse project move {former.typed} {quote(str(folder))}. Otherwise"
            f" name a new project: dowse index -p NAME {quote(str(folder))}",
        )
    call.workspace.projects.move(former.name, folder)


def draw_report(
    report: IndexReport, seconds: float, width: int | None, *, verbose: bool
) -> Iterator[Text]:
    """Draw the summary of a run, and what was left out."""
    said = f": {_summary(report) or 'no documents found'}, in {duration(seconds)}"
    yield from sentence(width, (report.project, "bold"), said)
    if verbose:
        yield from sentence(width, (stage_times(report.seconds), "dim"))
    if report.unreadable:
        said = (
            f"{counted(report.unreadable, 'chunk uses', 'chunks use')} a script that the embedding"
            f" model does not support; {'it is' if report.unreadable == 1 else 'they are'} found by"
            " keywords only. To choose another model, set embed.model."
        )
        yield from sentence(width, (said, "dim"))
    yield from _draw_left_out(report, width, verbose=verbose)


def _summary(report: IndexReport) -> str:
    counts = (
        (report.added, "added"),
        (report.changed, "changed"),
        (report.removed, "removed"),
        (report.unchanged, "unchanged"),
    )
    parts = [f"{count:,} {word}" for count, word in counts if count]
    parts += [f"{counted(report.chunks, 'chunk')} written"] if report.chunks else []
    parts += [f"{report.embedded:,} embedded"] if report.embedded else []
    parts += [f"{counted(report.secrets, 'secret')} left out"] if report.secrets else []
    return ", ".join(parts)


def _draw_left_out(report: IndexReport, width: int | None, *, verbose: bool) -> Iterator[Text]:
    """Draw a line for each kind of file that is not read here, and name the other files."""
    kinds = Counter(
        (posixpath.splitext(item.id)[1].lower(), item.reason)
        for item in report.left_out
        if not item.lost
    )
    for (ending, reason), count in sorted(kinds.items()):
        what = counted(count, f"{ending} file" if ending else "file")
        yield from sentence(width, (f"{what} left out: ", "yellow"), reason)
    whole = [item for item in report.left_out if item.whole and item.lost]
    parts = [item for item in report.left_out if not item.whole]
    for items, what in ((whole, "left out"), (parts, "indexed with a remark")):
        if items:
            yield line((f"{counted(len(items), 'file')} {what}:", "yellow"))
        shown = items if verbose else items[:_NAMED]
        for item in shown:
            yield from sentence(width, (item.id, "bold"), f": {item.reason}", indent=2)
        if len(shown) < len(items):
            yield line(f"  and {len(items) - len(shown):,} more: --verbose shows all")


_log = logging.getLogger("dowse.watch")


@click.command(
    cls=Command,
    record=IndexReport,
)
@takes_logging
@pass_call
def watch_command(call: Call, log_format: str, log_level: str) -> None:
    """Update the index whenever the folder changes.

    Runs until Ctrl-C, and then finishes the files that it is reading; a second Ctrl-C stops it at
    once. Searching works meanwhile. With --json, it prints one line of JSON for each update.

    Examples:
      dowse watch
      dowse watch -p work --json
    """
    from dowse._project.indexing import watch_project  # noqa: PLC0415  status needs no parsers

    start_logging(log_format, log_level)
    project = call.select()
    call.say_withheld(project, call.workspace.settings(project))
    with call.progress() as announce:

        def changed(report: IndexReport) -> None:
            announce.rest()
            fields = {
                "project": project.name,
                "added": report.added,
                "changed": report.changed,
                "removed": report.removed,
                "left_out": len(report.left_out),
                "milliseconds": round(sum(report.seconds.values()) * 1000, 1),
            }
            _log.info("Indexed %s", project.name, extra={"fields": fields})
            did_something = report.added or report.changed or report.removed
            if call.json:
                call.out.write_json(report, line=True)
            elif not call.quiet and (did_something or report.left_out):
                said = _summary(report) if did_something else "nothing to index"
                call.out.say((time.strftime("%H:%M:%S"), "dim"), f"  {said}")
                call.out.show(_draw_left_out(report, call.out.width, verbose=False))
            call.out.flush()

        if not call.json and not call.quiet:
            call.aside.show([line((f"Watching {project.name}. Stop with Ctrl-C.", "dim"))])
        with _stopped_by_signal() as stop:
            watch_project(call.workspace, project, changed, stop, announce)
    if call.aside.is_terminal and not call.quiet:
        call.aside.write("\rStopped watching.\n")


@contextmanager
def _stopped_by_signal() -> Iterator[threading.Event]:
    """Give an event that Ctrl-C and a polite kill set, so that work at hand is finished first.

    The second time they stop it at once: a first index can take minutes.
    """
    stop = threading.Event()

    def end(*_: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    former = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


@click.command(
    cls=Command,
    record=Status,
)
@pass_call
def status_command(call: Call) -> None:
    """Show what the index holds, and whether it is up to date.

    Looks at the names and times of all files, and reads none of them.

    Examples:
      dowse status
      dowse status -p work --json
    """
    with call.open_to_search() as searched:
        status = searched.status()
    call.answer(status, lambda width: draw_status(status, width))
    call.remark(*status.notices)


def draw_status(status: Status, width: int | None) -> list[Text]:
    """Draw a status."""
    counts, project = status.counts, quote(status.project)
    rows: list[tuple[str, Part]] = [("Project", (status.project, "bold"))]
    for root in status.roots:
        folder: Part = short_path(root)
        if not Path(root).exists():
            folder = (
                f"{folder} is not here. If it has moved: dowse project move {project} FOLDER",
                "yellow",
            )
        if root in status.imported:
            folder = (
                f"{Path(root).stem}: not on this machine, its text comes from an import",
                "yellow",
            )
        rows.append(("" if len(rows) > 1 else "Folder", folder))
    files = counted(status.unread, "file")
    unread = f"{files} could not be read; why: dowse index -p {project}" if status.unread else ""
    rows += [
        ("Index", f"{short_path(status.folder)} ({size(status.bytes)})"),
        ("Documents", f"{counts.documents:,}"),
        ("Chunks", f"{counts.chunks:,} in {counted(counts.sections, 'section')}"),
        ("Vectors", f"{counts.embedded:,} of {counts.chunks:,} chunks"),
        ("Model", str((status.stamp or {}).get("model", "none yet"))),
        ("Links", f"{counts.links:,}, of which {counts.dangling:,} are unresolved"),
        ("Code", counted(counts.code_blocks, "block")),
        ("Terms", f"{counts.terms:,}"),
        ("Communities", f"{counts.communities:,} groups of linked documents"),
        ("State", _state_of(status)),
        ("Left out", (unread, "yellow") if unread else ""),
        ("Secrets", f"{counts.secrets:,} left out (read.redact)" if counts.secrets else ""),
        ("Run", (status.run, "yellow") if status.run else ""),
    ]
    return table([((name, "dim"), value) for name, value in rows if value], width)


def _state_of(status: Status) -> Part:
    if status.up_to_date and status.indexed:
        return "up to date", "green"
    changes, chunks = status.freshness, status.counts
    if status.project == ALL:
        return "not up to date", "yellow"
    counts = ((changes.new, "new"), (changes.changed, "changed"), (changes.deleted, "deleted"))
    changed = ", ".join(f"{count:,} {word}" for count, word in counts if count)
    state = f"{changed} since the last run" if status.indexed else "not indexed yet"
    if status.indexed and not changed:
        state = f"{counted(chunks.chunks - chunks.embedded, 'chunk')} not embedded yet"
    return f"{state}: dowse index -p {quote(status.project)}", "yellow"


class ResetRecord(Struct, frozen=True):
    """What `dowse reset` did."""

    project: Annotated[str, "Name of the project whose index is empty now."]


@click.command(
    cls=Command,
    record=ResetRecord,
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@pass_call
def reset_command(call: Call, yes: bool) -> None:
    """Empty the index; documents stay as they are.

    Vectors are kept, so that indexing again is quick. To forget a project with everything that
    dowse keeps of it: dowse project remove NAME.

    Examples:
      dowse reset
      dowse reset -p work --yes
    """
    with call.open() as engine:
        name = engine.project.name
        call.require_yes(f"Empty the index of {name}?", yes=yes)
        engine.reset()
    call.answer(
        ResetRecord(name),
        f"The index of {name} is empty. Fill it with: dowse index -p {quote(name)}",
    )
