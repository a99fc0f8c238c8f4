"""Document → sections and chunks: along the headings, or in windows of equal size."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import chain, islice, takewhile
from typing import NamedTuple

from msgspec.structs import replace

from dowse._index.chunk.cut_points import (
    AFTER_HEADING,
    CutPoint,
    around_goal,
    at_least,
    cheapest_pieces,
    overlap_start,
    places_inside,
    price_between,
    thinned,
)
from dowse._index.options import ChunkOptions
from dowse._model import Block, Chunk, ChunkedDocument, Document, Section
from dowse._text.markdown import LineNumbers
from dowse._util.cancellation import Deadline

_BELOW_ALL_HEADINGS = 7


def chunk(
    document: Document, options: ChunkOptions, deadline: Deadline | None = None
) -> ChunkedDocument:
    """Cut a document; one without a visible character has neither sections nor chunks.

    Raises `TookTooLong` when the deadline passes.
    """
    deadline = deadline or Deadline()
    start, end = _visible_stretch(document)
    if start == end:
        return ChunkedDocument(document, (), (), context=options.context)
    if options.strategy == "headers":
        chunked = _HeaderCutter(document, options, deadline).cut(start, end)
    else:
        chunked = _cut_into_windows(document, start, end, options, deadline)
    return replace(chunked, context=options.context)


def _visible_stretch(document: Document) -> tuple[int, int]:
    """Return the body without the blank lines around it; start and end are equal without text."""
    text = document.text
    end = len(text.rstrip())
    if end <= document.body:
        return document.body, document.body
    first = end - len(text[document.body : end].lstrip())
    return max(text.rfind("\n", document.body, first) + 1, document.body), end


# ── Along the headings ───────────────────────────────────────────────────────


class _OutlinedBlock(NamedTuple):
    """A block, and its place among the headings."""

    block: Block
    level: int  # of the heading that it is or is under; 7 before the first
    rank: int  # of a heading: 1 for the highest of the document; 0 for any other block
    follows_heading: bool  # the block before is a heading to which this one belongs


class _Prices(NamedTuple):
    """What a cut costs in front of a heading, and how much more elsewhere."""

    heading: int  # one of the highest headings
    per_level: int  # more, for each level below
    elsewhere: int


# A section may rather be small than start at a deeper heading, let alone between headings.
_FOR_SECTIONS = _Prices(heading=10, per_level=30, elsewhere=200)
_FOR_CHUNKS = _Prices(heading=0, per_level=2, elsewhere=0)


class _HeaderCutter:
    """Cuts one document into sections along its headings, and these into chunks."""

    def __init__(self, document: Document, options: ChunkOptions, deadline: Deadline) -> None:
        self._deadline = deadline
        self._document = document
        self._text = document.text
        self._options = options
        self._outline = _outline(document)
        self._offsets = [opening.block.start for opening in self._outline]
        self._blocks = [opening.block for opening in self._outline]
        self._maker = _PartMaker(document)

    def cut(self, start: int, end: int) -> ChunkedDocument:
        sections: list[Section] = []
        chunks: list[Chunk] = []
        for section_start, section_end in self._section_pieces(start, end):
            self._deadline.check()
            if not self._text[section_start:section_end].isspace():
                sections.append(self._maker.section(section_start, section_end))
                chunks.extend(self._chunks(sections[-1]))
        return ChunkedDocument(self._document, tuple(sections), tuple(chunks))

    def _section_pieces(self, start: int, end: int) -> list[tuple[int, int]]:
        most = self._options.section_max
        if end - start <= most:
            return [(start, end)]
        places: list[Iterator[CutPoint]] = []
        for group in _under_headings(self._between(start, end)):
            inside = self._places(group, most, _FOR_SECTIONS)
            # Only the heading, where all that is under it fits into one section.
            fits = group[-1].block.end - group[0].block.start <= most
            places.append(islice(inside, 1) if fits else inside)
        pricing = at_least(self._options.section_min, most)
        return cheapest_pieces(thinned(chain.from_iterable(places), end, most), end, pricing)

    def _chunks(self, section: Section) -> Iterator[Chunk]:
        options = self._options
        previous = section.start
        for own_start, end in self._chunk_pieces(section):
            room = min(options.overlap, options.chunk_max - (end - own_start))
            start = own_start
            if own_start > section.start:
                earliest = max(previous, own_start - room)
                start = overlap_start(self._text, self._blocks, earliest, own_start)
            if not self._text[own_start:end].isspace():
                yield self._maker.chunk(section, start, end, own_start - start)
            previous = own_start

    def _chunk_pieces(self, section: Section) -> list[tuple[int, int]]:
        options = self._options
        if section.end - section.start <= options.chunk_goal:
            return [(section.start, section.end)]
        group = self._between(section.start, section.end)
        places = self._places(group, options.chunk_max, _FOR_CHUNKS)
        pricing = around_goal(options.chunk_goal, options.chunk_min, options.chunk_max)
        return cheapest_pieces(
            thinned(places, section.end, options.chunk_max), section.end, pricing
        )

    def _between(self, start: int, end: int) -> Iterator[_OutlinedBlock]:
        """Yield the blocks of a stretch, those at its ends cut off there."""
        number = max(0, bisect_right(self._offsets, start) - 1)
        while number < len(self._outline) and self._offsets[number] < end:
            opening = self._outline[number]
            block = opening.block
            if block.start < start or block.end > end:
                block = Block(block.kind, max(block.start, start), min(block.end, end))
                opening = opening._replace(block=block)
            yield opening
            number += 1

    def _places(
        self, group: Iterable[_OutlinedBlock], maximum: int, prices: _Prices
    ) -> Iterator[CutPoint]:
        """Yield where blocks may be cut: in front of each, and inside."""
        for block, level, rank, follows_heading in group:
            self._deadline.check()
            if follows_heading:
                price = AFTER_HEADING
            elif rank:
                price = prices.heading + prices.per_level * (rank - 1)
            else:
                price = prices.elsewhere + price_between(self._text, block.start)
            yield CutPoint(block.start, price, level)
            for inside in places_inside(self._text, block, maximum):
                yield CutPoint(inside.offset, inside.price + prices.elsewhere, level)


def _outline(document: Document) -> list[_OutlinedBlock]:
    """Return the blocks in order; one of plain text where a document has none."""
    blocks = document.blocks or (Block("text", document.body, len(document.text)),)
    levels = sorted({heading.level for heading in document.headings})
    starts = [heading.start for heading in document.headings]
    found: list[_OutlinedBlock] = []
    level, after_heading = _BELOW_ALL_HEADINGS, False
    for block in blocks:
        rank = 0
        follows = after_heading
        if block.kind == "heading" and (number := bisect_left(starts, block.start)) < len(starts):
            above, level = level, document.headings[number].level
            rank = levels.index(level) + 1
            follows = after_heading and level > above
        found.append(_OutlinedBlock(block, level, rank, follows))
        after_heading = block.kind == "heading"
    return found


def _under_headings(blocks: Iterable[_OutlinedBlock]) -> Iterator[list[_OutlinedBlock]]:
    """Yield the blocks in groups, each from one heading to the next."""
    group: list[_OutlinedBlock] = []
    for opening in blocks:
        if opening.rank and group:
            yield group
            group = []
        group.append(opening)
    yield group


# ── In windows ───────────────────────────────────────────────────────────────


def _cut_into_windows(
    document: Document, start: int, end: int, options: ChunkOptions, deadline: Deadline
) -> ChunkedDocument:
    """Cut a document into windows of so many characters, each a chunk and its own section."""
    maker = _PartMaker(document)
    sections, chunks = [], []
    edge = kept = start  # how far windows, and how far those that were kept, have come
    while edge < end:
        deadline.check()
        first = max(start, edge - options.fixed_overlap)
        edge = min(first + options.fixed_size, end)
        if not document.text[first:edge].isspace():
            overlap = max(0, kept - first)
            section = maker.section(first, edge, overlap)
            sections.append(section)
            chunks.append(maker.chunk(section, first, edge, overlap))
            kept = edge
    return ChunkedDocument(document, tuple(sections), tuple(chunks))


# ── Sections and chunks with their names, paths and lines ────────────────────


class _PartMaker:
    """Makes the parts of one document, in the order of its text."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._lines = LineNumbers(document.text)
        self._seen: Counter[tuple[str, bytes]] = Counter()
        self._starts = [heading.start for heading in document.headings]
        self._above: list[tuple[int, ...]] = []  # each heading, with those above it
        opened: list[int] = []
        for number, heading in enumerate(document.headings):
            while opened and document.headings[opened[-1]].level >= heading.level:
                opened.pop()
            opened.append(number)
            self._above.append(tuple(opened))

    def section(self, start: int, end: int, overlap: int = 0) -> Section:
        """Make a section; its path is that of its text without the overlap."""
        return Section(
            id=self._id("section", start, end),
            header_path=self._header_path(start + overlap, end),
            start=start,
            end=end,
            first_line=self._lines.at(start),
            last_line=self._last_line(start, end),
        )

    def chunk(self, section: Section, start: int, end: int, overlap: int) -> Chunk:
        """Make a chunk of a section; its path is that of its text without the overlap."""
        return Chunk(
            id=self._id("chunk", start, end),
            section=section.id,
            header_path=self._header_path(start + overlap, end),
            start=start,
            end=end,
            overlap=overlap,
            first_line=self._lines.at(start),
            last_line=self._last_line(start, end),
        )

    def _id(self, kind: str, start: int, end: int) -> str:
        """Make a name from the text and not from its place, so that it survives edits elsewhere."""
        text = self._document.text[start:end].encode("utf-8", "surrogatepass")
        seen = kind, sha256(text).digest()  # the texts themselves would be a second document
        self._seen[seen] += 1
        named = f"{self._document.id}\0{kind}\0{self._seen[seen]}\0"
        return sha256(named.encode("utf-8", "surrogatepass") + text).hexdigest()[:16]

    def _header_path(self, start: int, end: int) -> tuple[str, ...]:
        """Return the headings above everything from `start` to `end`."""
        first = bisect_right(self._starts, start) - 1
        if first < 0:
            return ()
        above = self._above[first : max(first + 1, bisect_left(self._starts, end))]
        # In the order of tuples, what the first and the last share is shared by all between.
        pairs = zip(min(above), max(above), strict=False)
        common = [one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
        texts = (self._document.headings[number].text for number in common)
        return tuple(text for text in texts if text)

    def _last_line(self, start: int, end: int) -> int:
        """Return the last line that is not blank."""
        return self._lines.at(start + len(self._document.text[start:end].rstrip()) - 1)
