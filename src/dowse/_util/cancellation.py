"""Whether somebody still waits for the work at hand: long work asks, and stops when nobody does.

A thread cannot be ended from outside. A door that gives up on an answer says so here, and the
stages of the work look.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_given_up: ContextVar[threading.Event | None] = ContextVar("given_up", default=None)


class GivenUp(Exception):
    """Nobody waits for the answer any more; it reaches no user."""


@contextmanager
def until_given_up() -> Iterator[None]:
    """Work that is begun inside, also in other threads with a copy of the context, can be given up.

    It is given up when the body is left, by an answer or by a cancellation.
    """
    event = threading.Event()
    token = _given_up.set(event)
    try:
        yield
    finally:
        event.set()
        _given_up.reset(token)


def raise_if_cancelled() -> None:
    """Raises `GivenUp` when nobody waits for the work at hand any more."""
    event = _given_up.get()
    if event is not None and event.is_set():
        raise GivenUp
