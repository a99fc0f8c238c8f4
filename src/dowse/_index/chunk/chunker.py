"""Document → sections and chunks."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import islice, takewhile
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
from dowse._index.chunk.options import ChunkOptions
from dowse._model import Block, Chunk, ChunkedDocument, Document, Heading, Section
from dowse._text.lines import LineNumbers
from dowse._util.deadline import Deadline

# ── A stretch of text → the headings above all of it ──────────────────────


class HeaderPaths:
    """The headings of one document, each with those above it."""

    def __init__(self, headings: Sequence[Heading]) -> None:
        self._texts = [heading.text for heading in headings]
        self._starts = [heading.start for heading in headings]
        self._chains: list[tuple[int, ...]] = []
        opened: list[int] = []
        for number, heading in enumerate(headings):
            while opened and headings[opened[-1]].level >= heading.level:
                opened.pop()
            opened.append(number)
            self._chains.append(tuple(opened))

    def shared(self, start: int, end: int) -> tuple[str, ...]:
        """The headings above everything from `start` to `end`."""
        first = bisect_right(self._starts, start) - 1
        if first < 0:
            return ()
        chains = self._chains[first : max(first + 1, bisect_left(self._starts, end))]
        # In the order of tuples, what the first and the last share is shared by all between.
        pairs = zip(min(chains), max(chains), strict=False)
        common = [one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
        return tuple(self._texts[number] for number in common if self._texts[number])


# ── Stretches of text → sections and chunks with their names, paths and lines ───


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


# ── A document's blocks → what it means to cut in front of each ───────────


_BELOW_ALL_HEADINGS = 7


class OutlinedBlock(NamedTuple):
    """A block, and its place among the headings."""

    block: Block
    level: int  # of the heading that it is or is under; 7 before the first
    rank: int  # of a heading: 1 for the highest of the document; 0 for any other block
    follows_heading: bool  # the block before is a heading to which this one belongs


def openings(document: Document) -> list[OutlinedBlock]:
    """The blocks in order; one of plain text where a document has none."""
    blocks = document.blocks or (Block("text", document.body, len(document.text)),)
    ranks = _ranks(document)
    starts = [heading.start for heading in document.headings]
    found: list[OutlinedBlock] = []
    level, after_heading = _BELOW_ALL_HEADINGS, False
    for block in blocks:
        rank = 0
        follows = after_heading
        if block.kind == "heading" and (number := bisect_left(starts, block.start)) < len(starts):
            above, level = level, document.headings[number].level
            rank = ranks[level]
            follows = after_heading and level > above
        found.append(OutlinedBlock(block, level, rank, follows))
        after_heading = block.kind == "heading"
    return found


def _ranks(document: Document) -> dict[int, int]:
    levels = sorted({heading.level for heading in document.headings})
    return {level: rank for rank, level in enumerate(levels, start=1)}


# ── The `headers` strategy: sections along the headings, and chunks inside each section ───


class _Prices(NamedTuple):
    """What a cut costs in front of a heading, and how much more elsewhere."""

    heading: int  # one of the highest headings
    per_level: int  # more, for each level below
    elsewhere: int


# A section may rather be small than start at a deeper heading, let alone between headings.
_FOR_SECTIONS = _Prices(heading=10, per_level=30, elsewhere=200)
_FOR_CHUNKS = _Prices(heading=0, per_level=2, elsewhere=0)


def cut_by_headers(
    document: Document, options: ChunkOptions, deadline: Deadline
) -> ChunkedDocument:
    """Cuts a document into sections, and these into chunks."""
    start, end = visible_stretch(document)
    if start == end:
        return ChunkedDocument(document, (), ())
    return _HeaderCutter(document, options, deadline).cut(start, end)


class _HeaderCutter:
    """Cuts one document."""

    def __init__(self, document: Document, options: ChunkOptions, deadline: Deadline) -> None:
        self._deadline = deadline
        self._document = document
        self._text = document.text
        self._options = options
        self._openings = openings(document)
        self._offsets = [opening.block.start for opening in self._openings]
        self._blocks = [opening.block for opening in self._openings]
        self._maker = PartMaker(document)

    def cut(self, start: int, end: int) -> ChunkedDocument:
        sections: list[Section] = []
        chunks: list[Chunk] = []
        for section_start, section_end in self._sections(start, end):
            self._deadline.check()
            if not self._text[section_start:section_end].isspace():
                sections.append(self._maker.section(section_start, section_end))
                chunks.extend(self._chunks(sections[-1]))
        return ChunkedDocument(self._document, tuple(sections), tuple(chunks))

    def _sections(self, start: int, end: int) -> list[tuple[int, int]]:
        options = self._options
        if end - start <= options.section_max:
            return [(start, end)]
        places = (
            place
            for group in self._under_headings(start, end)
            for place in self._places_of_group(group)
        )
        pricing = at_least(options.section_min, options.section_max)
        return cheapest_pieces(thinned(places, end, pricing.maximum), end, pricing)

    def _under_headings(self, start: int, end: int) -> Iterator[list[OutlinedBlock]]:
        """The blocks in groups, each from one heading to the next."""
        group: list[OutlinedBlock] = []
        for opening in self._between(start, end):
            if opening.rank and group:
                yield group
                group = []
            group.append(opening)
        yield group

    def _places_of_group(self, group: list[OutlinedBlock]) -> Iterator[CutPoint]:
        """Only the heading, where all that is under it fits into one section."""
        places = self._places(group, self._options.section_max, _FOR_SECTIONS)
        fits = group[-1].block.end - group[0].block.start <= self._options.section_max
        return islice(places, 1) if fits else places

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
        return cheapest_pieces(thinned(places, section.end, pricing.maximum), section.end, pricing)

    def _between(self, start: int, end: int) -> Iterator[OutlinedBlock]:
        """The blocks of a stretch, those at its ends cut off there."""
        number = max(0, bisect_right(self._offsets, start) - 1)
        while number < len(self._openings) and self._offsets[number] < end:
            opening = self._openings[number]
            block = opening.block
            if block.start < start or block.end > end:
                block = Block(block.kind, max(block.start, start), min(block.end, end))
                opening = opening._replace(block=block)
            yield opening
            number += 1

    def _places(
        self, group: Iterable[OutlinedBlock], maximum: int, prices: _Prices
    ) -> Iterator[CutPoint]:
        for opening in group:
            self._deadline.check()
            block, level = opening.block, opening.level
            yield CutPoint(block.start, self._price(opening, prices), level)
            for inside in places_inside(self._text, block, maximum):
                yield CutPoint(inside.offset, inside.price + prices.elsewhere, level)

    def _price(self, opening: OutlinedBlock, prices: _Prices) -> int:
        if opening.follows_heading:
            return AFTER_HEADING
        if opening.rank:
            return prices.heading + prices.per_level * (opening.rank - 1)
        return prices.elsewhere + price_between(self._text, opening.block.start)


# ── The `fixed` strategy: windows of equal size, counted in characters so that any script works ───


def cut_into_windows(
    document: Document, options: ChunkOptions, deadline: Deadline
) -> ChunkedDocument:
    """Cuts a document into windows, each of which is a chunk and its own section."""
    maker = PartMaker(document)
    sections, chunks = [], []
    body, last = visible_stretch(document)
    edge = kept = body  # how far windows, and how far those that were kept, have come
    while edge < last:
        deadline.check()
        start = max(body, edge - options.fixed_overlap)
        edge = min(start + options.fixed_size, last)
        if not document.text[start:edge].isspace():
            overlap = max(0, kept - start)
            section = maker.section(start, edge, overlap)
            sections.append(section)
            chunks.append(maker.chunk(section, start, edge, overlap))
            kept = edge
    return ChunkedDocument(document, tuple(sections), tuple(chunks))


_STRATEGIES = {"headers": cut_by_headers, "fixed": cut_into_windows}


def chunk(
    document: Document, options: ChunkOptions, deadline: Deadline | None = None
) -> ChunkedDocument:
    """Cuts a document; one without a visible character has neither sections nor chunks.

    Raises `TookTooLong` when the deadline passes.
    """
    cut = _STRATEGIES[options.strategy](document, options, deadline or Deadline())
    return replace(cut, context=options.context)
