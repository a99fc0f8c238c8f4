"""How far apart two words are spelled."""

from __future__ import annotations


def slips(one: str, other: str) -> int:
    """The optimal string alignment distance: letters added, left out, changed, or swapped."""
    before: list[int] = []
    above = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        line = [row]
        for column, wanted in enumerate(other, 1):
            best = min(above[column] + 1, line[-1] + 1, above[column - 1] + (letter != wanted))
            if row > 1 and column > 1 and letter == other[column - 2] and wanted == one[row - 2]:
                best = min(best, before[column - 2] + 1)
            line.append(best)
        before, above = above, line
    return above[-1]
