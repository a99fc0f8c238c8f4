"""The lines of a heading → its level and its text."""

from __future__ import annotations

from dowse._index.markdown.blocks import Outline, Stretch
from dowse._index.markdown.inline import Definitions
from dowse._index.markdown.plain_text import plain_text
from dowse._model import Heading
from dowse._util import limits
from dowse._util.deadline import Deadline

_BLANKS = " \t"
_MOST_MARKUP = 5 * limits.HEADING  # characters of a heading that are read: markup takes some


def read_headings(
    text: str, outline: Outline, definitions: Definitions, deadline: Deadline
) -> tuple[Heading, ...]:
    """Reads the headings; of a very long one the beginning, which is noted in the outline."""
    found = []
    for place in outline.headings:
        deadline.check()
        found.append(_read_heading(text, place, outline, definitions))
    return tuple(found)


def _read_heading(text: str, place: Stretch, outline: Outline, definitions: Definitions) -> Heading:
    start = text.rfind("\n", 0, place.start) + 1
    level, content = _split(text[place.start : place.end].removesuffix("\n"))
    content = _without_attributes(content)
    shown = plain_text(content[:_MOST_MARKUP], definitions)
    if len(shown) > limits.HEADING or len(content) > _MOST_MARKUP:
        outline.cuts.setdefault("heading", start)
        shown = shown[: limits.HEADING - 1].rstrip() + "…"
    return Heading(level, shown, start)


# Patterns with two stretches of blanks in a row take time that grows with the square of a stretch.


def _split(written: str) -> tuple[int, str]:
    """The level and the marked-up text of a heading."""
    bare = written.lstrip(_BLANKS)
    marks = len(bare) - len(bare.lstrip("#"))
    if 1 <= marks <= 6 and bare[marks : marks + 1] in ("", *_BLANKS, "\n"):
        return marks, _without_closing(bare[marks:])
    content, _, underline = written.rpartition("\n")
    line = underline.strip(_BLANKS + ">")
    if content and line and not line.strip("=-"):
        return (1 if line[0] == "=" else 2), content
    return 6, written


def _without_closing(content: str) -> str:
    """A heading without the marks that may close it: `# Title #`."""
    content = content.strip(_BLANKS)
    open_ = content.rstrip("#")
    return open_.rstrip(_BLANKS) if not open_ or open_[-1] in _BLANKS else content


def _without_attributes(content: str) -> str:
    """A heading without `{#anchor .class}` at its end."""
    bare = content.rstrip(_BLANKS)
    opening = bare.rfind("{")
    if not bare.endswith("}") or opening < 0 or "}" in bare[opening:-1]:
        return content
    inside = bare[opening + 1 : -1].lstrip(_BLANKS)
    return bare[:opening].rstrip(_BLANKS) if inside[:1] in ("#", ".", ":") else content
