"""A document's blocks → what it means to cut in front of each."""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from dowse._model import Block, Document

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
