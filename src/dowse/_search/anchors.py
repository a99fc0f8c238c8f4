"""The lines of a document that an anchor means: a heading with what is below it, or a block."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from dowse._index.markdown.document import parse
from dowse._model import Heading
from dowse._text.fold import fold, fold_name

Lines = tuple[int, int]
"""The first and the last line, from 1."""

_OWN_ANCHOR = re.compile(r"\{[^{}]*#([^\s{}.]+)[^{}]*\}\s*$")
_NOT_IN_SLUG = re.compile(r"[^\w\- ]")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s")


def lines_of_anchor(document_id: str, text: str, anchor: str) -> Lines | None:
    """The lines that an anchor means; None when the document has no such place.

    An anchor is a heading as people read it or as an address spells it, headings below each other
    (`Steps#First`), an anchor that the heading names itself (`{#first}`), or a block (`^first`).
    """
    lines = text.split("\n")
    if anchor.startswith("^"):
        return _block(lines, anchor[1:])
    headings = parse(document_id, text).headings
    place = -1
    for part in filter(None, anchor.split("#")):
        found = _heading(headings, text, part, place + 1)
        if found is None:
            return None
        place = found
    return _section(headings, text, place, len(lines)) if place >= 0 else None


def _heading(headings: Sequence[Heading], text: str, wanted: str, start: int) -> int | None:
    """The first heading from `start` on that an anchor means."""
    names = [fold_name(one.text) for one in headings]
    own = [_own_anchor(text, one) for one in headings]
    slugs = _slugs(headings)
    for spelled, known in ((fold(wanted), own), (fold(wanted), slugs), (fold_name(wanted), names)):
        found = [place for place in range(start, len(headings)) if known[place] == spelled]
        if found:
            return found[0]
    folded = _slug(wanted)
    return next((place for place in range(start, len(slugs)) if slugs[place] == folded), None)


def _own_anchor(text: str, heading: Heading) -> str:
    found = _OWN_ANCHOR.search(
        text[heading.start : text.find("\n", heading.start) % (len(text) + 1)]
    )
    return fold(found[1]) if found else ""


def _slugs(headings: Sequence[Heading]) -> list[str]:
    """How addresses spell the headings; one that comes again gets a number, as on GitHub."""
    seen: Counter[str] = Counter()
    slugs = []
    for heading in headings:
        slug = _slug(heading.text)
        slugs.append(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return slugs


def _slug(text: str) -> str:
    return _NOT_IN_SLUG.sub("", fold(text).strip()).replace(" ", "-")


def _section(headings: Sequence[Heading], text: str, place: int, last: int) -> Lines:
    level = headings[place].level
    after = next((one for one in headings[place + 1 :] if one.level <= level), None)
    first = text.count("\n", 0, headings[place].start) + 1
    return first, last if after is None else text.count("\n", 0, after.start)


def _block(lines: Sequence[str], name: str) -> Lines | None:
    mark = re.compile(rf"(?:^|\s)\^{re.escape(name)}\s*$", re.IGNORECASE)
    last = next((place for place, line in enumerate(lines) if mark.search(line)), None)
    if last is None:
        return None
    first = last
    if not mark.sub("", lines[last]).strip():  # on a line of its own it names the block before it
        while first > 0 and not lines[first - 1].strip():
            first -= 1
        first = max(0, first - 1)
    while first > 0 and not _ITEM.match(lines[first]) and lines[first - 1].strip():
        first -= 1
    return first + 1, last + 1
