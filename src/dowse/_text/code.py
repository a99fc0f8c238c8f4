"""The terms of code: identifiers as written and their parts, never stemmed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

from dowse._text.identifiers import joined, split_identifier
from dowse._text.words import LONGEST

_IDENTIFIER = re.compile(r"(?<!\w)[A-Za-z](?:\+\+|#)(?!\w)|\w+(?:(?:::|\.|->)\w+)*")


def code_terms(text: str) -> Iterator[str]:
    """The terms of a piece of code, in their order."""
    names = _IDENTIFIER.findall(unicodedata.normalize("NFC", text))
    return chain.from_iterable(map(_terms_of, names))


def _terms_of(name: str) -> tuple[str, ...]:
    return _remembered(name) if len(name) <= LONGEST else _terms(name)


def _terms(name: str) -> tuple[str, ...]:
    whole = name.casefold()
    if name[-1] in "+#":
        return (whole,)
    parts = split_identifier(name)
    wholes = (whole, *joined(whole)) if [whole] != parts and len(whole) <= LONGEST else ()
    return (*wholes, *(part for part in parts if len(part) <= LONGEST))


_remembered = lru_cache(20_000)(_terms)  # most names recur
