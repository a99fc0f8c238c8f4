"""Names as numbers: engines compare numbers quickly, and need no quoting for them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import lru_cache

from dowse._model import ChunkKey
from dowse._text.fold import fold

OVERFLOW = 1
"""The token of a row that has more tokens than fit: any other token may be missing from it."""

ANYWHERE = 0
"""The dimension that no term has, for rows without terms: engines take no empty sparse vector."""

_GRAM = 3
_REMEMBERED = 100_000  # values whose numbers are kept: most terms of a chunk are not new
_DIGITS = 13  # 52 bits: engines compare ranges as double floats


@lru_cache(maxsize=_REMEMBERED)
def token(kind: str, value: str) -> int:
    """The token of a value of some kind: 63 bits, never that of an overflow."""
    return max(2, _number(f"{kind}\0{value}", 8) >> 1)


@lru_cache(maxsize=_REMEMBERED)
def dimension(term: str) -> int:
    """The dimension of a term in sparse vectors: 31 bits, never 0."""
    return max(1, _number(term, 4) >> 1)


def document_key(document_id: str) -> str:
    """The key of a document in the engine: ids can be longer than an engine's keys."""
    return hashlib.sha256(document_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def version_of(*parts: object) -> int:
    """The version of a document that is made of these parts: equal parts, equal version."""
    return max(1, _number("\0".join(map(str, parts)), 8) >> 1)


def chunk_key(epoch: str, document: str, version: int, place: int) -> ChunkKey:
    """The key of a chunk: by the version of its document and its place in it."""
    return max(1, _number(f"{epoch}/{document}/{version}/{place}", 8) >> 1)


def grams(kind: str, value: str) -> set[int]:
    """Tokens of all stretches of up to three letters of a value, for conditions on a part of it."""
    folded = fold(value)
    return {token(f"{kind}~", part) for part in _stretches(folded)}


def wanted_grams(kind: str, value: str) -> list[int]:
    """Tokens that a value must have to hold another; nothing when every value holds it."""
    folded = fold(value)
    if not folded:
        return []
    size = min(_GRAM, len(folded))
    parts = {folded[place : place + size] for place in range(len(folded) - size + 1)}
    return sorted(token(f"{kind}~", part) for part in parts)


def id_number(short: str) -> tuple[int, int]:
    """The range of numbers of ids that begin with these hex digits, or an empty range."""
    digits = short[:_DIGITS]
    if not digits or set(digits) - set("0123456789abcdef"):
        return 0, 0
    step = 16 ** (_DIGITS - len(digits))
    start = int(digits, 16) * step
    return start, start + step


def _stretches(folded: str) -> Iterator[str]:
    for size in range(1, _GRAM + 1):
        yield from (folded[place : place + size] for place in range(len(folded) - size + 1))


def _number(text: str, size: int) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).digest()
    return int.from_bytes(digest, "big")


def fitting(tokens: Iterable[int], most: int) -> list[int]:
    """Tokens as a row takes them: each once, in order, with the mark where they do not fit."""
    found = sorted(set(tokens))
    return found if len(found) <= most else [OVERFLOW, *found[: most - 1]]
