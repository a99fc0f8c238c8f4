"""Document → sections and chunks: along the headings, or in windows of equal size."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import accumulate, chain, groupby, islice, pairwise
from math import ceil, inf
from operator import itemgetter
from typing import NamedTuple

from msgspec.structs import asdict, replace

from dowse._index.options import ChunkOptions
from dowse._model import Block, Chunk, ChunkedDocument, Document, Section
from dowse._text.markdown import LineNumbers
from dowse._text.scripts import CJK_RUN, is_unspaced
from dowse._text.sentences import is_finished, sentence_ends
from dowse._util.process import Deadline


def chunk(
    document: Document, options: ChunkOptions, deadline: Deadline | None = None
) -> ChunkedDocument:
    """Cut a document; one without a visible character has neither sections nor chunks.

    Raises `TookTooLong` when the deadline passes.
    """
    deadline = deadline or Deadline()
    text, body = document.text, document.body
    if options.strategy == "fixed" and options.frontmatter:
        body = 0
    end = len(text.rstrip())
    if end <= body:
        return ChunkedDocument(document, (), (), context=options.context)
    first = end - len(text[body:end].lstrip())
    start = max(text.rfind("\n", body, first) + 1, body)  # of the first line that is not blank
    if options.strategy == "headers":
        sections, chunks = _HeaderCutter(
            document, _fitting(options, text[start:end]), deadline
        ).cut(start, end)
    else:
        sections, chunks = _cut_into_windows(document, start, end, options, deadline)
    return ChunkedDocument(document, tuple(sections), tuple(chunks), context=options.context)


# A model reads one to two tokens of a character in Chinese, Japanese and Korean, and a quarter of
# one in other scripts.
_WEIGHT = 3  # of such a character, in characters of other scripts
_STEPS = 8  # per weight, so that few sizes are tried


def _fitting(options: ChunkOptions, text: str) -> ChunkOptions:
    """Return the sizes for a text: smaller where its characters take more tokens of a model."""
    wide = 0 if text.isascii() else sum(map(len, CJK_RUN.findall(text)))
    weight = 1 + (_WEIGHT - 1) * int(_STEPS * wide / len(text)) / _STEPS
    names = ("chunk_max", "chunk_min", "chunk_goal", "overlap")
    return replace(options, **{name: ceil(getattr(options, name) / weight) for name in names})


# ── Along the headings ───────────────────────────────────────────────────────


class CutPoint(NamedTuple):
    """A place where text may be cut."""

    offset: int
    price: int  # the higher, the worse the cut
    level: int = 0  # of the heading above the text from here on


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
        self._text = document.text
        self._options = options
        self._outline = _outline(document)
        self._blocks = [opening.block for opening in self._outline]
        self._maker = _PartMaker(document)

    def cut(self, start: int, end: int) -> tuple[list[Section], list[Chunk]]:
        sections: list[Section] = []
        chunks: list[Chunk] = []
        for section_start, section_end in self._section_pieces(start, end):
            self._deadline.check()
            if not self._text[section_start:section_end].isspace():
                sections.append(self._maker.section(section_start, section_end))
                chunks.extend(self._chunks(sections[-1]))
        return sections, chunks

    def _section_pieces(self, start: int, end: int) -> list[tuple[int, int]]:
        most = self._options.section_max
        if end - start <= most:
            return [(start, end)]
        places: list[Iterator[CutPoint]] = []
        blocks = list(self._between(start, end))
        for _, under in groupby(
            zip(accumulate(opening.rank > 0 for opening in blocks), blocks, strict=True),
            key=itemgetter(0),
        ):
            group = [opening for _, opening in under]
            inside = self._places(group, most, _FOR_SECTIONS)
            # Only the heading, where all that is under it fits into one section.
            fits = group[-1].block.end - group[0].block.start <= most
            places.append(islice(inside, 1) if fits else inside)
        pricing = at_least(self._options.section_min, most)
        return cheapest_pieces(thinned(chain.from_iterable(places), end, most), end, pricing)

    def _chunks(self, section: Section) -> Iterator[Chunk]:
        options, most = self._options, self._options.chunk_max
        pieces = [(section.start, section.end)]
        if section.end - section.start > options.chunk_goal:
            group = self._between(section.start, section.end)
            places = thinned(self._places(group, most, _FOR_CHUNKS), section.end, most)
            pieces = cheapest_pieces(
                places, section.end, around_goal(options.chunk_goal, options.chunk_min, most)
            )
        previous = section.start
        for own_start, end in pieces:
            start = own_start
            if own_start > section.start:
                earliest = max(previous, own_start - min(options.overlap, most - (end - own_start)))
                start = overlap_start(self._text, self._blocks, earliest, own_start)
            if not self._text[own_start:end].isspace():
                yield self._maker.chunk(section, start, end, own_start - start)
            previous = own_start

    def _between(self, start: int, end: int) -> Iterator[_OutlinedBlock]:
        """Yield the blocks of a stretch, those at its ends cut off there."""
        first = bisect_right(self._blocks, start, key=lambda block: block.start) - 1
        for opening in islice(self._outline, max(0, first), None):
            block = opening.block
            if block.start >= end:
                break
            if block.start < start or block.end > end:
                block = Block(block.kind, max(block.start, start), min(block.end, end))
            yield opening._replace(block=block)

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
                after_blank = self._text.endswith("\n\n", max(0, block.start - 2), block.start)
                price = prices.elsewhere + (_AFTER_BLANK_LINE if after_blank else _BLOCK)
            yield CutPoint(block.start, price, level)
            yield from (
                CutPoint(inside.offset, inside.price + prices.elsewhere, level)
                for inside in places_inside(self._text, block, maximum)
            )


def _outline(document: Document) -> list[_OutlinedBlock]:
    """Return the blocks in order; one of plain text where a document has none."""
    blocks = document.blocks or (Block("text", document.body, len(document.text)),)
    levels = sorted({heading.level for heading in document.headings})
    starts = [heading.start for heading in document.headings]
    found: list[_OutlinedBlock] = []
    level, after_heading = 7, False  # below all headings
    for block in blocks:
        rank, above, is_heading = 0, level, block.kind == "heading"
        if is_heading and (number := bisect_left(starts, block.start)) < len(starts):
            level = document.headings[number].level
            rank = levels.index(level) + 1
        found.append(
            _OutlinedBlock(block, level, rank, after_heading and (not rank or level > above))
        )
        after_heading = is_heading
    return found


# ── In windows ───────────────────────────────────────────────────────────────


def _cut_into_windows(
    document: Document, start: int, end: int, options: ChunkOptions, deadline: Deadline
) -> tuple[list[Section], list[Chunk]]:
    """Cut a document into windows of so many characters, each a chunk and its own section."""
    maker = _PartMaker(document)
    sections: list[Section] = []
    chunks: list[Chunk] = []
    edge = kept = start  # how far windows, and how far those that were kept, have come
    while edge < end:
        deadline.check()
        first = max(start, edge - options.fixed_overlap)
        edge = min(first + options.fixed_size, end)
        if not document.text[first:edge].isspace():
            overlap = max(0, kept - first)
            sections.append(maker.section(first, edge, overlap))
            chunks.append(maker.chunk(sections[-1], first, edge, overlap))
            kept = edge
    return sections, chunks


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

    def section(self, start: int, end: int, overlap: int = 0, kind: str = "section") -> Section:
        """Make a section; its path is that of its text without the overlap."""
        return Section(
            id=self._id(kind, start, end),
            header_path=self._header_path(start + overlap, end),
            start=start,
            end=end,
            first_line=self._lines.at(start),
            # The last one that is not blank.
            last_line=self._lines.at(start + len(self._document.text[start:end].rstrip()) - 1),
        )

    def chunk(self, section: Section, start: int, end: int, overlap: int) -> Chunk:
        """Make a chunk of a section."""
        part = self.section(start, end, overlap, kind="chunk")
        return Chunk(**asdict(part), section=section.id, overlap=overlap)

    def _id(self, kind: str, start: int, end: int) -> str:
        """Make a name from the text and not from its place, so that it survives edits elsewhere."""
        text = self._document.text[start:end].encode("utf-8", "surrogatepass")
        seen = kind, sha256(text).digest()  # the texts themselves would be a second document
        self._seen[seen] += 1
        return sha256(
            f"{self._document.id}\0{kind}\0{self._seen[seen]}\0".encode("utf-8", "surrogatepass")
            + text
        ).hexdigest()[:16]

    def _header_path(self, start: int, end: int) -> tuple[str, ...]:
        """Return the headings above everything from `start` to `end`."""
        first = bisect_right(self._starts, start) - 1
        if first < 0:
            return ()
        above = self._above[first : max(first + 1, bisect_left(self._starts, end))]
        common = posixpath.commonprefix(above)  # works on tuples as well
        return tuple(filter(None, (self._document.headings[number].text for number in common)))


# ── Where to cut: the places, from good to bad ────────────────────────────────
# In front of headings and blocks; then between lines, sentences and words; then anywhere.

_AFTER_BLANK_LINE = 10
_BLOCK = 15
_LINE_AND_SENTENCE = 90
_LINE = 100
_SENTENCE = 120
_WORD = 300
_ANYWHERE = 600
AFTER_HEADING = 1000  # leaves a heading behind

_LINES = re.compile(r"\n+")
_WORDS = re.compile(r"\s+|[，、；：]")
_BLANKS = re.compile(r"[ \t]*")

_SKIN_TONES = range(0x1F3FB, 0x1F400)
_JOINER = "\u200d"

_Rule = Callable[[str, int, int, int], Iterator[CutPoint]]
"""Finds places between two offsets, where pieces may have at most so many characters."""


def places_inside(text: str, block: Block, maximum: int) -> Iterator[CutPoint]:
    """Yield places to cut a block at, with at most `maximum` characters between two of them.

    Prose is offered for cutting where it is long, a fence or a table only where it must be cut.
    """
    start, end = block.start, block.end
    if block.kind in ("fence", "table"):
        visible = start + len(text[start:end].rstrip())
        if visible - start > maximum:
            yield from _within(text, start, end, maximum, (_after_lines, _after_words, _anywhere))
        elif end - start > maximum:  # only with the blank lines after it
            yield CutPoint(visible, _LINE)
            yield from _anywhere(text, visible, end, maximum)
    elif end - start > maximum // 2:
        yield from _within(text, start, end, maximum, (_prose, _after_words, _anywhere))


def _within(
    text: str, start: int, end: int, maximum: int, rules: tuple[_Rule, ...]
) -> Iterator[CutPoint]:
    """Yield the places of the first rule, and worse ones where these leave much between them.

    Much is half of the maximum, so that what is in front of a long line can stay with it.
    """
    edge = start
    for place in chain(rules[0](text, start, end, maximum), [CutPoint(end, 0)]):
        if place.offset - edge > maximum // 2 and len(rules) > 1:
            yield from _within(text, edge, place.offset, maximum, rules[1:])
        if edge < place.offset < end:
            yield place
        edge = place.offset


def _after(pattern: re.Pattern[str], price: int) -> _Rule:
    return lambda text, start, end, _: (
        CutPoint(match.end(), price) for match in pattern.finditer(text, start, end)
    )


_after_lines, _after_words = _after(_LINES, _LINE), _after(_WORDS, _WORD)


def _prose(text: str, start: int, end: int, _maximum: int) -> Iterator[CutPoint]:
    edge = start
    for feeds in _LINES.finditer(text, start, end):
        yield from _sentences(text, edge, feeds.start())
        said = text[max(edge, feeds.start() - 8) : feeds.start()]  # what may close a sentence
        line = _LINE_AND_SENTENCE if is_finished(said) else _LINE
        yield CutPoint(feeds.end(), _AFTER_BLANK_LINE if len(feeds[0]) > 1 else line)
        edge = feeds.end()
    yield from _sentences(text, edge, end)


def _sentences(text: str, start: int, end: int) -> Iterator[CutPoint]:
    """Yield places between the sentences of one line."""
    for stop in sentence_ends(text, start, end):
        blanks = _BLANKS.match(text, stop, end)
        if blanks and blanks.end() < end:
            yield CutPoint(blanks.end(), _SENTENCE)


def _anywhere(text: str, start: int, end: int, maximum: int) -> Iterator[CutPoint]:
    step = max(1, maximum // 32)
    for at in range(start + step, end, step):
        yield CutPoint(before_joined(text, at, at - step + 1), _ANYWHERE)


def before_joined(text: str, offset: int, earliest: int) -> int:
    """Return the offset, moved back so that it does not part what is seen as one character."""
    moved = offset
    while moved > earliest and _is_joined(text, moved):
        moved -= 1
    return offset if _is_joined(text, moved) else moved


def _is_joined(text: str, offset: int) -> bool:
    after = text[offset]
    return (
        unicodedata.category(after).startswith("M")
        or after == _JOINER
        or text[offset - 1] == _JOINER
        or ord(after) in _SKIN_TONES
    )


# ── The cheapest pieces ──────────────────────────────────────────────────────
# Every place has a price, and every piece one for being far from the size that is wanted. The
# cheapest way to cut the whole text is found exactly, by going from each place to each that one
# piece can reach; so a good cut is never missed because of an earlier one.


class Pricing(NamedTuple):
    """What pieces may be like."""

    sizes: Sequence[int]  # the price of a piece of n characters, for n up to the maximum
    enough: int  # a piece of this many characters does not reach over a higher heading


@lru_cache
def around_goal(goal: int, minimum: int, maximum: int) -> Pricing:
    """Want pieces near a goal; one below the minimum costs more than to join it with another.

    `minimum` is at most `goal`, and `goal` at most `maximum`.
    """
    sizes = [100 * (size - goal) ** 2 // goal**2 for size in range(maximum + 1)]
    for size in range(minimum):
        sizes[size] += sizes[maximum] + 1 + 150 * (minimum - size) // minimum
    return Pricing(sizes, maximum + 1)


@lru_cache
def at_least(minimum: int, maximum: int) -> Pricing:
    """Want pieces of a minimum, above which one size is as good as another."""
    return Pricing(
        [100 * max(0, minimum - size) ** 2 // minimum**2 for size in range(maximum + 1)], minimum
    )


def cheapest_pieces(
    places: Sequence[CutPoint], end: int, pricing: Pricing
) -> list[tuple[int, int]]:
    """Return start and end of the pieces, which together run from the first place to `end`.

    No two neighbouring places, and not the last one and the end, may lie further apart than the
    maximum.
    """
    offsets = [*(place.offset for place in places), end]
    levels = [*(place.level for place in places), 99]  # below all headings, at the end
    costs = [0.0, *[inf] * len(places)]
    came_from = [0] * len(offsets)
    sizes, enough = pricing
    for here, place in enumerate(places):
        paid = costs[here] + (place.price if here else 0)
        highest = place.level
        for there in range(here + 1, len(offsets)):
            size = offsets[there] - place.offset
            if size >= len(sizes):
                break
            if paid + sizes[size] < costs[there]:
                costs[there] = paid + sizes[size]
                came_from[there] = here
            if levels[there] < highest:
                if size >= enough:
                    break
                highest = levels[there]
    pieces = []
    there = len(offsets) - 1
    while there > 0:
        pieces.append((offsets[came_from[there]], offsets[there]))
        there = came_from[there]
    return pieces[::-1]


def thinned(places: Iterable[CutPoint], end: int, maximum: int) -> list[CutPoint]:
    """Keep the cheapest of places that lie close together; no piece gets too long by that.

    Pieces much smaller than what is wanted are never chosen, and trying them all takes long.
    """
    grain = max(1, maximum // 32)
    following = chain(places, [CutPoint(end, 0)])
    kept = list(islice(following, 1))
    for place, after in pairwise(following):
        last = kept[-1]
        if place.offset - last.offset >= grain or after.offset - last.offset > maximum:
            kept.append(place)
        elif (
            len(kept) > 1 and place.price < last.price and place.offset - kept[-2].offset <= maximum
        ):
            kept[-1] = place
    return kept


# ── The overlap: how much of a chunk is said again at the start of the next ──


def overlap_start(text: str, blocks: Sequence[Block], earliest: int, own_start: int) -> int:
    """Return where a chunk whose own text starts at `own_start` begins; not before `earliest`.

    Nothing is repeated in front of a heading, which starts something new, and never a part of a
    fence or a table.
    """
    earliest = max(earliest, _reach_back(blocks, earliest, own_start))
    return own_start - len(text[_good_place(text, earliest, own_start) : own_start].lstrip())


def _reach_back(blocks: Sequence[Block], earliest: int, own_start: int) -> int:
    """Say how far back prose runs from `own_start`, and not further than to its heading."""
    number = bisect_left(blocks, own_start, key=lambda block: block.start)
    following = blocks[number : number + 1]
    if following and following[0].kind == "heading" and following[0].start == own_start:
        return own_start
    for block in map(blocks.__getitem__, range(number - 1, -1, -1)):
        if block.kind in ("fence", "table"):
            return min(block.end, own_start)
        if block.kind == "heading" or block.start < earliest:
            return block.start
    return 0


def _good_place(text: str, earliest: int, own_start: int) -> int:
    """Return the first line or sentence in the first half of the stretch, else its first word."""
    if earliest >= own_start or earliest == 0 or text[earliest - 1] == "\n":
        return min(earliest, own_start)
    middle = (earliest + own_start) // 2
    line = text.find("\n", earliest, middle)
    sentence = next(sentence_ends(text, earliest, middle if line < 0 else line), 0)
    if sentence or line >= 0:
        return sentence or line
    if text[earliest - 1].isspace() or is_unspaced(text[earliest]):
        return before_joined(text, earliest, earliest - 1)
    word = re.compile(r"\s").search(text, earliest, own_start)
    return word.end() if word else own_start
