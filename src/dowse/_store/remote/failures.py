"""Lets no error of an engine's client leave the store untranslated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from dowse.errors import DowseError, EngineFailed

_DOWN = r"unavailable|connect|refused|unreachable|resolv|closed channel|\beof\b"
_SLOW = r"deadline|timed out|timeout"
_KEY = r"unauthenticated|unauthorized|forbidden|auth check|api.?key|\b401\b|\b403\b"
_READ_ONLY = r"read.?only|\bdeny|denied"
_FULL = r"no space|quota|disk full|memory limit|out of memory|exceeded|\b429\b"
_OLD = r"unimplemented|not implemented|unsupported|unknown field|not supported"
_ADDRESSES = re.compile(r"[\w.-]+:\d+")  # a port must not be read as the number of an error


@contextmanager
def engine_errors(place: str, action: str) -> Iterator[None]:
    """Translates whatever a client raises while it does something with an engine."""
    try:
        yield
    except (DowseError, KeyboardInterrupt, GeneratorExit, AssertionError):
        raise
    except Exception as error:
        raise translated(place, action, error) from error


def translated(place: str, action: str, error: Exception) -> EngineFailed:
    """What to say about an error of a client, by the words that it uses."""
    said = _ADDRESSES.sub("", f"{type(error).__name__} {error}".lower())
    what = f"The engine at {place} could not {action}"
    for words, reason, hint in _REASONS:
        if re.search(words, said):
            return EngineFailed(f"{what}: {reason}.", hint)
    return EngineFailed(f"{what}: {_first_line(error)}", "Look at the engine's own log.")


_AGAIN = "Nothing is half done: run the command again once the engine is well."

_REASONS = (
    (
        _KEY,
        "it refused the key",
        "Put the right key into the environment variable that store.token_env names.",
    ),
    (_SLOW, "it did not answer in time", f"Raise store.timeout, or look at its load. {_AGAIN}"),
    (_DOWN, "it cannot be reached", f"Is it running, and is store.url right? {_AGAIN}"),
    (_READ_ONLY, "it takes no writes", f"Let it take writes again. {_AGAIN}"),
    (_FULL, "it has no room left, or a quota is used up", f"Give it more room. {_AGAIN}"),
    (
        _OLD,
        "it does not know what it is asked for",
        "Use a newer engine: Milvus from 2.5 on, or Qdrant from 1.10 on.",
    ),
)


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:300]
