"""A stage, and the clock that times it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

Work = TypeVar("Work")


@dataclass(frozen=True, slots=True)
class Stage(Generic[Work]):
    """One named step of a flow: it changes the work that is handed along."""

    name: str
    run: Callable[[Work], None]
    wanted: Callable[[Work], bool] | None = None  # None: it always runs


class Clock:
    """Adds up how long each stage took, over all the times it ran."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def timing(self, stage: str) -> Iterator[None]:
        """Times what happens inside."""
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - start
            self.seconds[stage] = self.seconds.get(stage, 0.0) + spent
