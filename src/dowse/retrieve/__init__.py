"""Query → rankings: what is asked, and how each strategy ranks the chunks in its own way.

`strategies` is the table. Loading it, as every door does, takes no numpy.
"""

from dowse.retrieve.filters import MOST_VALUES, Filters
from dowse.retrieve.graph import one_per_document
from dowse.retrieve.strategies import MODES, STRATEGIES, Mode, SearchMode, Strategy, modes_explained

__all__ = [
    "MODES",
    "MOST_VALUES",
    "STRATEGIES",
    "Filters",
    "Mode",
    "SearchMode",
    "Strategy",
    "modes_explained",
    "one_per_document",
]
