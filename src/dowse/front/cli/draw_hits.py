"""Search results, drawn."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from dowse.front.cli.lines import duration, fitted, folded, line, marked, table
from dowse.types import Hit, Response, header_line

_INDENT = 4
_ID_DIGITS = 8
_BAR = 5  # cells
_SNIPPET_LINES = 2  # so that five results fit on a small terminal


def draw_hits(response: Response, width: int | None, *, explain: bool = False) -> Iterator[Text]:
    """The results of a response, best first, with a blank line between."""
    for rank, hit in enumerate(response.hits, start=1):
        if rank > 1:
            yield Text()
        yield from _draw_hit(rank, hit, width)
        if explain:
            yield from _indented(_explain(hit))
    if explain:
        yield from _draw_account(response, width)


def _draw_hit(rank: int, hit: Hit, width: int | None) -> Iterator[Text]:
    score = min(99, round(hit.score * 100))
    bar = ("", "") if width is None else _bar(score)
    first = line(f"{rank:>2}  ", bar, (f"{score:02d}", "bold"), "  ", (hit.title, "bold"))
    yield from folded(first, width)
    yield from _draw_place(hit, width)
    snippet = folded(marked(hit.snippet, "bold yellow"), width, _INDENT)
    yield from snippet if width is None else _at_most(_SNIPPET_LINES, snippet, width)


def _draw_place(hit: Hit, width: int | None) -> Iterator[Text]:
    """Where a hit stands: on one line with the headings above it where they fit."""
    place, digits = f":{hit.first_line}-{hit.last_line}", hit.id[:_ID_DIGITS]
    room = None if width is None else width - _INDENT - len(place) - len(digits) - 2
    document = hit.document if room is None else fitted(hit.document, room)
    where = line(" " * _INDENT, (document, "cyan"), (place, "cyan"), "  ", (digits, "dim"))
    headings = line((header_line(_below_title(hit)), "dim"))
    if headings and width is not None and where.cell_len + 2 + headings.cell_len <= width:
        yield where + Text("  ") + headings
    else:
        yield where
        yield from folded(headings, width, _INDENT) if headings else []


def _at_most(count: int, lines: list[Text], width: int) -> list[Text]:
    """The first lines, with a sign at the end when there are more."""
    if len(lines) > count:
        last = lines[count - 1]
        if last.cell_len > width - 2:
            last.truncate(width - 2)
            last.right_crop(len(last) - max(last.plain.rfind(" "), len(last) // 2))
        last.rstrip()
        last.append(" …")
    return lines[:count]


def _below_title(hit: Hit) -> tuple[str, ...]:
    """The headings above a hit, without the one that only says the title again."""
    repeats = bool(hit.header_path) and hit.header_path[0] == hit.title
    return hit.header_path[1:] if repeats else hit.header_path


def _bar(score: int) -> tuple[str, str]:
    full = round(score / 100 * _BAR)
    return "▰" * full + "▱" * (_BAR - full) + " ", "green"


def _explain(hit: Hit) -> Iterator[Text]:
    places = [
        (
            place.strategy,
            f"place {place.rank}",
            f"score {place.score:.3f}",
            f"gives {place.contribution:.4f}",
        )
        for place in hit.trace.places
    ]
    steps = [
        (
            step.stage,
            "",
            f"{step.before:.4f}",
            f"→ {step.after:.4f}{step.dropped and f' ({step.dropped})'}",
        )
        for step in hit.trace.steps
    ]
    yield from table([*places, *steps], None, right=(2,))


def _indented(lines: Iterator[Text]) -> Iterator[Text]:
    for one in lines:
        one.stylize("dim")
        yield Text(" " * _INDENT) + one


def _draw_account(response: Response, width: int | None) -> Iterator[Text]:
    counts = ", ".join(f"{stage} {count}" for stage, count in response.counts.items())
    times = ", ".join(f"{stage} {duration(spent)}" for stage, spent in response.seconds.items())
    yield Text()
    yield from folded(line((f"Candidates after each stage: {counts}", "dim")), width)
    yield from folded(line((f"Time: {times}", "dim")), width)
