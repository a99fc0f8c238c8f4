"""Texts made fit for people: counts, sizes, and no secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeVar


def counted(count: int, one: str, many: str = "") -> str:
    """Return a count with the word for what it counts."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listed(words: Iterable[str]) -> str:
    """List words, each in quotes."""
    return ", ".join(f'"{word}"' for word in words)


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
    """Remove the names, passwords and keys from the addresses in a text.

    Which parameter of an address is a key cannot be known, so none of their values is shown. A
    password may hold any character, so everything up to the last @ is hidden.
    """
    return _ADDRESS.sub(_hidden, text) if "://" in text else text


def hide_in_value(value: _Value) -> _Value:
    """Write the value of a setting as it may be shown: a text, a list of texts, or anything."""
    if isinstance(value, str):
        return hide_secrets(value)  # type: ignore[return-value]  # a text for a text
    if isinstance(value, tuple):
        return tuple(hide_in_value(one) for one in value)  # type: ignore[return-value]  # as above
    return value


def _hidden(address: re.Match[str]) -> str:
    user, at, place = address["rest"].rpartition("@")
    start, mark, query = place.partition("?")
    shown = f"{HIDDEN}{at}{start}" if user or at else start
    if query:
        query = _VALUE.sub(f"={HIDDEN}", query) if "=" in query else HIDDEN
    return f"{address['scheme']}{shown}{mark}{query}"


def encodable(text: str) -> str:
    """Replace the halves of character pairs, which broken files contain, by `?`."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


_COMMAND = re.compile(r"(?:: |`)(?:dowse|chmod|mv|pip|export) ")
_NOT_HERE = "This can be fixed at the command line of dowse."


def without_commands(hint: str) -> str:
    """Return the advice of an error for programs, which have no command line to type it into."""
    kept = [
        # "Name a model, or set it with: dowse config set …" says something without its end.
        f"{one.rpartition(', ')[0]}." if _COMMAND.search(one) else one
        for one in re.split(r"(?<=[.!?]) ", hint)
    ]
    said = " ".join(one for one in kept if one != "." and not _COMMAND.search(one))
    return said or (_NOT_HERE if hint else "")


# ── What a terminal can be shown ────────────────────────────────────────────────

# C1 controls and DEL; marks that turn round the order of what is read; separators of lines, which
# some terminals obey; marks that nothing shows: word joiners, annotations, tags.
_MISLEADING = (
    "\x7f-\x9f"
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
    "\u2028\u2029"
    "\u180e\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff"
)

# What must not reach a terminal; tabs and line feeds may.
_UNSAFE = re.compile(f"[\x00-\x08\x0b-\x1f{_MISLEADING}\ud800-\udbff]")
_IN_JSON = re.compile(f"[{_MISLEADING}\u200b-\u200d]")  # JSON itself escapes the others


def safe(text: str) -> str:
    """Replace the characters that would do something else than be seen."""
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text)


def escaped(text: str) -> str:
    """Write every character of JSON that cannot be seen as its number."""
    return _IN_JSON.sub(_numbered, text)


def _numbered(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))
