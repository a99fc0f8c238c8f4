"""The links and tags that were found in prose, as far as they are kept."""

from __future__ import annotations

from msgspec import Struct, field
from msgspec.structs import replace

from dowse._index.markdown.tags import is_usable
from dowse._model import Link
from dowse._text.fold import fold
from dowse._text.lines import LineNumbers
from dowse._util import limits


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
