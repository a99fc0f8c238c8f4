"""The terms of code: identifiers as written and their parts, never stemmed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dowse.analyze.words import split_identifier

_IDENTIFIER = re.compile(r"\b[A-Za-z](?:\+\+|#)|\w+(?:(?:::|\.|->)\w+)*")


def code_terms(text: str) -> Iterator[tuple[str, int]]:
    """The terms of a piece of code with their positions."""
    position = 0
    for match in _IDENTIFIER.finditer(text):
        for term in _terms(match.group()):
            yield term, position
            position += 1


def _terms(name: str) -> Iterator[str]:
    whole = name.casefold()
    parts = split_identifier(name) if name[-1] not in "+#" else [whole]
    if [whole] != parts:
        yield whole
    yield from parts
