"""How a block of code begins and ends in Markdown."""

from __future__ import annotations

import re

FENCE = r"(?:`{3,}(?=[^`\n]*$)|~{3,})"
"""A pattern for what opens a block; backticks with others on their line are code in a sentence."""


def closing_fence(opening: str) -> re.Pattern[str]:
    """The line that closes what these backticks or tildes have opened."""
    return re.compile(rf"^ {{0,3}}{opening[0]}{{{len(opening)},}}[ \t]*$", re.MULTILINE)
