"""No document may crowd out the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def over_limit(documents: Sequence[str], limit: int) -> list[int]:
    """The places beyond the first `limit` of each document; a limit of 0 means none."""
    if limit <= 0:
        return []
    seen: Counter[str] = Counter()
    over: list[int] = []
    for place, document in enumerate(documents):
        seen[document] += 1
        if seen[document] > limit:
            over.append(place)
    return over
