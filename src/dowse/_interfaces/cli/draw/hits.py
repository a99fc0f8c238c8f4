"""Search results, drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.text import Text

from dowse._interfaces.cli.draw.text import folded, line, marked
from dowse._interfaces.cli.draw.trace import draw_account, draw_trace
from dowse._model import Hit, Match, Response, also_at, header_line, place_of
from dowse._model.display import NO_GOOD_MATCH

_INDENT = 4
_ID_DIGITS = 8
_BARS: Mapping[Match, int] = {"strong": 3, "likely": 2, "weak": 1}  # cells that are full
_WORD = max(map(len, _BARS))
_SNIPPET_LINES = 2  # so that five results fit on a small terminal


def draw_response(
    response: Response, width: int | None, *, full: bool = False, explain: bool = False
) -> Iterator[Text]:
    """What was found, and with `explain` how; dim where there is no good match."""
    offset = response.offset
    drawn = draw_hits(response.hits, width, full=full, explain=explain, offset=offset)
    if response.no_good_match:
        yield from folded(line((NO_GOOD_MATCH, "bold")), width)
        drawn = map(_dimmed, drawn)
    yield from drawn
    if explain:
        yield from draw_account(response, width)


def draw_hits(
    hits: Sequence[Hit],
    width: int | None,
    *,
    full: bool = False,
    explain: bool = False,
    offset: int = 0,
) -> Iterator[Text]:
    """Some results, best first, with a blank line between; `offset` came before them."""
    for rank, hit in enumerate(hits, start=offset + 1):
        if rank > offset + 1:
            yield Text()
        yield from _draw_hit(rank, hit, width, full=full, figure=explain)
        yield from _draw_text(hit, width) if full else _draw_snippet(hit, width)
        if hit.more:
            yield from folded(line((also_at(hit), "dim")), width, _INDENT)
        if explain:
            yield from draw_trace(hit.trace, width, _INDENT)


def draw_titles(numbered: Iterable[tuple[int, Hit]], width: int | None) -> Iterator[Text]:
    """Results by their titles and places alone, each under its number."""
    for number, hit in numbered:
        yield from folded(line(f"{number:>2}  ", (hit.title, "bold"), _stale(hit)), width)
        yield from _draw_place(hit, f"{hit.line}", width)


def _draw_hit(
    rank: int, hit: Hit, width: int | None, *, full: bool, figure: bool
) -> Iterator[Text]:
    bar = ("", "") if width is None else _bar(hit.match)
    word = (f"{hit.match:<{_WORD}}" if width is not None else hit.match, "bold")
    remarks = (f"{hit.score:.2f}" if figure else "", hit.reason)
    remarked = "".join(f"  {remark}" for remark in remarks if remark)
    named = (word, "  ", (hit.title, "bold"), _stale(hit), (remarked, "dim"))
    yield from folded(line(f"{rank:>2}  ", bar, *named), width)
    lines = f"{hit.first_line}-{hit.last_line}" if full else f"{hit.line}"
    yield from _draw_place(hit, lines, width)


def _dimmed(text: Text) -> Text:
    text.stylize("dim")
    return text


def _stale(hit: Hit) -> tuple[str, str]:
    return ("  (changed since indexed)" if hit.stale else "", "red")


def _draw_snippet(hit: Hit, width: int | None) -> Iterator[Text]:
    snippet = folded(marked(hit.snippet, "bold yellow"), width, _INDENT)
    yield from snippet if width is None else _at_most(_SNIPPET_LINES, snippet, width)


def _draw_text(hit: Hit, width: int | None) -> Iterator[Text]:
    for one in hit.text.strip("\n").split("\n"):
        yield from folded(line(one.expandtabs(4)), width, _INDENT) if one.strip() else [Text()]


def _draw_place(hit: Hit, lines: str, width: int | None) -> Iterator[Text]:
    """Where a hit is: on one line with the headings above it where they fit."""
    place = place_of("", hit.page, lines)
    # A path is never cut, whatever the width: people copy it.
    named = (hit.document, "cyan"), (place, "cyan")
    where = line(" " * _INDENT, *named, "  ", (hit.id[:_ID_DIGITS], "dim"))
    headings = line((header_line(hit.headings), "dim"))
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
            blank = last.plain.rfind(" ")
            if blank > len(last) // 2:  # else a script without blanks, cut anywhere
                last.right_crop(len(last) - blank)
        last.rstrip()
        last.append(" …")
    return lines[:count]


def _bar(match: Match) -> tuple[str, str]:
    full = _BARS[match]
    return "▰" * full + "▱" * (len(_BARS) - full) + " ", "green"
