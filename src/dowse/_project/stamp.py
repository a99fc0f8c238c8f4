"""The stamp of an index: what it was built with, so that old and new are never mixed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from dowse._index.chunk.options import ChunkOptions
from dowse._index.source.options import ReadOptions
from dowse._model import CHUNK_VERSION, EMBEDDING_TEXT_VERSION, PARSE_VERSION, Stamp
from dowse._model.ports import Analyzer, Embedder
from dowse.errors import EmbedError

_NO_MODEL: Stamp = {"model": "none", "dimensions": 0}
# What every index was built with before there was a choice: such an index can still be used.
_BEFORE_IT_WAS_RECORDED = {"chunk.context": "title"}


class ExpectedStamp(Struct, frozen=True):
    """The stamp that the settings ask for."""

    text: Stamp  # how documents are understood, cut and analysed
    model: Stamp  # which model makes the vectors; empty when it cannot be had
    why_no_model: str  # the reason, when there ought to be one

    @property
    def whole(self) -> Stamp:
        """Return the stamp of a new index."""
        return _NO_MODEL | self.model | self.text

    def mismatches(self, stamp: Stamp) -> list[str]:
        """Say where an index differs, in sentences.

        A model that cannot be had makes no vectors that could be mixed, so it is no difference.
        """
        known = _BEFORE_IT_WAS_RECORDED | dict(_flat(stamp))
        return [
            f"{name}: the index has {known.get(name)!r}, the settings say {value!r}."
            for name, value in _flat(self.model | self.text)
            if known.get(name) != value
        ]


def expected_stamp(
    read: ReadOptions, chunk: ChunkOptions, analyzer: Analyzer, embedder: Embedder | None
) -> ExpectedStamp:
    """Return the stamp for these settings and parts."""
    text: Stamp = {
        "chunk": {"version": CHUNK_VERSION, **asdict(chunk)},
        "keyword": dict(analyzer.stamp),
        "parse": {"version": PARSE_VERSION},
        "read": {"redact": sorted(set(read.redact))},
    }
    if embedder is None:
        return ExpectedStamp(text, _NO_MODEL, "")
    try:
        model = embedder.model
    except EmbedError as error:
        return ExpectedStamp(text, {}, str(error))
    made_by: Stamp = {
        "model": model.key,
        "dimensions": model.dimensions,
        "embedding_text": EMBEDDING_TEXT_VERSION,
    }
    return ExpectedStamp(text, made_by, "")


def takes_vectors(stamp: Stamp) -> bool:
    """Tell whether an index was built to hold vectors."""
    return bool(stamp["model"] != _NO_MODEL["model"])


def _flat(stamp: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """List the values of a stamp by their full names, as a message can show them."""
    for name, value in stamp.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
