"""Query → rankings: what is asked, and how each strategy ranks the chunks in its own way.

`strategies` is the table. Loading it, as every door does, takes no numpy.
"""

from dowse.retrieve.filters import Filters, moment_said
from dowse.retrieve.graph import one_per_document
from dowse.retrieve.readable import trust_as_far_as_embedded
from dowse.retrieve.strategies import MODES, STRATEGIES, Mode, SearchMode, Strategy, modes_explained

__all__ = [
    "MODES",
    "STRATEGIES",
    "Filters",
    "Mode",
    "SearchMode",
    "Strategy",
    "modes_explained",
    "moment_said",
    "one_per_document",
    "trust_as_far_as_embedded",
]
