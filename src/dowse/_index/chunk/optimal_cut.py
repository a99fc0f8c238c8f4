"""Which of the places to cut at: those that together cost the least.

Every place has a price, and every piece one for being far from the size that is wanted. The
cheapest way to cut the whole text is found exactly, by going from each place to each that one
piece can reach; so a good cut is never missed because of an earlier one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, islice, pairwise
from math import inf
from typing import NamedTuple

_LOWEST = 99  # the level of the end, where nothing follows


class CutPoint(NamedTuple):
    """A place where text may be cut."""

    offset: int
    price: int  # the higher, the worse the cut
    level: int = 0  # of the heading above the text from here on


class Pricing(NamedTuple):
    """What pieces may be like."""

    sizes: Sequence[int]  # the price of a piece of n characters, for n up to the maximum
    enough: int  # a piece of this many characters does not reach over a higher heading

    @property
    def maximum(self) -> int:
        """The most characters of a piece."""
        return len(self.sizes) - 1


@lru_cache
def around_goal(goal: int, minimum: int, maximum: int) -> Pricing:
    """Pieces should be near a goal; one below the minimum costs more than to join it with another.

    `minimum` is at most `goal`, and `goal` at most `maximum`.
    """
    sizes = [100 * (size - goal) ** 2 // goal**2 for size in range(maximum + 1)]
    for size in range(minimum):
        sizes[size] += sizes[maximum] + 1 + 150 * (minimum - size) // minimum
    return Pricing(sizes, maximum + 1)


@lru_cache
def at_least(minimum: int, maximum: int) -> Pricing:
    """Pieces should have a minimum, above which one size is as good as another."""
    sizes = [100 * max(0, minimum - size) ** 2 // minimum**2 for size in range(maximum + 1)]
    return Pricing(sizes, minimum)


def cheapest_pieces(
    places: Sequence[CutPoint], end: int, pricing: Pricing
) -> list[tuple[int, int]]:
    """Start and end of the pieces, which together run from the first place to `end`.

    No two neighbouring places, and not the last one and the end, may lie further apart than the
    maximum.
    """
    offsets = [*(place.offset for place in places), end]
    levels = [*(place.level for place in places), _LOWEST]
    costs = [0.0, *[inf] * len(places)]
    came_from = [0] * len(offsets)
    sizes, enough = pricing
    for here, place in enumerate(places):
        paid = costs[here] + (place.price if here else 0)
        highest = place.level
        for there in range(here + 1, len(offsets)):
            size = offsets[there] - place.offset
            if size >= len(sizes):
                break
            if paid + sizes[size] < costs[there]:
                costs[there] = paid + sizes[size]
                came_from[there] = here
            if levels[there] < highest:
                if size >= enough:
                    break
                highest = levels[there]
    return _way_back(offsets, came_from)


def _way_back(offsets: Sequence[int], came_from: Sequence[int]) -> list[tuple[int, int]]:
    pieces = []
    there = len(offsets) - 1
    while there > 0:
        pieces.append((offsets[came_from[there]], offsets[there]))
        there = came_from[there]
    return pieces[::-1]


def thinned(places: Iterable[CutPoint], end: int, maximum: int) -> list[CutPoint]:
    """Of places that lie close together, the cheapest; no piece gets too long by that.

    Pieces much smaller than what is wanted are never chosen, and trying them all takes long.
    """
    grain = max(1, maximum // 32)
    following = chain(places, [CutPoint(end, 0)])
    kept = list(islice(following, 1))
    for place, after in pairwise(following):
        last = kept[-1]
        if place.offset - last.offset >= grain or after.offset - last.offset > maximum:
            kept.append(place)
        elif (
            len(kept) > 1 and place.price < last.price and place.offset - kept[-2].offset <= maximum
        ):
            kept[-1] = place
    return kept
