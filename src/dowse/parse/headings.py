"""The lines of a heading → its level and its text."""

from __future__ import annotations

import re

from dowse.parse.blocks import Stretch
from dowse.parse.inline import Definitions
from dowse.parse.plain_text import plain_text
from dowse.types import Heading

_ATX = re.compile(r"[ \t]{0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*\n?", re.DOTALL)
_SETEXT = re.compile(r"(.*)\n[ \t>]*([=-]+)[ \t]*\n?", re.DOTALL)
_ATTRIBUTES = re.compile(r"[ \t]*\{[ \t]*[#.:][^{}]*\}[ \t]*$")  # {#anchor .class}


def read_heading(text: str, place: Stretch, definitions: Definitions) -> Heading:
    """Reads the heading that stands at `place`."""
    written = text[place.start : place.end]
    start = text.rfind("\n", 0, place.start) + 1
    if atx := _ATX.fullmatch(written):
        level, content = len(atx[1]), atx[2] or ""
    elif setext := _SETEXT.fullmatch(written):
        level, content = (1 if setext[2][0] == "=" else 2), setext[1]
    else:
        level, content = 6, written
    return Heading(level, plain_text(_ATTRIBUTES.sub("", content), definitions), start)
