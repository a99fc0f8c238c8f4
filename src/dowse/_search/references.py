"""From what a person types to the passage they mean."""

from __future__ import annotations

import difflib
import os.path
import re
import shlex
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from dowse._index.markdown.document import parse
from dowse._index.source.roots import Root
from dowse._model import DocumentEntry, Heading, Link, Passage, StoredDocument
from dowse._model.ports import IndexReader
from dowse._text.links import WIKILINK, choose, names_of, names_of_target, read_wikilink
from dowse._text.markdown import rest_of_line
from dowse._text.matching import fold, fold_name
from dowse.errors import DowseError, NotFound, UsageError

# ── The lines of a document that an anchor means: a heading with what is below it, or a block ───


Lines = tuple[int, int]
"""The first and the last line, from 1."""

_OWN_ANCHOR = re.compile(r"\{[^{}]*#([^\s{}.]+)[^{}]*\}\s*$")
_NOT_IN_SLUG = re.compile(r"[^\w\- ]")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s")


def lines_of_anchor(document_id: str, text: str, anchor: str) -> Lines | None:
    """Find the lines that an anchor means; None when the document has no such place.

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
    """Find the first heading from `start` on that an anchor means."""
    names = [fold_name(one.text) for one in headings]
    named = (_OWN_ANCHOR.search(rest_of_line(text, one.start)) for one in headings)
    own = [fold(match[1]) if match else "" for match in named]
    slugs = _slugs(headings)
    found = (
        place
        for spelled, known in (
            (fold(wanted), own),
            (fold(wanted), slugs),
            (fold_name(wanted), names),
            (_slug(wanted), slugs),
        )
        for place in range(start, len(headings))
        if known[place] == spelled
    )
    return next(found, None)


def _slugs(headings: Sequence[Heading]) -> list[str]:
    """Spell the headings as addresses do; one that comes again gets a number, as on GitHub."""
    seen: defaultdict[str, Iterator[int]] = defaultdict(count)
    numbered = ((slug, next(seen[slug])) for slug in (_slug(one.text) for one in headings))
    return [f"{slug}-{number}" if number else slug for slug, number in numbered]


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


_LINES = re.compile(
    r"(?P<name>.+?):(?P<line>\d{1,12})(?::(?P<count>\d{1,12})|-(?P<last>\d{1,12}))?$"
)
_PAGE = re.compile(r"(?P<name>.+\.pdf)\s+p(?:age|\.)?\s*(?P<page>\d{1,9})", re.IGNORECASE)
_MOST_READ = 50  # documents of one name, to see which of them has an anchor
_SHORT = re.compile(r"#?(?P<digits>[0-9a-f]{4,16})$")


DocumentLines = tuple[StoredDocument, int, int | None]
"""A document, and the first and the last line that are meant; None: the last that it has."""


def find_passage(
    reading: IndexReader, reference: str, roots: Sequence[Root], here: Path | None = None
) -> Passage:
    """Find the passage that a reference means; raise `NotFound` with what comes nearest.

    A reference is an id, a path or the end of one, each with or without lines; a short id; or what
    documents write: `[[Note#Heading]]`, `file.md#anchor`, an address on the site, an alias, a
    title; or a page: `manual.pdf p. 12`. `here` is the folder that paths begin at, by default the
    current one.
    """
    document = _document(reading, reference, roots, here)
    if document is not None:
        return _lines(document, 1, None)
    reference = _PAGE.sub(r"\g<name>#Page \g<page>", reference)  # the heading of a page
    match = _LINES.match(reference)
    name = match["name"] if match else reference
    document = _document(reading, name, roots, here) if match else None
    first, last = 1, None
    if document is None:
        document, first, last = _by_short_id(reading, name) or _as_written(
            reading, name, roots, here
        )
    if match:
        return _lines(document, int(match["line"]), _count(match))
    return _lines(document, first, last and last - first + 1)


def _count(match: re.Match[str]) -> int | None:
    """Count the lines that are meant; None: all that follow."""
    if match["last"] is None:
        return int(match["count"]) if match["count"] else None
    lines = int(match["last"]) - int(match["line"]) + 1
    if lines < 1:
        raise UsageError(f"{match[0]} ends before it begins.", "Write it as path:first-last.")
    return lines


def _document(
    reading: IndexReader, name: str, roots: Sequence[Root], here: Path | None, anchor: str = ""
) -> StoredDocument | None:
    return (
        reading.catalogue.document(name)
        or _by_path(reading, name, roots, here)
        or _by_ending(reading, name, anchor)
    )


def _by_path(
    reading: IndexReader, name: str, roots: Sequence[Root], here: Path | None
) -> StoredDocument | None:
    """Find a document by a path as the shell completes it, from the current folder."""
    # Unlike pathlib's, this leaves a ~name that is nobody's home as it is.
    path = Path(here or "", os.path.expanduser(name))  # noqa: PTH111
    for root in roots:
        try:
            found = reading.catalogue.document(root.id_of(path))
        except (DowseError, ValueError):  # the latter for what cannot be a path
            continue
        if found is not None:
            return found
    return None


def _by_ending(reading: IndexReader, name: str, anchor: str) -> StoredDocument | None:
    """Find the one document whose path ends like this, with or without its ending.

    Of several, it is the one that has the anchor.
    """
    wanted = f"/{fold(name).lstrip('/')}"
    paths = {entry.id: f"/{fold(entry.id)}" for entry in reading.catalogue.documents()}
    ids = [
        id_
        for id_, path in paths.items()
        if path.endswith(wanted) or path.rpartition(".")[0].endswith(wanted)
    ]
    return _only(reading, name, _having(reading, ids, anchor) or ids)


def _having(reading: IndexReader, ids: Sequence[str], anchor: str) -> list[str]:
    """Keep those of several documents that have an anchor; none where nothing must be decided."""
    if not anchor or not 1 < len(ids) <= _MOST_READ:
        return []
    documents = filter(None, map(reading.catalogue.document, ids))
    return [one.entry.id for one in documents if lines_of_anchor(one.entry.id, one.text, anchor)]


def _by_short_id(reading: IndexReader, name: str) -> DocumentLines | None:
    """Find the document of a short id, and the first and last line of what has this id."""
    short = _SHORT.match(name)
    digits = short["digits"] if short else ""
    found = reading.catalogue.find(digits) if digits else []
    documents = {place[0] for place in found}
    if not found:
        return None
    if len(documents) > 1:
        listed = ", ".join(sorted(documents)[:5])
        raise UsageError(f"{digits!r} can mean several: {listed}.", "Give more digits.")
    document = reading.catalogue.document(found[0][0])
    if document is None:
        raise NotFound(f"{found[0][0]} is gone.", "Try again.")
    return document, min(place[1] for place in found), max(place[2] for place in found)


# ── What documents write ─────────────────────────────────────────────────────


def _as_written(
    reading: IndexReader, name: str, roots: Sequence[Root], here: Path | None
) -> DocumentLines:
    """Find the place that a link, an address, an alias or a title means."""
    link, document = _link(name), None
    if link.target and link.anchor and not WIKILINK.fullmatch(name.strip()):
        document = _document(reading, link.target, roots, here, link.anchor)
    document = (
        document
        or _by_link(reading, link)
        or _by_title(reading, link.target or name)
        or _by_title(reading, name)
    )
    if document is None:
        entries = reading.catalogue.documents()
        within = [entry.id for entry in entries if fold(name) in fold(entry.id)][:3]
        near = within or _near(entries, name)
        hint = f"Did you mean {' or '.join(near)}?" if near else "List documents with: dowse ls"
        raise NotFound(f"There is no document {name!r}.", hint)
    if not link.anchor:
        return document, 1, None
    found = lines_of_anchor(document.entry.id, document.text, link.anchor)
    if found is None:
        raise NotFound(
            f"{document.entry.id} has no heading or block {link.anchor!r}.",
            f"Read all of it: dowse get {shlex.quote(document.entry.id)}",
        )
    return document, *found


def _link(name: str) -> Link:
    """Read a reference as a link; without brackets it may be written for a site, or for Windows."""
    if found := WIKILINK.fullmatch(name.strip()):
        wiki = read_wikilink(found)
        return Link(wiki.kind, wiki.target, wiki.anchor, wiki.label, 0)
    target, _, anchor = unquote(name.strip()).replace("\\", "/").partition("#")
    return Link("wikilink", target.removesuffix(".html"), anchor, "", 0)


def _by_link(reading: IndexReader, link: Link) -> StoredDocument | None:
    """Find the document that a link in the root folder leads to, best one with its anchor."""
    wanted = set(names_of_target("", link)) if link.target.strip(" /") else set()
    named = [
        name
        for entry in (reading.catalogue.documents() if wanted else ())
        for name in names_of(entry.id, entry.fields.aliases)
        if name.name in wanted
    ]
    having = _having(reading, list({one.document: None for one in named}), link.anchor)
    fitting = [one for one in named if one.document in having]
    found = choose("", link, fitting) or choose("", link, named) if named else None
    return reading.catalogue.document(found) if found else None


def _by_title(reading: IndexReader, title: str) -> StoredDocument | None:
    wanted = fold_name(title)
    entries = reading.catalogue.documents() if wanted else []
    ids = [entry.id for entry in entries if fold_name(entry.fields.title) == wanted]
    return _only(reading, title, ids)


def _only(reading: IndexReader, name: str, ids: Sequence[str]) -> StoredDocument | None:
    """Take the one document of these; raise `UsageError` when there are several."""
    if len(ids) > 1:
        some = ", ".join(ids[:5])
        raise UsageError(f"{name!r} can mean {len(ids)} documents: {some}.", "Give more of it.")
    return reading.catalogue.document(ids[0]) if ids else None


def _lines(document: StoredDocument, first: int, count: int | None) -> Passage:
    lines = document.text.split("\n")
    if lines[-1] == "" and len(lines) > 1:
        lines.pop()  # the end of the last line, not a line of its own
    if not 1 <= first <= len(lines):
        raise UsageError(
            f"{document.entry.id} has {len(lines)} lines, not a line {first}.",
            "Name a line that it has.",
        )
    last = len(lines) if count is None else min(len(lines), first + max(1, count) - 1)
    return Passage(
        document=document.entry.id,
        title=document.entry.fields.title,
        first_line=first,
        last_line=last,
        total_lines=len(lines),
        text="\n".join(lines[first - 1 : last]),
    )


def _near(entries: Sequence[DocumentEntry], name: str) -> list[str]:
    """Find the documents whose path, file name, title or alias is written most like a name."""
    names = {
        fold_name(one): entry.id
        for entry in reversed(entries)
        for one in (*entry.fields.aliases, entry.fields.title, PurePosixPath(entry.id).stem)
    }
    names |= {fold_name(entry.id): entry.id for entry in entries}
    close = difflib.get_close_matches(fold_name(name.strip("[]")), names, n=3, cutoff=0.6)
    return list(dict.fromkeys(names[one] for one in close))
