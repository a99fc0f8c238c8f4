"""The links and tags of a document's prose."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from dowse._index.markdown.blocks import Outline, Stretch
from dowse._index.markdown.fields import find_tags, is_usable, may_hold_tags
from dowse._index.markdown.inline import Definitions, Inline, fold_label, plain_text, read_inline
from dowse._model import Link
from dowse._text.fold import fold
from dowse._text.lines import LineNumbers
from dowse._text.links import WIKILINK, is_media, leads_away, read_destination, read_wikilink
from dowse._util import limits
from dowse._util.deadline import Deadline

# ── The links and tags that were found in prose, as far as they are kept ───


class References(Struct):
    """Links and tags in the order of the text, and what was too much, with the line it is on."""

    links: list[Link] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)  # folded name → as first spelled
    cuts: dict[str, int] = field(default_factory=dict)


class Found:
    """Takes what is found in the order of the text, without what is between two "%%".

    Only what is kept is held: a document can hold millions of links and tags.
    """

    def __init__(self, length: int) -> None:
        self._most_links = limits.most_links(length)
        self._most_characters = length + limits.LINK_TEXT
        self._links = self._characters = 0  # of the links so far
        self._kept = References()
        self._commented: References | None = None  # since a "%%" that nothing has closed yet

    def take(self, offset: int, item: Link | str | None, lines: LineNumbers) -> None:
        """Takes a link, the name of a tag, or None for a "%%"."""
        if item is None:
            self._commented = References() if self._commented is None else None
        elif isinstance(item, Link):
            self._take_link(offset, item, lines)
        else:
            self._take_tag(offset, item, lines)

    @property
    def is_full(self) -> bool:
        """Whether no further link is taken."""
        return "links" in self._kept.cuts

    def note(self, what: str, line: int) -> None:
        """Notes that something was too much."""
        self._kept.cuts.setdefault(what, line)

    def end(self) -> References:
        """What was found; a "%%" that is never closed opens nothing."""
        if left := self._commented:
            self._kept.links.extend(left.links)
            for folded, name in left.tags.items():
                self._kept.tags.setdefault(folded, name)
        return self._kept

    def _take_link(self, offset: int, link: Link, lines: LineNumbers) -> None:
        size = len(link.target) + len(link.anchor) + len(link.label)
        if len(link.target) > limits.LINK or len(link.anchor) > limits.LINK:
            self.note("link", lines.at(offset))
        elif self._links >= self._most_links or self._characters + size > self._most_characters:
            self.note("links", lines.at(offset))
        else:
            self._links += 1
            self._characters += size
            self._current.links.append(
                replace(link, label=link.label[: limits.LINK], line=lines.at(offset))
            )

    def _take_tag(self, offset: int, name: str, lines: LineNumbers) -> None:
        folded = fold(name)
        tags = self._current.tags
        if folded in tags:
            return
        if not is_usable(name):
            self.note("tag", lines.at(offset))
        elif len(tags) >= limits.TAGS:
            self.note("tags", lines.at(offset))
        else:
            tags[folded] = name

    @property
    def _current(self) -> References:
        return self._kept if self._commented is None else self._commented


_QUOTE_MARKS = re.compile(r"(?<=\n)[ \t>]+")
_COMMENT_MARK = re.compile("%%")


def read_definitions(text: str, outline: Outline) -> Definitions:
    """The link definitions of a document; the first of a label counts."""
    found: dict[str, str] = {}
    for label, address in outline.definitions:
        folded = fold_label(text[label.start + 1 : label.end - 1])
        found.setdefault(folded, text[address.start : address.end])
    return found


def read_references(
    text: str,
    outline: Outline,
    definitions: Definitions,
    lines: LineNumbers,
    deadline: Deadline,
) -> References:
    """Finds the links and tags outside code, HTML and comments."""
    reader = _ReferenceReader(text, definitions, lines)
    for place in outline.inlines:
        for part in _parts(text, place):
            deadline.check()
            reader.read(part)
    return reader.found.end()


def _parts(text: str, place: Stretch) -> Iterator[Stretch]:
    """A stretch of prose, in parts of whole lines or words where it is very long."""
    start = place.start
    while place.end - start > limits.PROSE:
        most = start + limits.PROSE
        end = max(text.rfind(blank, start, most) + 1 for blank in ("\n", " "))
        end = end if end > start else most
        yield place._replace(start=start, end=end)
        start = end
    yield place._replace(start=start)


class _ReferenceReader:
    """Reads one stretch of prose after the other."""

    def __init__(self, text: str, definitions: Definitions, lines: LineNumbers) -> None:
        self._text = text
        self._definitions = definitions
        self._lines = lines
        self.found = Found(len(text))

    def read(self, place: Stretch) -> None:
        prose = self._text[place.start : place.end]
        if "[" not in prose and "%%" not in prose and not may_hold_tags(prose):
            return
        if self.found.is_full and "#" not in prose and "%%" not in prose:
            return
        if place.quoted:
            prose = _QUOTE_MARKS.sub(lambda marks: " " * len(marks[0]), prose)
        inline = read_inline(prose, self._definitions)
        found: list[tuple[int, Link | str | None]] = [
            *self._markdown_links(inline),
            *self._wikilinks(prose, inline),
            *_tags(prose, inline),
            *_comment_marks(prose, inline),
        ]
        for offset, item in sorted(found, key=lambda each: each[0]):
            self.found.take(place.start + offset, item, self._lines)
        for offset in inline.unread[:1]:
            self.found.note("brackets", self._lines.at(place.start + offset))

    def _markdown_links(self, inline: Inline) -> Iterator[tuple[int, Link]]:
        for link in inline.links:
            if destination := read_destination(link.address):
                label = plain_text(link.label, self._definitions)
                yield link.start, Link("relative", *destination, label, 0)

    def _wikilinks(self, prose: str, inline: Inline) -> Iterator[tuple[int, Link]]:
        for match in WIKILINK.finditer(prose) if "[[" in prose else ():
            link = read_wikilink(match)
            if not link.target or inline.hides(match.start()):
                continue
            if not leads_away(link) and not is_media(link.target):
                yield match.start(), Link(link.kind, link.target, link.anchor, link.label, 0)


def _tags(prose: str, inline: Inline) -> Iterator[tuple[int, str]]:
    if "#" not in prose:
        return
    wikilinks = Inline(hidden=[match.span() for match in WIKILINK.finditer(prose)])
    for offset, name in find_tags(prose):
        if not inline.hides(offset) and not wikilinks.hides(offset):
            yield offset, name


def _comment_marks(prose: str, inline: Inline) -> Iterator[tuple[int, None]]:
    for mark in _COMMENT_MARK.finditer(prose) if "%%" in prose else ():
        if not inline.hides(mark.start()):
            yield mark.start(), None
