"""Where to cut a text: the places, each with its price, and those that together cost the least."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice, pairwise
from math import inf
from typing import NamedTuple

from dowse._model import Block
from dowse._text.scripts import is_unspaced
from dowse._text.sentences import is_finished, sentence_ends

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
_LONGEST_CLOSING = 8  # characters after a stop that are looked at
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_JOINER = "\u200d"
_SPACE = re.compile(r"\s")


class CutPoint(NamedTuple):
    """A place where text may be cut."""

    offset: int
    price: int  # the higher, the worse the cut
    level: int = 0  # of the heading above the text from here on


# ── The places, from good to bad ─────────────────────────────────────────────
# In front of headings and blocks; then between lines, sentences and words; then anywhere.

_Rule = Callable[[str, int, int, int], Iterator[CutPoint]]
"""Finds places between two offsets, where pieces may have at most so many characters."""


def price_between(text: str, offset: int) -> int:
    """Return what it costs to cut between two blocks that are no headings."""
    return _AFTER_BLANK_LINE if text.endswith("\n\n", max(0, offset - 2), offset) else _BLOCK


def places_inside(text: str, block: Block, maximum: int) -> Iterator[CutPoint]:
    """Yield places to cut a block at, with at most `maximum` characters between two of them.

    Prose is offered for cutting where it is long, a fence or a table only where it must be cut.
    """
    start, end = block.start, block.end
    if block.kind in ("fence", "table"):
        visible = start + len(text[start:end].rstrip())
        if visible - start > maximum:
            yield from _within(text, start, end, maximum, (_lines, _words, _anywhere))
        elif end - start > maximum:  # only with the blank lines after it
            yield CutPoint(visible, _LINE)
            yield from _anywhere(text, visible, end, maximum)
    elif end - start > maximum // 2:
        yield from _within(text, start, end, maximum, (_prose, _words, _anywhere))


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


def _lines(text: str, start: int, end: int, _maximum: int) -> Iterator[CutPoint]:
    for match in _LINES.finditer(text, start, end):
        yield CutPoint(match.end(), _LINE)


def _prose(text: str, start: int, end: int, _maximum: int) -> Iterator[CutPoint]:
    edge = start
    for feeds in _LINES.finditer(text, start, end):
        yield from _sentences(text, edge, feeds.start())
        said = text[max(edge, feeds.start() - _LONGEST_CLOSING) : feeds.start()]
        if len(feeds[0]) > 1:
            price = _AFTER_BLANK_LINE
        else:
            price = _LINE_AND_SENTENCE if is_finished(said) else _LINE
        yield CutPoint(feeds.end(), price)
        edge = feeds.end()
    yield from _sentences(text, edge, end)


def _sentences(text: str, start: int, end: int) -> Iterator[CutPoint]:
    """Yield places between the sentences of one line."""
    for stop in sentence_ends(text, start, end):
        blanks = _BLANKS.match(text, stop, end)
        if blanks and blanks.end() < end:
            yield CutPoint(blanks.end(), _SENTENCE)


def _words(text: str, start: int, end: int, _maximum: int) -> Iterator[CutPoint]:
    for match in _WORDS.finditer(text, start, end):
        yield CutPoint(match.end(), _WORD)


def _anywhere(text: str, start: int, end: int, maximum: int) -> Iterator[CutPoint]:
    step = max(1, maximum // 32)
    for offset in range(start + step, end, step):
        yield CutPoint(before_joined(text, offset, offset - step + 1), _ANYWHERE)


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

_LOWEST = 99  # the level of the end, where nothing follows


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
    sizes = [100 * max(0, minimum - size) ** 2 // minimum**2 for size in range(maximum + 1)]
    return Pricing(sizes, minimum)


def cheapest_pieces(
    places: Sequence[CutPoint], end: int, pricing: Pricing
) -> list[tuple[int, int]]:
    """Return start and end of the pieces, which together run from the first place to `end`.

    No two neighbouring places, and not the last one and the end, may lie further apart than the
    maximum.
    """
    offsets = [*(place.offset for place in places), end]
    levels = [*(place.level for place in places), _LOWEST]
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
    start = _good_place(text, earliest, own_start)
    while start < own_start and text[start].isspace():
        start += 1
    return start


def _reach_back(blocks: Sequence[Block], earliest: int, own_start: int) -> int:
    """Say how far back prose runs from `own_start`, and not further than to its heading."""
    number = bisect_left(blocks, own_start, key=lambda block: block.start)
    following = blocks[number : number + 1]
    if following and following[0].kind == "heading" and following[0].start == own_start:
        return own_start
    while number > 0:
        number -= 1
        block = blocks[number]
        if block.kind in ("fence", "table"):
            return min(block.end, own_start)
        if block.kind == "heading" or block.start < earliest:
            return block.start
    return 0


def _good_place(text: str, earliest: int, own_start: int) -> int:
    """Return the first line or sentence in the first half of the stretch, else its first word."""
    if earliest >= own_start:
        return own_start
    if earliest == 0 or text[earliest - 1] == "\n":
        return earliest
    middle = (earliest + own_start) // 2
    line = text.find("\n", earliest, middle)
    if found := next(sentence_ends(text, earliest, middle if line < 0 else line), 0):
        return found
    if line >= 0:
        return line
    if text[earliest - 1].isspace() or is_unspaced(text[earliest]):
        return before_joined(text, earliest, earliest - 1)
    word = _SPACE.search(text, earliest, own_start)
    return word.end() if word else own_start
