"""From a source file to what it says."""

from __future__ import annotations

import hashlib

from dowse.read.convert import convert
from dowse.read.decode import decode
from dowse.read.formats import TEXT, kind_of
from dowse.read.options import ReadOptions
from dowse.read.safe_open import Unreadable, read_regular
from dowse.read.secrets import redact
from dowse.types import SourceFile, SourceText

__all__ = ["Unreadable", "load"]


def load(source: SourceFile, options: ReadOptions) -> SourceText:
    """Reads, and where needed converts, a file; `Unreadable` says why when it cannot be used."""
    # The id has the name that the walk judged: a link's target may have another ending.
    kind = kind_of(source.id.rpartition("/")[2]) or TEXT
    data = read_regular(source.path, options.limit(kind))
    text = decode(data) if kind == TEXT else convert(data, kind, options.convert_seconds)
    if len(text) > options.max_bytes:  # a small file can unpack to a text of any size
        raise Unreadable(
            f"Its text has {len(text):,} characters, the limit is {options.max_bytes:,}; split it, "
            "or raise read.max_bytes in the settings."
        )
    text, secrets = redact(text, options.redact)
    return SourceText(text, hashlib.sha256(data).hexdigest(), secrets)
