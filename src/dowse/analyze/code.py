"""The terms of code: identifiers as written and their parts, never stemmed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from dowse.analyze.identifiers import joined, split_identifier
from dowse.analyze.words import LONGEST

_IDENTIFIER = re.compile(r"(?<!\w)[A-Za-z](?:\+\+|#)(?!\w)|\w+(?:(?:::|\.|->)\w+)*")


def code_terms(text: str) -> Iterator[tuple[str, int]]:
    """The terms of a piece of code with their positions."""
    position = 0
    for match in _IDENTIFIER.finditer(unicodedata.normalize("NFC", text)):
        for term in _terms(match.group()):
            yield term, position
            position += 1


def _terms(name: str) -> Iterator[str]:
    whole = name.casefold()
    if name[-1] in "+#":
        yield whole
        return
    parts = split_identifier(name)
    if [whole] != parts and len(whole) <= LONGEST:
        yield whole
        yield from joined(whole)
    yield from (part for part in parts if len(part) <= LONGEST)
