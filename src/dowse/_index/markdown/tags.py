"""`#tag` and `#nested/tag`, by Obsidian's rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from dowse._text.fold import fold
from dowse._util import limits

# Everything may belong to a tag but spaces and punctuation; "-", "_" and "/" may.
_TAG = re.compile(
    r"""(?<!\S)\#
    ([^\s\x00-\x1f!-,.:-@\[-^`{-\x7f\u2000-\u206f\u2e00-\u2e7f\u3000-\u303f\uff00-\uff0f]+)""",
    re.VERBOSE,
)
_SAYS_NOTHING = re.compile(r"[\d/_-]*")


def may_hold_tags(text: str) -> bool:
    """A quick look before a close one."""
    return "#" in text and _TAG.search(text) is not None


def find_tags(text: str) -> Iterator[tuple[int, str]]:
    """Offset and name of everything that looks like a tag."""
    for match in _TAG.finditer(text):
        name = clean_tag(match[1])
        if not _SAYS_NOTHING.fullmatch(name):
            yield match.start(), name


def clean_tag(written: str) -> str:
    """A tag's name without "#" and stray slashes."""
    return written.strip().lstrip("#").strip("/").strip()


def is_usable(name: str) -> bool:
    """Whether a tag is short and flat enough: every level above it is kept with it."""
    return len(name) <= limits.TAG and name.count("/") < limits.TAG_DEPTH


def without_repeats(names: Iterable[str]) -> tuple[str, ...]:
    """The names that say something in order, each once whatever its case, as first spelled."""
    first: dict[str, str] = {}
    for name in filter(None, names):
        first.setdefault(fold(name), name)
    return tuple(first.values())
