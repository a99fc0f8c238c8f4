"""The progress bar."""

from __future__ import annotations

import math

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.text import Text

from dowse.front.cli.draw.text import amount, duration
from dowse.front.cli.screen import Screen


class Account(ProgressColumn):
    """How much of how much, how fast, and how long it will take."""

    max_refresh = 0.5  # seconds: faster than that, figures cannot be read

    def render(self, task: Task) -> Text:
        """The account of a task."""
        unit = task.fields["unit"]
        if task.total is None:
            return Text(duration(task.elapsed or 0), "dim")
        said = [f"{amount(task.completed, unit)}/{amount(task.total, unit, named=True)}"]
        if task.speed:
            said.append(f"{amount(task.speed, unit)}/s")
        if task.time_remaining:
            seconds = math.ceil(task.time_remaining)
            said.append(f"{seconds} s left" if seconds < 60 else f"{duration(seconds)} left")
        return Text("  ".join(said), "dim", no_wrap=True, overflow="ellipsis")


def new_bar(screen: Screen) -> Progress:
    """A bar that leaves nothing behind."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=16),
        Account(),
        console=screen.console,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
