"""Which of many numbers are among others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dowse._model import Keys
from dowse._util.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SPARSE = 64  # how many times larger than their count the numbers may be for a table of all


def members(numbers: Keys, among: Keys, largest: int | None = None) -> NDArray[np.bool_]:
    """Tell whether each number, none negative, is among others, which ascend.

    For a million numbers, a table takes a fifth of the time of `np.isin`. `largest` is the largest
    of the numbers, where it is known.
    """
    if not len(numbers) or not len(among):
        return np.zeros(len(numbers), np.bool_)
    last = int(numbers.max()) if largest is None else largest
    if last < _SPARSE * len(numbers):
        table = np.zeros(last + 1, np.bool_)
        table[among[: np.searchsorted(among, last, "right")]] = True
        return table[numbers]
    places = np.minimum(np.searchsorted(among, numbers), len(among) - 1)
    found: NDArray[np.bool_] = among[places] == numbers
    return found
