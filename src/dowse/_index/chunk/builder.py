"""Stretches of text → sections and chunks with their names, paths and lines."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256

from dowse._index.chunk.paths import HeaderPaths
from dowse._model import Chunk, Document, Section
from dowse._text.lines import LineNumbers


class PartMaker:
    """Makes the parts of one document, in the order of its text."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._paths = HeaderPaths(document.headings)
        self._lines = LineNumbers(document.text)
        self._seen: Counter[tuple[str, bytes]] = Counter()

    def section(self, start: int, end: int, overlap: int = 0) -> Section:
        """A section; its path is that of its text without the overlap."""
        return Section(
            id=self._id("section", start, end),
            header_path=self._paths.shared(start + overlap, end),
            start=start,
            end=end,
            first_line=self._lines.at(start),
            last_line=self._last_line(start, end),
        )

    def chunk(self, section: Section, start: int, end: int, overlap: int) -> Chunk:
        """A chunk of a section; its path is that of its text without the overlap."""
        return Chunk(
            id=self._id("chunk", start, end),
            section=section.id,
            header_path=self._paths.shared(start + overlap, end),
            start=start,
            end=end,
            overlap=overlap,
            first_line=self._lines.at(start),
            last_line=self._last_line(start, end),
        )

    def _last_line(self, start: int, end: int) -> int:
        """Blank lines at the end are not counted."""
        return self._lines.at(start + len(self._document.text[start:end].rstrip()) - 1)

    def _id(self, kind: str, start: int, end: int) -> str:
        """Depends on the text and not on its place, so that it survives edits elsewhere."""
        text = self._document.text[start:end].encode("utf-8", "surrogatepass")
        seen = kind, sha256(text).digest()  # the texts themselves would be a second document
        self._seen[seen] += 1
        named = f"{self._document.id}\0{kind}\0{self._seen[seen]}\0"
        return sha256(named.encode("utf-8", "surrogatepass") + text).hexdigest()[:16]


def visible_stretch(document: Document) -> tuple[int, int]:
    """Start and end of the body without the blank lines around it; equal when nothing is left."""
    text = document.text
    end = len(text.rstrip())
    if end <= document.body:
        return document.body, document.body
    first = end - len(text[document.body : end].lstrip())
    return max(text.rfind("\n", document.body, first) + 1, document.body), end
