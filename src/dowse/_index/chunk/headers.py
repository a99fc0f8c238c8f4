"""The `headers` strategy: sections along the headings, and chunks inside each section."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from dowse._index.chunk.builder import PartMaker, visible_stretch
from dowse._index.chunk.cut_points import AFTER_HEADING, places_inside, price_between
from dowse._index.chunk.optimal_cut import CutPoint, around_goal, at_least, cheapest_pieces, thinned
from dowse._index.chunk.options import ChunkOptions
from dowse._index.chunk.outline import OutlinedBlock, openings
from dowse._index.chunk.overlap import overlap_start
from dowse._model import Block, Chunk, ChunkedDocument, Document, Section
from dowse._util.deadline import Deadline


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
