"""The progress bar."""

from __future__ import annotations

import math

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.text import Text

from dowse._interfaces.cli.draw.text import amount, duration
from dowse._interfaces.cli.screen import Screen

STEADY = 3.0
"""Seconds after which a rate can be told."""


class Account(ProgressColumn):
    """How much of how much, how fast, and how long it will take."""

    max_refresh = 0.5  # seconds: faster than that, figures cannot be read

    def render(self, task: Task) -> Text:
        """Draw the account of a task."""
        unit = task.fields["unit"]
        if task.total is None:
            return Text(duration(task.elapsed or 0), "dim")
        said = [f"{amount(task.completed, unit)}/{amount(task.total, unit, named=True)}"]
        if rate := _rate(task):
            said.append(f"{amount(rate, unit)}/s")
            seconds = math.ceil(task.remaining / rate) if task.remaining else 0
            said.append(f"{seconds} s left" if seconds < 60 else f"{duration(seconds)} left")
        return Text("  ".join(said), "dim", no_wrap=True, overflow="ellipsis")


def _rate(task: Task) -> float:
    """Return how much is done in a second, since the bar is there; 0: not known yet.

    Work is announced in batches. The time between the first two of them says nothing.
    """
    elapsed = task.elapsed or 0.0
    done = task.completed - task.fields["before"]
    return done / elapsed if elapsed >= STEADY and done > 0 else 0.0


def new_bar(screen: Screen) -> Progress:
    """Make a bar that leaves nothing behind."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=16),
        Account(),
        console=screen.console,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
