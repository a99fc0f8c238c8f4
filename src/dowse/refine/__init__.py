"""One ranking → a better, shorter one. A file per stage: options, rule and what runs it.

Places are indexes into the ranking, best first, from 0.
"""

from dowse.refine.diversity import over_limit, select_diverse
from dowse.refine.duplicates import (
    fold_whitespace,
    repeats,
    semantic_duplicates,
)
from dowse.refine.rerank import reorder
from dowse.refine.trigrams import near_duplicates

__all__ = [
    "fold_whitespace",
    "near_duplicates",
    "over_limit",
    "reorder",
    "repeats",
    "select_diverse",
    "semantic_duplicates",
]
