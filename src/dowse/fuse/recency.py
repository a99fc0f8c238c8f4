"""What is new counts a little more."""

from __future__ import annotations

_WEEK = 7  # days
_MONTH = 30  # days
_USUAL_BIAS = 0.5  # the bias at which the boosts are the figures below
_WEEK_BOOST = 0.2
_MONTH_BOOST = 0.1


def recency_multiplier(age_days: float, bias: float) -> float:
    """By how much the score of a document of this age is multiplied, from 1.

    A bias of 0.5 gives 1.2 up to 7 days and 1.1 up to 30; 0 turns it off, 1 doubles the boost.
    A date in the future counts as new.
    """
    return 1.0 + _boost(age_days) * (bias / _USUAL_BIAS)


def _boost(age_days: float) -> float:
    if age_days <= _WEEK:
        return _WEEK_BOOST
    return _MONTH_BOOST if age_days <= _MONTH else 0.0
