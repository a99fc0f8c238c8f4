"""One ranking → a better, shorter one.

Places are indexes into the ranking, best first, from 0.
"""

from dowse.refine.diversify import select_diverse
from dowse.refine.limit import over_limit
from dowse.refine.near_duplicates import near_duplicates
from dowse.refine.repeats import fold_whitespace, repeats
from dowse.refine.rerank import reorder
from dowse.refine.semantic_duplicates import semantic_duplicates

__all__ = [
    "fold_whitespace",
    "near_duplicates",
    "over_limit",
    "reorder",
    "repeats",
    "select_diverse",
    "semantic_duplicates",
]
