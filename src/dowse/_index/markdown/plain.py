"""Text without Markdown: paragraphs, and nothing else."""

from __future__ import annotations

import re

from dowse._model import Block
from dowse._util import limits

_BLANK_LINES = re.compile(r"\n(?:[ \t]*+\n)++")


def plain_blocks(text: str, body: int) -> list[Block]:
    """One block per paragraph, each with the blank lines after it."""
    if body >= len(text):
        return []
    found = (match.end() for match in _BLANK_LINES.finditer(text, body))
    starts = [body]
    for start in found:
        if start < len(text) and (
            len(starts) < limits.BLOCKS or start - starts[-1] >= limits.JOINED
        ):
            starts.append(start)
    ends = [*starts[1:], len(text)]
    return [Block("text", start, end) for start, end in zip(starts, ends, strict=True)]
