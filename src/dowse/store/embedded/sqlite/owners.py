"""Which document each chunk belongs to, held once for all searches of a generation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np

from dowse.types import Keys


class Owners:
    """The chunks and their documents, loaded when a condition is first asked for."""

    def __init__(self) -> None:
        self._loaded: tuple[Keys, Keys] | None = None

    def get(self, load: Callable[[], Sequence[tuple[int, int]]]) -> tuple[Keys, Keys]:
        """The chunks, ascending, and the document of each; `load` gives pairs of both."""
        # Two threads may both load it; what they load is the same.
        if self._loaded is None:
            pairs = load()
            flat = np.fromiter(chain.from_iterable(pairs), np.int64, 2 * len(pairs))
            chunks, documents = flat[::2], flat[1::2]
            order = np.argsort(chunks)
            self._loaded = chunks[order], documents[order]
        return self._loaded
