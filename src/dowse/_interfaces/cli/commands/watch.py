"""`dowse watch`: update the index whenever the folder changes."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click

from dowse._index.report import IndexReport
from dowse._interfaces.cli.call import Call, Command, pass_call
from dowse._interfaces.cli.draw.report import draw_change
from dowse._interfaces.cli.draw.text import line
from dowse._interfaces.cli.logs import start_logging, takes_logging
from dowse._interfaces.records import IndexRecord

_log = logging.getLogger("dowse.watch")


@click.command(
    cls=Command,
    shape=IndexRecord,
    epilog="\b\nExamples:\n  dowse watch\n  dowse watch -p work --json",
)
@takes_logging
@pass_call
def command(call: Call, log_format: str, log_level: str) -> None:
    """Update the index whenever the folder changes.

    Runs until Ctrl-C, which lets it finish the files at hand; a second one stops it at once.
    Searches go on meanwhile, in this and other processes. With --json it prints one JSON document
    to a line, one for each time that something has changed.
    """
    start_logging(log_format, log_level)
    project = call.select()
    call.say_withheld(project, call.workspace.settings(project))
    with call.progress() as announce:

        def changed(report: IndexReport) -> None:
            announce.rest()
            _log_change(project.name, report)
            if call.json:
                call.write_json_line(IndexRecord.of(project, report))
            elif not call.quiet and _says_something(report):
                now = time.strftime("%H:%M:%S")
                call.out.show(draw_change(now, report, call.out.width))
            call.out.flush()

        if not call.json and not call.quiet:
            call.aside.show([line((f"Watching {project.name}. Stop with Ctrl-C.", "dim"))])
        with _stopped_by_signal() as stop:
            call.workspace.watch(project, changed, stop, announce)
    if call.aside.is_terminal and not call.quiet:
        call.aside.write("\rStopped watching.\n")


def _log_change(project: str, report: IndexReport) -> None:
    counts = {"added": report.added, "changed": report.changed, "removed": report.removed}
    figures = {"project": project, **counts, "left_out": len(report.left_out)}
    spent = {"milliseconds": round(sum(report.seconds.values()) * 1000, 1)}
    _log.info("Indexed %s", project, extra={"fields": figures | spent})


def _says_something(report: IndexReport) -> bool:
    return bool(report.added or report.changed or report.removed or report.left_out)


@contextmanager
def _stopped_by_signal() -> Iterator[threading.Event]:
    """An event that Ctrl-C and a polite kill set, so that work at hand is finished first.

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
