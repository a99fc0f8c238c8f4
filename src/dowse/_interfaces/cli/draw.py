"""What people see: an output stream, lines that are safe and fit, and progress."""

from __future__ import annotations

import math
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, cached_property
from itertools import chain
from typing import TYPE_CHECKING, Self, TextIO

import msgspec
from rich.cells import cell_len, set_cell_size
from rich.text import Text

from dowse._interfaces.cli.call import OutputClosed
from dowse._model import Event
from dowse._util.messages import escaped, safe, size

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, Task, TaskID

Part = str | tuple[str, str]
"""A piece of a line, alone or with its style."""

_NARROWEST = 40  # below this, lines are left to the terminal to break
_BREAK = re.compile(r"[\t\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
_SPACE = re.compile(r"\s+")
_MARKED = re.compile(r"\*\*(.+?)\*\*")


class Screen:
    """Standard output or standard error: whether people read it, and what it can show."""

    def __init__(self, stream: TextIO, environment: Mapping[str, str] = os.environ) -> None:
        self._stream, self._environment = stream, environment
        self.is_terminal = stream.isatty()

    @cached_property
    def in_colour(self) -> bool:
        """Follow no-color.org and bixense.com/clicolors; a refusal is stronger than a wish."""
        said = self._environment.get
        if said("NO_COLOR") or said("TERM") == "dumb":
            return False
        if any(said(name, "0") not in {"", "0"} for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
            return True
        return self.is_terminal and said("CLICOLOR") != "0"

    @property
    def links(self) -> bool:
        """Whether it can show text that leads to a file."""
        return self.is_terminal and self.in_colour

    @property
    def width(self) -> int | None:
        """How many columns a line may take; None when no person reads it."""
        return max(_NARROWEST, shutil.get_terminal_size().columns) if self.is_terminal else None

    @cached_property
    def console(self) -> Console:
        """The same stream as rich sees it."""
        from rich.console import Console  # noqa: PLC0415  it loads longer than all other of rich

        return Console(
            file=self._stream,
            force_terminal=self.is_terminal or self.in_colour,
            color_system="standard" if self.in_colour else None,
            width=self.width,
            markup=False,
            highlight=False,
            emoji=False,
        )

    def say(self, *parts: Part, indent: int = 0) -> None:
        """Write a sentence, folded to the width."""
        self.show(sentence(self.width, *parts, indent=indent))

    def show(self, lines: Iterable[Text]) -> None:
        """Write drawn lines as they are."""
        for one in lines:
            drawn = one.plain
            if self.in_colour and one.spans:
                with self.console.capture() as captured:
                    self.console.print(one, soft_wrap=True, end="")
                drawn = captured.get()
            self.write(drawn + "\n")

    def progress(self, *, quiet: bool) -> ProgressDrawer:
        """Return what draws progress here."""
        return ProgressDrawer(self, quiet=quiet)

    def write_json(self, record: object, *, line: bool = False) -> None:
        """Write one JSON document: indented, or on one `line` and at once, for what goes on."""
        self.write_bytes(as_json(record, line=line))
        if line:
            self.flush()

    def write(self, text: str) -> None:
        """Write text as it is."""
        try:
            self._stream.write(text)
        except BrokenPipeError as error:
            raise OutputClosed from error

    def write_bytes(self, data: bytes) -> None:
        """Write bytes as they are, whatever encoding the stream has."""
        self.flush()
        try:
            left = memoryview(data)
            while left:  # an unbuffered stream may take a part only
                left = left[self._stream.buffer.write(left) :]
        except BrokenPipeError as error:
            raise OutputClosed from error

    def flush(self) -> None:
        """Hand over all that was written."""
        try:
            self._stream.flush()
        except BrokenPipeError as error:
            raise OutputClosed from error


# ── Lines ────────────────────────────────────────────────────────────────────


def as_json(record: object, *, line: bool = False) -> bytes:
    """Write a record as a JSON document, indented or on one `line`.

    It is escaped for pipes as well: JSON means the same either way, and may be shown later.
    """
    data = msgspec.json.encode(record)
    text = (data if line else msgspec.json.format(data, indent=2)).decode("utf-8")
    return escaped(text).encode("utf-8") + b"\n"


def line(*parts: Part) -> Text:
    """Make one line out of pieces, each on one line itself."""
    text = Text()
    for part in parts:
        words, style = (part, "") if isinstance(part, str) else part
        text.append(safe(_BREAK.sub(" ", words)), style)
    return text


def marked(text: str, style: str) -> Text:
    """Style the stretches between ** and ** of a text, and leave out these marks."""
    drawn, end = Text(), 0
    flat = safe(_SPACE.sub(" ", text))
    for match in _MARKED.finditer(flat):
        drawn.append(flat[end : match.start()])
        drawn.append(match[1], style)
        end = match.end()
    drawn.append(flat[end:])
    return drawn


def folded(text: Text, width: int | None, indent: int = 0) -> list[Text]:
    """Break a text between words, into as many indented lines as it needs."""
    margin = Text(" " * indent)
    if width is None:
        return [margin + text]
    pieces = text.wrap(_console(), max(10, width - indent), overflow="fold")
    for piece in pieces:
        piece.rstrip()
    return [margin + piece for piece in pieces]


@cache
def _console() -> Console:
    """Make what rich folds lines with; it looks at none of its options."""
    return Screen(sys.stdout).console


def sentence(width: int | None, *parts: Part, indent: int = 0) -> list[Text]:
    """Draw a sentence, folded to a width."""
    return folded(line(*parts), width, indent)


def columns(
    rows: Iterable[Sequence[Part]], width: int | None, right: Collection[int] = ()
) -> list[list[Text]]:
    """Draw the lines of each row, with its cells under those of the others.

    The last cell is folded where it is too long; `right` says which columns are set to the right.
    """
    cells = [[line(part) for part in row] for row in rows]
    widths = [max(cell.cell_len for cell in column) for column in zip(*cells, strict=True)]
    drawn = []
    for *others, last in cells:
        start = Text()
        for place, cell in enumerate(others):
            space = Text(" " * (widths[place] - cell.cell_len))
            start += (space + cell if place in right else cell + space) + Text("  ")
        first, *further = folded(last, width and width - start.cell_len) or [Text()]
        drawn.append([start + first, *(Text(" " * start.cell_len) + one for one in further)])
    for one in chain.from_iterable(drawn):
        one.rstrip()
    return drawn


def table(
    rows: Iterable[Sequence[Part]], width: int | None, right: Collection[int] = ()
) -> list[Text]:
    """Draw all lines of some rows, with their cells under each other."""
    return list(chain.from_iterable(columns(rows, width, right)))


def fitted(text: str, width: int) -> str:
    """Cut a text in its middle to so many columns."""
    if cell_len(text) <= width:
        return text
    tail = text
    while cell_len(tail) > width // 2:
        tail = tail[1:]
    return set_cell_size(text, width - 1 - cell_len(tail)) + "…" + tail


def amount(count: float, unit: str, *, named: bool = False) -> str:
    """Write how much of a unit, `named` with its name; bytes always have theirs."""
    if unit == "bytes":
        return size(count)
    figure = f"{count:,.0f}" if count >= 10 or count == int(count) else f"{count:.1f}"
    return f"{figure} {unit}" if named else figure


def duration(seconds: float) -> str:
    """Write a time in the unit that reads best."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def stage_times(seconds: Mapping[str, float]) -> str:
    """Write how long each stage took, the longest first."""
    slow = sorted(seconds.items(), key=lambda item: -item[1])
    return f"Time by stage: {', '.join(f'{stage} {duration(spent)}' for stage, spent in slow)}."


# ── Progress: a bar where a person looks on, a line now and then elsewhere ───────────────

_PATIENCE = 1.0  # seconds: what is done sooner needs no bar
_LINE_EVERY = 30.0  # seconds between lines where there is no bar

_STAGES = {
    "scan": "Looking for changes",
    **dict.fromkeys(("read", "parse", "chunk", "embed", "store"), "Indexing"),  # one bar
    "waiting": "Embedding",
    "vocabulary": "Learning words",
    "communities": "Finding communities",
    "download": "Downloading",
    "tidy": "Tidying",
    "repair": "Repairing",
    "export": "Exporting",
    "import": "Importing",
}


STEADY = 3.0
"""Seconds after which a rate can be told."""


class _Account:
    """Write how much of how much is done, how fast, and how long it will take."""

    def __init__(self, task: Task, unit: str) -> None:
        self._task, self._unit = task, unit
        self._before = task.completed  # what was done before says nothing about the rate

    def __str__(self) -> str:
        task, unit = self._task, self._unit
        elapsed = task.elapsed or 0.0
        if task.total is None:
            return duration(elapsed)
        said = [f"{amount(task.completed, unit)}/{amount(task.total, unit, named=True)}"]
        done = task.completed - self._before
        # Work is announced in batches. The time between the first two of them says nothing.
        if elapsed >= STEADY and done > 0:
            rate = done / elapsed
            said.append(f"{amount(rate, unit)}/s")
            seconds = math.ceil(task.remaining / rate) if task.remaining else 0
            said.append(f"{seconds} s left" if seconds < 60 else f"{duration(seconds)} left")
        return "  ".join(said)


class ProgressDrawer:
    """Takes events and draws them on standard error; nothing of it stays on the screen."""

    def __init__(self, screen: Screen, *, quiet: bool = False) -> None:
        self._screen = screen
        self._quiet = quiet
        self._lock = threading.Lock()
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._last: Event | None = None
        self._timer: threading.Timer | None = None
        self._next_line = time.monotonic() + _LINE_EVERY

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.rest()
        self._quiet = True

    def rest(self) -> None:
        """Wipe the bar away, until there is long work again."""
        with self._lock:
            if self._timer:
                self._timer.cancel()
            if self._bar:
                self._bar.stop()
            self._timer = self._bar = self._task = self._last = None

    def __call__(self, event: Event) -> None:
        """Take an event."""
        with self._lock:
            if self._quiet:
                return
            if event.note and self._bar:
                self._bar.console.print(line(event.note))
            elif event.note:
                self._screen.show([line(event.note)])
            if not self._screen.is_terminal:
                self._log(event)
                return
            self._last = event
            if self._bar:
                self._draw(self._bar, event)
            elif not self._timer:
                self._timer = threading.Timer(_PATIENCE, self._begin)
                self._timer.daemon = True
                self._timer.start()

    def _begin(self) -> None:
        with self._lock:
            if self._timer is None or self._last is None:
                return
            from rich.progress import (  # noqa: PLC0415  only long work needs it
                BarColumn,
                Progress,
                TextColumn,
            )

            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=16),
                TextColumn("{task.fields[account]}", style="dim", markup=False),
                console=self._screen.console,
                refresh_per_second=2,  # faster than that, figures cannot be read
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._draw(self._bar, self._last)
            self._bar.start()

    def _draw(self, bar: Progress, event: Event) -> None:
        name = _STAGES.get(event.stage, event.stage.capitalize())
        known = (bar.tasks[-1].description, bar.tasks[-1].total) if bar.tasks else ("", None)
        if self._task is None or known[0] != name or (known[1] is None and event.total):
            if self._task is not None:
                bar.remove_task(self._task)
            self._task = bar.add_task(name, completed=event.done, account="")
            bar.update(self._task, account=_Account(bar.tasks[-1], event.unit))
        bar.update(self._task, completed=event.done, total=event.total)

    def _log(self, event: Event) -> None:
        if event.total and time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + _LINE_EVERY
            name = _STAGES.get(event.stage, event.stage.capitalize())
            done = amount(event.done, event.unit)
            self._screen.show(
                [line(f"{name}: {done} of {amount(event.total, event.unit, named=True)}")]
            )
            self._screen.flush()
