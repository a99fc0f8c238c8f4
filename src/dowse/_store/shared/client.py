"""What the clients of search engines have in common: a quick look whether an engine is there."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dowse.errors import DowseError, EngineFailed

_REACH = 2.0  # seconds for an engine to answer at all
_FRESH = 1.0  # seconds in which an engine that has answered is not asked whether it lives

_ADDRESSES = re.compile(r"[\w.-]+:\d+")  # a port must not be read as the number of an error
_AGAIN = "Nothing is half done: run the command again once the engine is well."
_REASONS = (
    (
        r"unauthenticated|unauthorized|forbidden|auth check|api.?key|\b401\b|\b403\b",
        "it refused the key",
        "Put the right key into the environment variable that store.search_token_env names.",
    ),
    (
        r"deadline|timed out|timeout",
        "it did not answer in time",
        f"Raise store.timeout, or look at its load. {_AGAIN}",
    ),
    (
        r"unavailable|connect|refused|unreachable|resolv|closed channel|\beof\b",
        "it cannot be reached",
        f"Is it running, and is store.search right? {_AGAIN}",
    ),
    (
        r"read.?only|\bdeny|denied",
        "it takes no writes",
        f"Let it take writes again. {_AGAIN}",
    ),
    (
        r"no space|quota|disk full|memory limit|out of memory|exceeded|\b429\b",
        "it has no room left, or a quota is used up",
        f"Give it more room. {_AGAIN}",
    ),
    (
        r"unimplemented|not implemented|unsupported|unknown field|not supported|not (exist|found)",
        "it does not know what it is asked for",
        "Build its index again: dowse doctor --repair. It needs Milvus 2.5 or Qdrant 1.10.",
    ),
    (r"\b400\b|\b413\b", "it refused the request", "Look at the log of the engine."),
)


class EngineClient:
    """The client of an engine: opened when it is first used, and again after it was closed."""

    def __init__(
        self, place: str, open_client: Callable[[], Any], host: str = "", port: int = 0
    ) -> None:
        self.place = place
        self._open_client = open_client
        self._address = (host, port)
        self._turn = threading.RLock()
        self._opened: Any = None
        self._answered = 0.0

    @contextmanager
    def asking(self, action: str) -> Iterator[Any]:
        """The client; what it raises is translated, and an engine that is gone is noticed soon."""
        try:
            with self._turn:
                if self._address[0] and time.monotonic() - self._answered > _FRESH:
                    socket.create_connection(self._address, _REACH).close()
                if self._opened is None:
                    self._opened = self._open_client()
            yield self._opened
            self._answered = time.monotonic()
        except (DowseError, KeyboardInterrupt, GeneratorExit, AssertionError):
            raise
        except Exception as error:
            raise _translated(self.place, action, error) from error

    def close(self) -> None:
        """Close the connection."""
        with self._turn:
            if self._opened is not None:
                self._opened.close()
            self._opened = None


def _translated(place: str, action: str, error: Exception) -> EngineFailed:
    """Return what to say about an error of a client, by the words that it uses."""
    said = _ADDRESSES.sub("", f"{type(error).__name__} {error}".lower())
    what = f"The search engine at {place} could not {action}"
    for words, reason, hint in _REASONS:
        if re.search(words, said):
            return EngineFailed(f"{what}: {reason}.", hint)
    first = (str(error).strip() or type(error).__name__).splitlines()[0][:300]
    return EngineFailed(f"{what}: {first}", "Look at the log of the engine.")
