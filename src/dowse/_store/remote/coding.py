"""Records as texts that fit into rows: packed, compressed, and cut where they are too long."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from dowse._store.remote.rows import TEXT
from dowse.errors import Damaged

_Record = TypeVar("_Record")


def encode(record: object) -> str:
    """A record as a text of ASCII letters."""
    packed = zlib.compress(msgspec.msgpack.encode(record), 6)
    return base64.b64encode(packed).decode("ascii")


def decode(text: str, kind: type[_Record]) -> _Record:
    """The record in a text; raises `Damaged` when it holds none."""
    try:
        return msgspec.msgpack.decode(zlib.decompress(base64.b64decode(text)), type=kind)
    except (ValueError, zlib.error, msgspec.MsgspecError) as error:
        raise _damaged(error) from error


def decode_json(text: str, kind: type[_Record]) -> _Record:
    """The record in a text of JSON; raises `Damaged` when it holds none."""
    try:
        return msgspec.json.decode(text, type=kind)
    except (ValueError, msgspec.MsgspecError) as error:
        raise _damaged(error) from error


def _damaged(error: Exception) -> Damaged:
    return Damaged(
        f"The index holds a record that cannot be read: {error}.",
        "Rebuild it with: dowse index --rebuild",
    )


def decode_any(text: str) -> Any:
    """The plain values in a text."""
    return decode(text, object)


def parts_of(text: str) -> list[str]:
    """A text in parts that fit into a row."""
    return [text[start : start + TEXT] for start in range(0, len(text), TEXT)] or [""]


def joined(parts: Sequence[str]) -> str:
    """The text of these parts."""
    return "".join(parts)
