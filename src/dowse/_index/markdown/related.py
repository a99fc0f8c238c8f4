"""The `related` entries of the frontmatter → links."""

from __future__ import annotations

import re

from dowse._index.markdown.destinations import is_media, read_destination
from dowse._index.markdown.fields import texts
from dowse._index.markdown.frontmatter import Frontmatter
from dowse._model import Link
from dowse._text.wikilinks import WIKILINK, Wikilink, leads_away, read_wikilink
from dowse._util import limits

_MARKDOWN_LINK = re.compile(r"\[([^\[\]]*)\]\(([^()]*)\)")
_KEY = "related"


def read_related(front: Frontmatter) -> list[Link]:
    """Reads the entries, be they paths, names, wikilinks or Markdown links."""
    value = front.values.get(_KEY)
    return [
        Link("related", link.target, link.anchor, link.label, front.line_of(_KEY, entry))
        for entry in texts(value)
        for link in _links(entry, alone=isinstance(value, str))
        if link.target and not leads_away(link) and not is_media(link.target)
        if max(len(link.target), len(link.anchor), len(link.label)) <= limits.LINK
    ]


def _links(entry: str, alone: bool) -> list[Wikilink]:
    """The links in one entry; an entry where a list was expected may hold several."""
    if wikilinks := list(WIKILINK.finditer(entry)):
        return [read_wikilink(match) for match in wikilinks]
    if markdown := list(_MARKDOWN_LINK.finditer(entry)):
        return [link for match in markdown if (link := _markdown_link(match))]
    entries = entry.strip("[]").split(",") if alone else [entry]
    return [link for written in entries if (link := _bare_link(written))]


def _markdown_link(match: re.Match[str]) -> Wikilink | None:
    destination = read_destination(match[2])
    return Wikilink("wikilink", *destination, match[1]) if destination else None


def _bare_link(written: str) -> Wikilink | None:
    """A path or a name; YAML takes the brackets off an unquoted wikilink, so it may be one too."""
    match = WIKILINK.fullmatch(f"[[{written.strip()}]]")
    return read_wikilink(match) if match else None
