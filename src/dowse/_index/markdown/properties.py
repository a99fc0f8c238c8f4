"""All of the frontmatter as names and texts, so that any field can be asked for."""

from __future__ import annotations

from collections.abc import Iterator

from dowse._index.markdown.fields import texts
from dowse._index.markdown.frontmatter import Frontmatter
from dowse._util import limits

Property = tuple[str, tuple[str, ...]]
"""The name of a field and its values; no values when it is empty."""


def read_properties(front: Frontmatter) -> tuple[Property, ...]:
    """The fields of a frontmatter by name; a field of a mapping is called `outer.inner`."""
    found: dict[str, tuple[str, ...]] = {}
    for name, value in _flat(front.values, ""):
        if len(found) >= limits.PROPERTIES:
            break
        found.setdefault(name, _values(value))
    return tuple(sorted(found.items()))


def _flat(values: dict[str, object], above: str) -> Iterator[tuple[str, object]]:
    for key, value in values.items():
        name = f"{above}{str(key).strip()}"
        if len(name) > limits.PROPERTY:
            continue
        if isinstance(value, dict):
            yield from _flat(value, f"{name}.")
        else:
            yield name, value


def _values(value: object) -> tuple[str, ...]:
    """Its texts, each once: long ones are cut, since nobody asks for a value by all of it."""
    found = (text[: limits.ENTRY].rstrip() for text in texts(value))
    return tuple(dict.fromkeys(found))[: limits.ENTRIES]
