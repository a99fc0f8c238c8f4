"""Where text may be cut, from good to bad: headings, blocks, lines, sentences, words, anywhere."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from itertools import chain

from dowse._index.chunk.optimal_cut import CutPoint
from dowse._model import Block
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

Rule = Callable[[str, int, int, int], Iterator[CutPoint]]
"""Finds places between two offsets, where pieces may have at most so many characters."""


def price_between(text: str, offset: int) -> int:
    """What it costs to cut between two blocks that are no headings."""
    return _AFTER_BLANK_LINE if text.endswith("\n\n", max(0, offset - 2), offset) else _BLOCK


def places_inside(text: str, block: Block, maximum: int) -> Iterator[CutPoint]:
    """Places to cut a block at; between two of them there are never more than `maximum` characters.

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
    text: str, start: int, end: int, maximum: int, rules: tuple[Rule, ...]
) -> Iterator[CutPoint]:
    """The places that the first rule finds, and worse ones where these leave much between them.

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
        yield CutPoint(feeds.end(), _price_of_line(text, edge, feeds))
        edge = feeds.end()
    yield from _sentences(text, edge, end)


def _price_of_line(text: str, start: int, feeds: re.Match[str]) -> int:
    if len(feeds[0]) > 1:
        return _AFTER_BLANK_LINE
    said = text[max(start, feeds.start() - _LONGEST_CLOSING) : feeds.start()]
    return _LINE_AND_SENTENCE if is_finished(said) else _LINE


def _sentences(text: str, start: int, end: int) -> Iterator[CutPoint]:
    """Places between the sentences of one line."""
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
    """The offset, moved back so that it does not part what is seen as one character."""
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
