"""Results that differ from each other, or come from different documents.

Maximal marginal relevance (Carbonell and Goldstein, 1998), or a limit for each document.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from dowse._model import Vector
from dowse._search.stages.dedup import cosines, directions
from dowse._search.state import SearchState, cap_scores
from dowse._util.arrays import np
from dowse._util.bounds import SHARE, Options


class DiversityOptions(Options, frozen=True):
    """Whether results are chosen to differ from each other."""

    mmr: Annotated[bool, "Choose results by maximal marginal relevance."] = False
    balance: Annotated[float, SHARE, "Of MMR: 1 counts relevance only, 0 difference only."] = 0.7
    max_chunks_per_doc: Annotated[
        int,
        Meta(ge=0, le=10_000),
        "Results of one document at most; 0: no limit. Not used with MMR.",
    ] = 0


def diversify(search: SearchState) -> None:
    """Choose results that differ, or limit how many a document may have."""
    options, kept = search.settings.diversity, search.candidates
    if not options.mmr:
        limit = options.max_chunks_per_doc
        beyond = over_limit([one.document for one in kept], limit)
        search.drop("diversity", dict.fromkeys(beyond, f"its document has {limit} better results"))
    elif not search.settled:
        vectors = search.vectors()
        relevance = as_cosines([candidate.score for candidate in kept], vectors)
        order = select_diverse(relevance, vectors, len(kept), options.balance)
        search.candidates = [kept[place] for place in order]
        cap_scores(search.candidates, "diversity")


def over_limit(documents: Sequence[str], limit: int) -> list[int]:
    """Find the places beyond the first `limit` of each document; a limit of 0 means none."""
    if limit <= 0:
        return []
    seen: Counter[str] = Counter()
    over: list[int] = []
    for place, document in enumerate(documents):
        seen[document] += 1
        if seen[document] > limit:
            over.append(place)
    return over


def as_cosines(scores: Sequence[float], vectors: Sequence[Vector | None]) -> list[float]:
    """Scale scores, best first, like the cosines between the first result and the others.

    The best becomes the highest of them, the worst the lowest. Confidences are often all below 0.3
    where cosines are from 0.2 to 0.9; without a common scale a balance of both means nothing.
    """
    own = np.asarray(scores, np.float64)
    if len(own) < 2 or own[0] == own[-1]:
        return list(scores)
    rows = directions(vectors)
    among = cosines(rows[1:], rows[0])
    low, high = among.min(), among.max()
    shares = (own - own[-1]) / (own[0] - own[-1])
    scaled: list[float] = (low + shares * (high - low) if low < high else shares).tolist()
    return scaled


def select_diverse(
    relevance: Sequence[float], vectors: Sequence[Vector | None], count: int, balance: float
) -> list[int]:
    """Select the places of `count` results that are relevant and unlike each other, in order.

    One after the other is selected for `balance` times its relevance minus the rest times its
    highest cosine to what is selected; that is 0 for the first and for what has no vector. Ties
    are selected in their order, so a balance of 1 selects the first `count`.
    """
    rows = directions(vectors)
    gain = balance * np.asarray(relevance, np.float64)
    likeness = np.zeros(len(relevance))
    selected: list[int] = []
    while len(selected) < min(count, len(relevance)):
        worth = gain - (1 - balance) * likeness
        worth[selected] = -np.inf
        best = int(np.argmax(worth))
        closeness = cosines(rows, rows[best])
        likeness = np.maximum(likeness, closeness) if selected else closeness
        selected.append(best)
    return selected
