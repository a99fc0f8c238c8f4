"""What an indexing run did, drawn."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterator, Mapping

from rich.text import Text

from dowse._interfaces.cli.draw.text import duration, folded, line, number
from dowse._model import IndexReport, LeftOut
from dowse._util.messages import counted

_NAMED = 20  # files left out that are named without --verbose


def draw_report(
    project: str, report: IndexReport, seconds: float, width: int | None, *, verbose: bool
) -> Iterator[Text]:
    """Draw the summary of a run, and what was left out."""
    yield from folded(
        line((project, "bold"), f": {_summary(report)}, in {duration(seconds)}"), width
    )
    if verbose:
        times = f"{stage_times(report.seconds)} Texts embedded: {number(report.embedded)}."
        yield from folded(line((times, "dim")), width)
    if report.unreadable:
        yield from folded(line((_unreadable(report.unreadable), "dim")), width)
    yield from _draw_left_out(report.left_out, width, verbose=verbose)


def draw_change(moment: str, report: IndexReport, width: int | None) -> Iterator[Text]:
    """Draw what a run did while watching, and what was left out."""
    done = report.added or report.changed or report.removed
    summary = _summary(report) if done else "nothing to index"
    yield from folded(line((moment, "dim"), f"  {summary}"), width)
    yield from _draw_left_out(report.left_out, width, verbose=False)


def _summary(report: IndexReport) -> str:
    parts = [
        f"{number(count)} {word}"
        for count, word in (
            (report.added, "added"),
            (report.changed, "changed"),
            (report.removed, "removed"),
            (report.unchanged, "unchanged"),
        )
        if count
    ]
    if report.chunks:
        parts.append(f"{counted(report.chunks, 'chunk')} written")
    if report.secrets:
        parts.append(f"{counted(report.secrets, 'secret')} left out")
    return ", ".join(parts) or "no documents found"


def _unreadable(count: int) -> str:
    use, are = ("passage uses", "it is") if count == 1 else ("passages use", "they are")
    return (
        f"{number(count)} {use} a script that the embedding model does not support; {are} found by"
        " keywords only. To choose another model, set embed.model."
    )


def stage_times(seconds: Mapping[str, float]) -> str:
    """Write how long each stage took, the longest first."""
    slow = sorted(seconds.items(), key=lambda item: -item[1])
    return f"Time by stage: {', '.join(f'{stage} {duration(spent)}' for stage, spent in slow)}."


def _draw_left_out(
    items: tuple[LeftOut, ...], width: int | None, *, verbose: bool
) -> Iterator[Text]:
    yield from _draw_kinds([item for item in items if not item.lost], width)
    whole = [item for item in items if item.whole and item.lost]
    parts = [item for item in items if not item.whole]
    yield from _draw_some(whole, "left out", width, verbose=verbose)
    yield from _draw_some(parts, "indexed with a remark", width, verbose=verbose)


def _draw_kinds(items: list[LeftOut], width: int | None) -> Iterator[Text]:
    """Draw one line for each kind of file that is not read here."""
    kinds = Counter((posixpath.splitext(item.id)[1].lower(), item.reason) for item in items)
    for (ending, reason), count in sorted(kinds.items()):
        what = counted(count, f"{ending} file" if ending else "file")
        yield from folded(line((f"{what} left out: ", "yellow"), reason), width)


def _draw_some(
    items: list[LeftOut], what: str, width: int | None, *, verbose: bool
) -> Iterator[Text]:
    if items:
        yield line((f"{counted(len(items), 'file')} {what}:", "yellow"))
    shown = items if verbose else items[:_NAMED]
    for item in shown:
        yield from folded(line((item.id, "bold"), f": {item.reason}"), width, indent=2)
    if len(shown) < len(items):
        yield line(f"  and {number(len(items) - len(shown))} more: --verbose shows all")
