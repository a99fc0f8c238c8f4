"""Whether one way of searching is better than another, or only luckier.

Both answer the same queries, so the differences per query are looked at: a sign-flip test says how
often chance alone would give as large a mean difference, a bootstrap how far it can be trusted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Annotated

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

SEED = 20_240_229
"""What every random choice of an evaluation begins with."""

_ROUNDS = 10_000
_CELLS = 2_000_000  # random numbers held at a time
_SAME = 1e-12  # differences below are rounding


class Difference(Struct, frozen=True):
    """How much better the second is than the first, over the same queries."""

    first: Annotated[float, "Mean of the first."]
    second: Annotated[float, "Mean of the second."]
    difference: Annotated[float, "Second minus first."]
    relative: Annotated[float | None, "As a share of the first; null when that is 0."]
    low: Annotated[float, "Lower end of the 95 % bootstrap interval of the difference."]
    high: Annotated[float, "Upper end."]
    p: Annotated[float, "How often chance alone gives as large a difference, either way."]
    wins: Annotated[int, "Queries that the second answers better."]
    ties: Annotated[int, "Queries that both answer equally well."]
    losses: Annotated[int, "Queries that the first answers better."]


def compare(
    first: Mapping[str, float],
    second: Mapping[str, float],
    *,
    groups: Mapping[str, str] | None = None,
) -> Difference:
    """Compares what a measure gives for each query; both must cover the same queries, at least one.

    `groups` names what queries have in common: those of one group are drawn, or flipped, together,
    because they say less than as many that are independent. The same figures give the same result,
    to the bit.
    """
    queries = sorted(first)
    before = np.array([first[query] for query in queries])
    after = np.array([second[query] for query in queries])
    by_query = after - before
    sums, counts = _grouped(by_query, [groups[query] for query in queries] if groups else queries)
    low, high = _bootstrap(sums, counts)
    start, change = float(before.mean()), float(by_query.mean())
    return Difference(
        first=start,
        second=float(after.mean()),
        difference=change,
        relative=change / start if start else None,
        low=low,
        high=high,
        p=_sign_flips(sums),
        wins=int((by_query > _SAME).sum()),
        ties=int((np.abs(by_query) <= _SAME).sum()),
        losses=int((by_query < -_SAME).sum()),
    )


def _grouped(
    differences: NDArray[np.float64], groups: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sum of each group, and how many queries it has."""
    names, places, counts = np.unique(groups, return_inverse=True, return_counts=True)
    sums = np.zeros(len(names))
    np.add.at(sums, places, differences)
    return sums, counts.astype(np.float64)


def _sign_flips(differences: NDArray[np.float64]) -> float:
    """The two-sided paired randomisation test; exact where there are few ways to flip."""
    # Queries that are answered equally well stay at 0 whatever their sign.
    moved = differences[np.abs(differences) > _SAME]
    observed = abs(moved.sum()) - _SAME
    if 2 ** len(moved) <= _ROUNDS:
        flips = np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved)) & 1
        return float((np.abs((1 - 2 * flips) @ moved) >= observed).mean())
    rng, extreme = np.random.default_rng(SEED), 0
    for rounds in _portions(len(moved)):
        signs = 1.0 - 2.0 * rng.integers(0, 2, (rounds, len(moved)), dtype=np.int8)
        extreme += int((np.abs(signs @ moved) >= observed).sum())
    return (extreme + 1) / (_ROUNDS + 1)  # what was observed is one of the possible ways


def _bootstrap(sums: NDArray[np.float64], counts: NDArray[np.float64]) -> tuple[float, float]:
    """The 95 % percentile interval of the mean over queries, which come in groups."""
    rng, size = np.random.default_rng(SEED), len(sums)
    means = []
    for rounds in _portions(size):
        drawn = rng.integers(0, size, (rounds, size))
        means.append(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1))
    low, high = np.percentile(np.concatenate(means), [2.5, 97.5])
    return float(low), float(high)


def _portions(count: int) -> Iterator[int]:
    """All rounds, in portions that memory can hold."""
    step = max(1, _CELLS // max(1, count))
    for start, end in pairwise([*range(0, _ROUNDS, step), _ROUNDS]):
        yield end - start
