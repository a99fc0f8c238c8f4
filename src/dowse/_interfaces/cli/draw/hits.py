"""Search results, drawn: hits, how each came to its place, and what to say without any."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.text import Text

from dowse._interfaces.cli.call import Call
from dowse._interfaces.cli.draw.text import Part, folded, line, marked, number, table
from dowse._model import (
    Hit,
    Match,
    Place,
    Response,
    Step,
    StrategyRank,
    Trace,
    also_at,
    header_line,
    place_of,
)
from dowse._model.search import NO_GOOD_MATCH
from dowse._util.messages import counted

_INDENT = 4
_ID_DIGITS = 8
_BARS: Mapping[Match, int] = {"strong": 3, "likely": 2, "weak": 1}  # cells that are full
_WORD = max(map(len, _BARS))
_SNIPPET_LINES = 2  # so that five results fit on a small terminal


def draw_response(
    response: Response, width: int | None, *, full: bool = False, explain: bool = False
) -> Iterator[Text]:
    """Draw what was found, and with `explain` how; dim if there is no good match."""
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
    """Draw some results, best first, with a blank line between; `offset` came before them."""
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
    """Draw results by their titles and places alone, each under its number."""
    for rank, hit in numbered:
        yield from folded(line(f"{rank:>2}  ", (hit.title, "bold"), _stale(hit)), width)
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
    """Draw where a hit is: on one line with the headings above it, if they fit."""
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
    """Return the first lines, with a sign at the end when there are more."""
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


# ── How a candidate came to its place, and what the stages did ───────────────


def draw_trace(
    trace: Trace, width: int | None, indent: int, standing: Iterable[StrategyRank] = ()
) -> Iterator[Text]:
    """Draw its place in every strategy, then what each stage did to its score.

    `standing` has the ranks by strategies that did not hand it over.
    """
    from dowse._search.pipeline import SEARCH_FLOW  # noqa: PLC0415  most results are not explained

    multipliers = {stage.name for stage in SEARCH_FLOW if stage.multiplies}
    ranked = {one.strategy: one for one in standing}
    rows = [_place_row(place, ranked.pop(place.strategy, None)) for place in trace.places]
    rows += [
        (one.strategy, f"place {number(one.rank)}", f"score {one.score:.3f}", "not handed over")
        for one in ranked.values()
    ]
    rows += [_step_row(step, step.stage in multipliers) for step in trace.steps]
    for one in table(rows, width and width - indent, right=(1, 2)):
        one.stylize("dim")
        yield Text(" " * indent) + one


def _place_row(place: Place, ranked: StrategyRank | None) -> tuple[Part, ...]:
    rank = place.rank or (ranked and ranked.rank)
    where = f"place {number(rank)}" if rank else "further back"
    return place.strategy, where, f"score {place.score:.3f}", f"gives {place.contribution:.4f}"


def _step_row(step: Step, multiplies: bool) -> tuple[Part, ...]:
    if step.dropped:
        return step.stage, "", f"{step.before:.4f}", f"dropped: {step.dropped}"
    factor = f"× {step.after / step.before:.2f}" if multiplies and step.before > 0 else ""
    return step.stage, factor, f"{step.before:.4f}", f"→ {step.after:.4f}"


def draw_account(response: Response, width: int | None) -> Iterator[Text]:
    """Draw how many candidates each stage left that ran, and how long it took."""
    heading: tuple[Part, ...] = (("stage", "bold"), ("candidates", "bold"), ("time", "bold"), "")
    rows = [heading]
    for stage, spent in response.seconds.items():
        left = number(response.counts[stage]) if stage in response.counts else ""
        rows.append((stage, left, f"{spent * 1000:.1f} ms", ""))
    rows.append(("all", "", f"{sum(response.seconds.values()) * 1000:.1f} ms", ""))
    yield Text()
    for one in table(rows, width, right=(1, 2)):
        one.stylize("dim")
        yield one
    if response.calibration:
        yield from folded(line((f"Scores: {response.calibration}.", "dim")), width)
    if response.merged:
        said = f"{counted(response.merged, 'result stands', 'results stand')} for others that mean"
        yield from folded(line((f"{said} the same.", "dim")), width)


# ── When nothing was found: what came nearest, and what kept the rest out ────


def say_nothing_found(call: Call, response: Response, *, in_full: bool) -> None:
    """Say that nothing was found, and why if that is known; `in_full` shows what was near."""
    if response.total:
        matching = (
            f"{'' if response.total_is_exact else 'at least '}{counted(response.total, 'result')}"
        )
        call.remark(f"Nothing is left after the first {response.offset}: there are {matching}.")
        return
    kept_out = kept_out_by(response)
    known = kept_out or response.nearest or response.notices
    call.remark("Nothing found." if known else f"Nothing found. {_hint(response)}", *kept_out)
    if response.nearest and in_full:
        call.remark("The nearest results, below the least confidence:")
        call.show_aside(lambda width: draw_hits(response.nearest, width))


def kept_out_by(response: Response) -> list[str]:
    """Write a sentence for each condition that excludes something better."""
    return [
        f"{condition} excluded {counted(count, 'passage')} that would otherwise match."
        for condition, count in response.removed.items()
        if count
    ]


def _hint(response: Response) -> str:
    if response.removed:
        return f"Try other words, or leave out {' and '.join(response.removed)}."
    return "Try other words, or see what is indexed: dowse ls"
