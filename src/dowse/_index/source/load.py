"""From a source file to what it says."""

from __future__ import annotations

import hashlib

from dowse._index.source.canvas import canvas_text
from dowse._index.source.convert import convert
from dowse._index.source.decode import decode, decode_any
from dowse._index.source.formats import CANVAS, TEXT, kind_of
from dowse._index.source.options import ReadOptions
from dowse._index.source.safe_open import Unreadable, read_regular
from dowse._index.source.secrets import redact
from dowse._model import SourceFile, SourceText
from dowse._util.deadline import Deadline

__all__ = ["Unreadable", "load"]


def load(source: SourceFile, options: ReadOptions) -> SourceText:
    """Reads, and where needed converts, a file; `Unreadable` says why when it cannot be used.

    Raises `TookTooLong` when what is computed here takes longer than `read.file_seconds`.
    """
    # The id has the name that the walk judged: a link's target may have another ending.
    kind = kind_of(source.id.rpartition("/")[2]) or TEXT
    data = read_regular(source.path, options.limit(kind))
    text, encoding = _read(data, kind, options)
    if len(text) > options.max_bytes:  # a small file can unpack to a text of any size
        raise Unreadable(
            f"Its text has {len(text):,} characters, the limit is {options.max_bytes:,}; split it, "
            "or raise read.max_bytes in the settings."
        )
    text, secrets = redact(text, options.redact)
    return SourceText(text, hashlib.sha256(data).hexdigest(), secrets, encoding)


def _read(data: bytes, kind: str, options: ReadOptions) -> tuple[str, str]:
    """The text, and its encoding where that was recognised by its bytes."""
    if kind == TEXT:
        return decode_any(data)
    if kind == CANVAS:
        return canvas_text(decode(data), Deadline(options.file_seconds)), ""
    if kind == "csv":
        text, encoding = decode_any(data)
        return convert(text.encode(), kind, options.convert_seconds), encoding
    return convert(data, kind, options.convert_seconds), ""
