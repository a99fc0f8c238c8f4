"""What stages announce, drawn: a bar where a person looks on, a line now and then elsewhere."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Self

from dowse._interfaces.cli.draw.text import amount, line
from dowse._interfaces.cli.screen import Screen
from dowse._model import Event

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

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
            if event.note:
                self._say(event.note)
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
            from dowse._interfaces.cli.draw.bar import new_bar  # noqa: PLC0415  only long work needs it

            self._bar = new_bar(self._screen)
            self._draw(self._bar, self._last)
            self._bar.start()

    def _draw(self, bar: Progress, event: Event) -> None:
        name = _STAGES.get(event.stage, event.stage.capitalize())
        if self._task is None or bar.tasks[-1].description != name:
            if self._task is not None:
                bar.remove_task(self._task)
            # What was done before it was drawn says nothing about the rate.
            self._task = bar.add_task(
                name,
                total=event.total,
                completed=event.done,
                unit=event.unit,
                before=event.done,
            )
        bar.update(self._task, completed=event.done, total=event.total)

    def _say(self, note: str) -> None:
        if self._bar:
            self._bar.console.print(line(note))
        else:
            self._screen.show([line(note)])

    def _log(self, event: Event) -> None:
        if event.total and time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + _LINE_EVERY
            name = _STAGES.get(event.stage, event.stage.capitalize())
            done = amount(event.done, event.unit)
            self._screen.show(
                [line(f"{name}: {done} of {amount(event.total, event.unit, named=True)}")]
            )
            self._screen.flush()
