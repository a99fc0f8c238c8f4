"""A confidence that was fitted: how often such a result was judged to answer its query.

Logistic regression over the first five results of 1,920 queries on four collections, half of them
queries that belong to another collection and have no answer there. The fused score carries the
evidence (cosine, lexical score and coverage, agreement of the strategies, each as a part of its
ceiling); the lead of the first result over the next document adds to it. Judgments name about one
document per query, so the confidence is cautious. docs/quality.md has the reliability.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fit:
    """The weights of the evidence for one embedding model."""

    score: float  # of the fused score
    lead: float  # of the first result's lead over the next document
    constant: float
    least: float  # an answer is none when its best lies below


FITS: Mapping[str, Fit] = {
    "all-MiniLM-L6-v2": Fit(score=7.05, lead=6.77, constant=-5.14, least=0.02)
}
"""By the name of the embedding model: cosines of another model mean something else."""


def fit_of(model_key: str) -> Fit | None:
    """The fit for a model, by its key (name, precision, digest); None when none was made."""
    return FITS.get(model_key.rsplit("/", 2)[0])


def confidence(score: float, lead: float, fit: Fit) -> float:
    """How likely a result with this fused score answers the query; rises with both."""
    logit = fit.score * score + fit.lead * lead + fit.constant
    return 0.5 + 0.5 * math.tanh(logit / 2)
