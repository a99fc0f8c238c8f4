"""numpy, loaded at its first use: listing documents or searching by words alone needs none of it.

Loading numpy takes about as long as all the rest of such a command. Modules that calculate with
arrays write `from dowse._util.arrays import np`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:

    class _Numpy:
        """Has the names of numpy, and keeps each that was asked for."""

        def __getattr__(self, name: str) -> Any:
            import numpy  # noqa: ICN001, PLC0415  this is the place that loads it

            value = getattr(numpy, name)
            setattr(self, name, value)
            return value

    np = _Numpy()

__all__ = ["members", "np"]

_SPARSE = 64  # how many times larger than their count the numbers may be for a table of all


def members(
    numbers: NDArray[np.int64], among: NDArray[np.int64], largest: int | None = None
) -> NDArray[np.bool_]:
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
