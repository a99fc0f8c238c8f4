"""Text without Markdown: paragraphs, and nothing else."""

from __future__ import annotations

import re

from dowse.types import Block

_AFTER_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)+(?=[^\n])")


def plain_blocks(text: str, body: int) -> list[Block]:
    """One block per paragraph, each with the blank lines after it."""
    if body >= len(text):
        return []
    starts = [body, *(match.end() for match in _AFTER_BLANK_LINES.finditer(text, body))]
    ends = [*starts[1:], len(text)]
    return [Block("text", start, end) for start, end in zip(starts, ends, strict=True)]
