"""The links and tags of a document's prose."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from dowse.parse.blocks import Outline, Stretch
from dowse.parse.destinations import is_media, read_destination
from dowse.parse.inline import Definitions, Inline, fold_label, read_inline
from dowse.parse.lines import LineNumbers
from dowse.parse.plain_text import plain_text
from dowse.parse.tags import find_tags, may_hold_tags
from dowse.parse.wikilinks import WIKILINK, leads_away, read_wikilink
from dowse.types import Link

_QUOTE_MARKS = re.compile(r"(?<=\n)[ \t>]+")
_COMMENT_MARK = re.compile("%%")


@dataclass(slots=True)
class References:
    """Links and tags with their offsets, in the order of the text."""

    links: list[tuple[int, Link]] = field(default_factory=list)
    tags: list[tuple[int, str]] = field(default_factory=list)
    unread_lines: list[int] = field(default_factory=list)  # too many brackets to make sense of


def read_definitions(text: str, outline: Outline) -> Definitions:
    """The link definitions of a document; the first of a label counts."""
    found: dict[str, str] = {}
    for label, address in outline.definitions:
        folded = fold_label(text[label.start + 1 : label.end - 1])
        found.setdefault(folded, text[address.start : address.end])
    return found


def read_references(
    text: str, outline: Outline, definitions: Definitions, lines: LineNumbers
) -> References:
    """Finds the links and tags outside code, HTML and comments."""
    reader = _ReferenceReader(text, definitions, lines)
    for place in outline.inlines:
        reader.read(place)
    return reader.outside_comments()


class _ReferenceReader:
    """Reads one stretch of prose after the other."""

    def __init__(self, text: str, definitions: Definitions, lines: LineNumbers) -> None:
        self._text = text
        self._definitions = definitions
        self._lines = lines
        self._found = References()
        self._comment_marks: list[int] = []

    def read(self, place: Stretch) -> None:
        prose = self._text[place.start : place.end]
        if "[" not in prose and "%%" not in prose and not may_hold_tags(prose):
            return
        if place.quoted:
            prose = _QUOTE_MARKS.sub(lambda marks: " " * len(marks[0]), prose)
        inline = read_inline(prose, self._definitions)
        self._take_links(place.start, prose, inline)
        if "#" in prose:
            self._take_tags(place.start, prose, inline)
        if "%%" in prose:
            self._take_comment_marks(place.start, prose, inline)
        self._found.unread_lines.extend(self._lines.at(place.start + at) for at in inline.unread)

    def _take_links(self, start: int, prose: str, inline: Inline) -> None:
        found = self._markdown_links(start, inline)
        if "[[" in prose:
            found = sorted([*found, *self._wikilinks(start, prose, inline)], key=_offset)
        self._found.links.extend(found)

    def _markdown_links(self, start: int, inline: Inline) -> list[tuple[int, Link]]:
        found = []
        for link in inline.links:
            if destination := read_destination(link.address):
                offset = start + link.start
                label = plain_text(link.label, self._definitions)
                line = self._lines.at(offset)
                found.append((offset, Link("relative", *destination, label, line)))
        return found

    def _wikilinks(self, start: int, prose: str, inline: Inline) -> list[tuple[int, Link]]:
        found = []
        for match in WIKILINK.finditer(prose):
            link = read_wikilink(match)
            if not link.target or inline.hides(match.start()):
                continue
            if not leads_away(link) and not is_media(link.target):
                offset = start + match.start()
                line = self._lines.at(offset)
                found.append((offset, Link(link.kind, link.target, link.anchor, link.label, line)))
        return found

    def _take_tags(self, start: int, prose: str, inline: Inline) -> None:
        wikilinks = Inline(hidden=[match.span() for match in WIKILINK.finditer(prose)])
        for offset, name in find_tags(prose):
            if not inline.hides(offset) and not wikilinks.hides(offset):
                self._found.tags.append((start + offset, name))

    def _take_comment_marks(self, start: int, prose: str, inline: Inline) -> None:
        for mark in _COMMENT_MARK.finditer(prose):
            if not inline.hides(mark.start()):
                self._comment_marks.append(start + mark.start())

    def outside_comments(self) -> References:
        """What was found, without what stands between two "%%"."""
        marks = self._comment_marks[: len(self._comment_marks) // 2 * 2]
        links = [link for link in self._found.links if not bisect_right(marks, link[0]) % 2]
        tags = [tag for tag in self._found.tags if not bisect_right(marks, tag[0]) % 2]
        return References(links, tags, self._found.unread_lines)


def _offset(found: tuple[int, object]) -> int:
    return found[0]
