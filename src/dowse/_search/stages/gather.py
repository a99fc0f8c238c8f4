"""What the chunks of a document do for each other."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Annotated

from msgspec import Struct

from dowse._model import Place
from dowse._search.state import SearchState
from dowse._util.bounds import SHARE, check_bounds


class GatherOptions(Struct, frozen=True):
    """How much a chunk gains from the rest of its document."""

    share: Annotated[
        float,
        SHARE,
        "Share of a result's score that comes from the best chunks of its document (0–1); 0: off.",
    ] = 0.75

    def __post_init__(self) -> None:
        """Rejects a share that is none."""
        check_bounds(self, "gather")


def gather(search: SearchState) -> None:
    """Lets the best chunks of a document raise the others."""
    share, candidates = search.settings.gather.share, search.candidates
    whole = gathered([one.document for one in candidates], [one.places for one in candidates])
    for one in candidates:
        together = whole[one.document] * search.multipliers.get(one.document, 1.0)
        if together > one.score:
            one.rescore("gather", (1 - share) * one.score + share * together)
    search.sort()


def gathered(documents: Sequence[str], places: Sequence[Sequence[Place]]) -> dict[str, float]:
    """The score of each document when every strategy may choose its best chunk there.

    The words of a query may be in one chunk of a document and its meaning in another.
    """
    best: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for document, found in zip(documents, places, strict=True):
        known = best[document]
        for place in found:
            known[place.strategy] = max(place.contribution, known.get(place.strategy, 0.0))
    return {document: math.fsum(known.values()) for document, known in best.items()}
