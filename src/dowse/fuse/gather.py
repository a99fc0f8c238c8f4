"""What the chunks of a document do for each other."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from dowse.types import Place


def gathered(documents: Sequence[str], places: Sequence[Sequence[Place]]) -> dict[str, float]:
    """What each document has when every strategy may choose its best chunk there.

    The words of a query may stand in one chunk of a document and its meaning in another.
    """
    best: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for document, found in zip(documents, places, strict=True):
        known = best[document]
        for place in found:
            known[place.strategy] = max(place.contribution, known.get(place.strategy, 0.0))
    return {document: math.fsum(known.values()) for document, known in best.items()}
