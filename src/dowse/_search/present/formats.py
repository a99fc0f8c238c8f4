"""A response as Markdown, for a model or a person to read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from dowse._model import Hit, Response, also_at, header_line, place_of
from dowse._model.display import NO_GOOD_MATCH

_SPECIAL = re.compile(r"([\\`*\[\]<>#|~&]|(?<!\w)_|_(?!\w))")
_BACKTICKS = re.compile(r"`+")


def as_markdown(response: Response) -> str:
    """Write each result as a heading line, then its text in a fence that it cannot break out of."""
    return "\n\n".join(_blocks(response)) + "\n"


def with_projects(response: Response) -> Response:
    """Let each title name its project, where all projects were searched."""

    def named(hits: Sequence[Hit]) -> tuple[Hit, ...]:
        return tuple(
            replace(hit, title=f"{hit.title or hit.document} — {hit.project}")
            if hit.project
            else hit
            for hit in hits
        )

    return replace(response, hits=named(response.hits), nearest=named(response.nearest))


def _blocks(response: Response) -> Iterator[str]:
    yield f"# Results for: {_inline(response.query)}"
    yield from (f"> {_inline(notice)}" for notice in response.notices)
    if response.no_good_match:
        yield from _removed(response)
        yield NO_GOOD_MATCH
    yield from _hits(response.hits, response.offset)
    # A budget may have left no room for what was found.
    if not response.hits and not response.counts.get("top_n"):
        yield "Nothing was found."
        yield from _removed(response)
        if response.nearest:
            yield "The nearest results below the threshold:"
            yield from _hits(response.nearest)


def _removed(response: Response) -> Iterator[str]:
    if response.removed:
        kept_out = response.removed.items()
        yield "\n".join(f"- {_code(condition)} kept out {count}" for condition, count in kept_out)


def _hits(hits: Sequence[Hit], offset: int = 0) -> Iterator[str]:
    for rank, hit in enumerate(hits, offset + 1):
        title = _inline(hit.title or hit.document)
        yield " · ".join((f"## {rank}. {title}", *_particulars(hit)))
        ticks = "`" * _more_than_any(hit.text, 3)
        yield f"{ticks}markdown\n{hit.text.strip(chr(10))}\n{ticks}"


def _particulars(hit: Hit) -> Iterator[str]:
    if hit.headings:
        yield header_line(tuple(map(_inline, hit.headings)))
    yield _code(place_of(hit.document, hit.page, f"{hit.first_line}-{hit.last_line}"))
    yield f"{hit.match} match" + (f" ({hit.reason})" if hit.reason else "")
    if hit.more:
        yield also_at(hit)
    if hit.stale:
        yield "changed since it was indexed"


def _inline(text: str) -> str:
    """Write a text on one line whose characters mean nothing but themselves."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _code(text: str) -> str:
    """Write a text as a code span, whatever backticks it holds."""
    flat = " ".join(text.split())
    ticks = "`" * _more_than_any(flat, 1)
    gap = " " if "`" in flat else ""
    return f"{ticks}{gap}{flat}{gap}{ticks}"


def _more_than_any(text: str, least: int) -> int:
    runs = (len(run) for run in _BACKTICKS.findall(text))
    return max(least, 1 + max(runs, default=0))


# ── A result as one line for editors and pipes: `path:line:column:text`, as grep prints it ───


_MARKED = re.compile(r"(?<!\\)\*\*(.+?)(?<!\\)\*\*")


def grep_line(hit: Hit, path: str) -> str:
    """Write the line of a result where the match is."""
    words = {word.casefold() for word in _MARKED.findall(hit.snippet)}
    lines = hit.text.split("\n")
    text = lines[min(max(0, hit.line - hit.first_line), len(lines) - 1)]
    folded = text.casefold()
    column = 1 + min((folded.find(word) for word in words if word in folded), default=0)
    return f"{path}:{hit.line}:{column}:{text.rstrip()}"
