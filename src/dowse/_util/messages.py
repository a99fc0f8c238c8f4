"""Texts made fit for people: counts, sizes, and no secrets."""

from __future__ import annotations

import re
from typing import TypeVar


def counted(count: int, one: str, many: str = "") -> str:
    """Return a count with the word for what it counts."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def size(count: float) -> str:
    """Return a number of bytes in the unit that reads best."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            break
        count /= 1000
    return f"{count:.0f} {unit}" if unit == "bytes" or count >= 100 else f"{count:.1f} {unit}"


HIDDEN = "***"
"""What is shown in the place of a secret."""

_ADDRESS = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{0,20}://)(?P<rest>[^\s\"'<>]+)")
_VALUE = re.compile(r"=[^&;#]*")

_Value = TypeVar("_Value")


def hide_secrets(text: str) -> str:
    """The text without the names, passwords and keys in its addresses.

    Which parameter of an address is a key cannot be known, so none of their values is shown. A
    password may hold any character, so everything up to the last @ is hidden.
    """
    return _ADDRESS.sub(_hidden, text) if "://" in text else text


def hide_in_value(value: _Value) -> _Value:
    """The value of a setting as it may be shown: a text, a list of texts, or anything else."""
    if isinstance(value, str):
        return hide_secrets(value)  # type: ignore[return-value]  # a text for a text
    if isinstance(value, tuple):
        return tuple(hide_in_value(one) for one in value)  # type: ignore[return-value]  # as above
    return value


def _hidden(address: re.Match[str]) -> str:
    user, at, place = address["rest"].rpartition("@")
    start, mark, query = place.partition("?")
    shown = f"{HIDDEN}{at}{start}" if user or at else start
    return f"{address['scheme']}{shown}{mark}{_query(query)}"


def _query(query: str) -> str:
    if not query:
        return ""
    return _VALUE.sub(f"={HIDDEN}", query) if "=" in query else HIDDEN


def encodable(text: str) -> str:
    """The text with halves of character pairs, which broken files contain, replaced by `?`."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
