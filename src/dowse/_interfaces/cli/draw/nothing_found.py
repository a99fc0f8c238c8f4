"""What to say when nothing was found: what came nearest, and what kept the rest out."""

from __future__ import annotations

from dowse._interfaces.cli.call import Call
from dowse._interfaces.cli.draw.hits import draw_hits
from dowse._model import Response
from dowse._text.amounts import counted


def say_nothing_found(call: Call, response: Response, *, in_full: bool) -> None:
    """Says that nothing was found, and why where that is known; `in_full` shows what was near."""
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
    """A sentence for each condition that excludes something better."""
    return [
        f"{condition} excluded {counted(count, 'passage')} that would otherwise match."
        for condition, count in response.removed.items()
        if count
    ]


def _hint(response: Response) -> str:
    if response.removed:
        return f"Try other words, or leave out {' and '.join(response.removed)}."
    return "Try other words, or see what is indexed: dowse ls"
