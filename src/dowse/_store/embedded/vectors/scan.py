"""Scanning vectors by one bit per dimension, and picking the smallest of many numbers."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from dowse._model import Vector
from dowse._util.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Codes: TypeAlias = "NDArray[np.uint64]"
"""Sign codes word by word, a column for each vector: counting bits is fast that way."""

Rows: TypeAlias = "NDArray[np.intp]"
"""Places of vectors."""

_SAMPLED = 16  # one of so many numbers is looked at to guess how small the smallest are
_MANY = 4  # samples that must be among the smallest for the guess to be any good


def distances(codes: Codes, asked: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """In how many bits each code differs from the one asked for."""
    distance = np.zeros(codes.shape[1], np.uint16)
    for words, word in zip(codes, asked, strict=True):
        distance += np.bitwise_count(words ^ word)
    return distance


def estimates(codes: Codes, rotated: Vector) -> NDArray[np.float32]:
    """About how near some vectors are to one: it itself against the signs of their dimensions."""
    padded = np.zeros(64 * len(codes), np.float32)
    padded[: len(rotated)] = rotated
    by_byte = (padded.reshape(-1, 8) @ _signs().T).astype(np.float32)  # what each byte adds
    signs = np.ascontiguousarray(codes.T).view(np.uint8)
    places = signs + np.arange(0, by_byte.size, 256)
    estimated: NDArray[np.float32] = by_byte.ravel().take(places).sum(axis=1)
    return estimated


def smallest(values: NDArray[Any], count: int, slack: float = 0) -> Rows:
    """The places of the smallest numbers, and of all that equal the largest of them.

    Ties can then be broken by key. `slack` is what equal numbers may differ by.
    """
    if count >= len(values):
        return np.arange(len(values))
    likely = None if slack else _likely(values, count)
    if likely is None:
        return np.flatnonzero(values <= np.partition(values, count - 1)[count - 1] + slack)
    few = values[likely]
    found: Rows = likely[few <= np.partition(few, count - 1)[count - 1]]
    return found


def _likely(values: NDArray[Any], count: int) -> Rows | None:
    """Places that include those of the smallest; None where a sample does not tell.

    To partition a million numbers takes longer than the scan that they come from.
    """
    rank = count // _SAMPLED
    if rank < _MANY or _SAMPLED * count > len(values):
        return None
    sample = values[::_SAMPLED]
    generous = min(len(sample) - 1, 2 * rank)
    found = np.flatnonzero(values <= np.partition(sample, generous)[generous])
    return found if len(found) >= count else None


@cache
def _signs() -> NDArray[Any]:
    """The signs that the bits of every byte mean, a row each."""
    return 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) - 1
