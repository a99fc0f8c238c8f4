"""Lines of text as people read them: styled, safe to print, and no wider than the terminal."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from dowse._interfaces.cli.screen import UNSAFE
from dowse._util.messages import size

if TYPE_CHECKING:
    from rich.console import Console

Part = str | tuple[str, str]
"""A piece of a line, alone or with its style."""

_BREAK = re.compile(r"[\t\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
_SPACE = re.compile(r"\s+")
_MARKED = re.compile(r"\*\*(.+?)\*\*")


def safe(text: str) -> str:
    """Replace the characters that would do something else than be seen."""
    return UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text)


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
    """Make what rich folds lines with; most programs that read the output need none folded."""
    from rich.console import Console  # noqa: PLC0415  takes as long to load as all other of rich

    return Console(width=80, color_system=None)


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


def pairs(rows: Iterable[tuple[str, Part]], width: int | None) -> list[Text]:
    """Draw names and what there is to say about each."""
    return table([((name, "dim"), value) for name, value in rows], width)


def fitted(text: str, width: int) -> str:
    """Cut a text in its middle to so many columns."""
    if cell_len(text) <= width:
        return text
    tail = text
    while cell_len(tail) > width // 2:
        tail = tail[1:]
    return set_cell_size(text, width - 1 - cell_len(tail)) + "…" + tail


def number(count: int) -> str:
    """Write a count with its thousands set apart."""
    return f"{count:,}"


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
