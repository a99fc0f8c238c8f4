"""Characters that do something instead of being seen: they steer terminals or mislead readers."""

from __future__ import annotations

import re

# C1 controls and DEL; marks that turn round the order of what is read; separators of lines, which
# some terminals obey; marks that nothing shows: word joiners, annotations, tags.
_MISLEADING = (
    "\x7f-\x9f"
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
    "\u2028\u2029"
    "\u180e\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff"
)

UNSAFE = re.compile(f"[\x00-\x08\x0b-\x1f{_MISLEADING}\ud800-\udbff]")
"""What must not reach a terminal; tabs and line feeds may."""

_IN_JSON = re.compile(f"[{_MISLEADING}\u200b-\u200d]")  # JSON itself escapes the others


def escaped(data: bytes) -> bytes:
    """The same JSON, with every character that cannot be seen written as its number.

    It is done for pipes as well: JSON means the same either way, and may be shown later.
    """
    text = data.decode("utf-8")
    return _IN_JSON.sub(_numbered, text).encode("utf-8") if _IN_JSON.search(text) else data


def _numbered(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))
