"""BM25 in its plainest form: term by term over all texts."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from dowse._model import ChunkKey, Scores

_K1, _B = 1.2, 0.75


def bm25(terms: Sequence[str], bodies: Mapping[ChunkKey, Sequence[str]]) -> Scores:
    """Texts that hold any of the terms, best first (Robertson and Zaragoza, 2009).

    Rarity is `ln(1 + (N - n + 0.5) / (n + 0.5))`, which is never negative.
    """
    counts = {key: Counter(body) for key, body in bodies.items()}
    average = sum(len(body) for body in bodies.values()) / max(1, len(bodies))
    scores: defaultdict[ChunkKey, float] = defaultdict(float)
    for term in terms:
        holders = [key for key, count in counts.items() if term in count]
        rarity = math.log(1 + (len(bodies) - len(holders) + 0.5) / (len(holders) + 0.5))
        for key in holders:
            often = counts[key][term]
            length = 1 - _B + _B * len(bodies[key]) / average
            scores[key] += rarity * often * (_K1 + 1) / (often + _K1 * length)
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
