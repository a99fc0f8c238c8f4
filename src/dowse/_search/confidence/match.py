"""From a confidence to a word: how well a result fits its query."""

from __future__ import annotations

from dowse._model import Match
from dowse._search.state import Candidate, SearchState

_STRONG = 0.45  # the confidences at or above which a result is called so: see docs/quality.md
_LIKELY = 0.1
_EVEN = 0.5  # of a plain sigmoid, which says little


def match_of(search: SearchState, candidate: Candidate, *, complete: bool) -> Match:
    """The word for a candidate; `complete` means that all words of the query are in it."""
    if candidate.stored.key in search.named or not search.has_words:
        return "strong"
    if search.no_good_match:
        return "weak"
    if search.fitted:
        return word_for(candidate.score)
    # Nobody knows what such a score means, so only words can speak for a result.
    return "likely" if complete or (search.hypothesis and candidate.score >= _EVEN) else "weak"


def word_for(confidence: float) -> Match:
    """The word for a fitted confidence."""
    if confidence >= _STRONG:
        return "strong"
    return "likely" if confidence >= _LIKELY else "weak"
