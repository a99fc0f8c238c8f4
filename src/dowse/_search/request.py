"""A search as a caller asks for it: made once at an interface, and passed whole to the pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from dowse._search.query.filters import Filters

NO_FILTERS = Filters()
"""Filters that let everything pass."""


class SearchRequest(Struct, frozen=True):
    """What is searched for, and how. Interfaces build it with `dowse._config.request`."""

    query: str
    filters: Filters = NO_FILTERS  # what must hold of every result
    changes: Mapping[str, Any] = field(default_factory=dict)  # settings for this call, by full name
    max_tokens: int | None = None  # of the texts that are returned; None: the interface's own limit
    offset: int = 0  # how many of the first results are skipped
