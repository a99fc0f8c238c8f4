"""How results look in a Python console and in a notebook."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dowse._util.messages import counted

if TYPE_CHECKING:
    from dowse._model.search import Hit, Response

_MOST_NAMED = 5  # places of one document

NO_GOOD_MATCH = "No good match. Nearest:"
"""What is above results of which even the best hardly fits."""

_PAGE = re.compile(r"Page (\d{1,9})")  # the heading that a converted page is under
_MARKED = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)


def page_of(document: str, header_path: tuple[str, ...]) -> int | None:
    """Return the page of a PDF that some headings are on; None for other files."""
    if not document.lower().endswith(".pdf"):
        return None
    pages = (_PAGE.fullmatch(one) for one in reversed(header_path))
    return next((int(found[1]) for found in pages if found), None)


def place_of(document: str, page: int | None, lines: str) -> str:
    """Return where something is: lines, or the page of a PDF, whose lines nobody can count."""
    return f"{document}:{lines}" if page is None else f"{document} p. {page}"


def hit_line(hit: Hit) -> str:
    """Return a hit on one line: its label, place and headings, and where else it matches."""
    summary = f"{hit.match}  {_printable(hit.place)}  {_printable(_name(hit))}"
    remarks = "; ".join(filter(None, (hit.reason, also_at(hit))))
    return f"{summary}  ({remarks})" if remarks else summary


def fit_of(hit: Hit) -> str:
    """Return how well a hit fits its query, with the reason: `likely, 2 of 3 words found`."""
    return ", ".join(filter(None, (hit.match, hit.reason)))


def also_at(hit: Hit) -> str:
    """Return where else the document of a hit matches, in words: `2 more: lines 30–41, 60–66`."""
    pages = [page_of(hit.document, one.header_path) for one in hit.more]
    if hit.more and None not in pages:
        places, unit = [f"{page}" for page in dict.fromkeys(pages)], "p."
    else:
        places, unit = [f"{one.first_line}–{one.last_line}" for one in hit.more], "lines"
    rest = ["…"] if len(places) > _MOST_NAMED else []
    listed = ", ".join([*places[:_MOST_NAMED], *rest])
    return f"{len(hit.more)} more: {unit} {listed}" if hit.more else ""


def response_lines(response: Response) -> str:
    """Return a response as text: one line for each hit."""
    poor = ", no good match" if response.no_good_match else ""
    title = f"<Response to {response.query!r}: {counted(len(response.hits), 'hit')}{poor}>"
    return "\n".join([title, *(f"  {hit_line(hit)}" for hit in response.hits)])


def response_html(response: Response) -> str:
    """Return a response as HTML, in which text of documents is only text."""
    return "\n".join(_html(response))


def _html(response: Response) -> Iterator[str]:
    import html  # noqa: PLC0415  only notebooks ask for it

    yield f"<p>{counted(len(response.hits), 'hit')} for <b>{html.escape(response.query)}</b></p>"
    if response.no_good_match:
        yield f"<p><i>{NO_GOOD_MATCH}</i></p>"
    if response.answer:
        yield f"<blockquote>{html.escape(response.answer.text)}</blockquote>"
    yield "<ol>"
    for hit in response.hits:
        place = html.escape(hit.place)
        snippet = _MARKED.sub(r"<mark>\1</mark>", html.escape(hit.snippet))
        yield f"<li><b>{html.escape(_name(hit))}</b> <code>{place}</code> {fit_of(hit)}"
        yield f"<br>{snippet}{f'<br><i>{also_at(hit)}</i>' if hit.more else ''}</li>"
    yield "</ol>"
    yield from (f"<p><i>{html.escape(notice)}</i></p>" for notice in response.notices)


def _name(hit: Hit) -> str:
    return " › ".join((hit.title, *hit.headings))


def _printable(text: str) -> str:
    """Return the text without characters that could change what a terminal shows."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)
