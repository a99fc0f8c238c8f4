"""What an export may set for the project that is made from it: this table, and nothing else.

An export comes from somebody else. Nothing in it may choose what is read, which program is asked
or which secret is sent along, so every setting that is taken is listed here with its reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dowse._config.schema import known_settings
from dowse._embed.open import known_models
from dowse._model import Stamp
from dowse._project.archive.records import Manifest
from dowse._project.stamp import takes_vectors
from dowse.errors import Damaged

_CHUNKS = "A vector is found by the text of its chunk: cut in another way, none would fit."
_TERMS = "The index was checked with these terms: other rules would rank otherwise."

MAY_SET: Mapping[str, str] = {
    "embed.model": "Vectors fit queries of their own model only; a known name, never a place.",
    "embed.precision": "It belongs to the model; one of three words.",
    "chunk.strategy": _CHUNKS,
    "chunk.section_max": _CHUNKS,
    "chunk.section_min": _CHUNKS,
    "chunk.chunk_max": _CHUNKS,
    "chunk.chunk_min": _CHUNKS,
    "chunk.chunk_goal": _CHUNKS,
    "chunk.overlap": _CHUNKS,
    "chunk.fixed_size": _CHUNKS,
    "chunk.fixed_overlap": _CHUNKS,
    "chunk.context": _CHUNKS,
    "keyword.language": _TERMS,
    "keyword.stemming": _TERMS,
    "keyword.stopwords": _TERMS,
    "keyword.tokenizer": _TERMS,
    "keyword.title": _TERMS,
    "keyword.headers": _TERMS,
    "keyword.keywords": _TERMS,
    "keyword.description": _TERMS,
    "keyword.tags": _TERMS,
    "keyword.aliases": _TERMS,
    "keyword.author": _TERMS,
    "keyword.category": _TERMS,
    "keyword.content": _TERMS,
}
"""Every setting that an export may bring, and why it is taken."""

_TABLES = ("chunk", "keyword")  # of the stamp
_MOST_DIMENSIONS = 65_536
_LONGEST_TEXT = 200  # characters of a value, and of the name of a model


def carried(manifest: Manifest) -> dict[str, Any]:
    """The settings that an export brings."""
    _check_stamp(manifest.stamp)
    asked = dict(_asked(manifest))
    if asked.get("embed.model") not in known_models():
        asked = {name: value for name, value in asked.items() if not name.startswith("embed.")}
    return {name: _plain(name, value) for name, value in asked.items() if name in MAY_SET}


def left_aside(manifest: Manifest) -> list[str]:
    """The settings that an export asks for and does not get, by name."""
    asked = {f"embed.{option}" for option in manifest.embed}
    return sorted(name for name in asked - MAY_SET.keys() if name in known_settings())


def _asked(manifest: Manifest) -> Iterator[tuple[str, Any]]:
    tables = {name: manifest.stamp.get(name, {}) for name in _TABLES} | {"embed": manifest.embed}
    for section, table in tables.items():
        for option, value in table.items():
            yield f"{section}.{option}", value


def _plain(name: str, value: Any) -> Any:
    """A value that is a number, a switch or a short word, as all settings in the table are."""
    if isinstance(value, str | int | float) and len(str(value)) <= _LONGEST_TEXT:
        return value
    raise _unfit(f"{name} is no number and no word")


def _check_stamp(stamp: Stamp) -> None:
    model, dimensions = stamp.get("model"), stamp.get("dimensions")
    if not isinstance(model, str) or not model.isprintable() or len(model) > _LONGEST_TEXT:
        raise _unfit("its model has no name")
    if isinstance(dimensions, bool) or not isinstance(dimensions, int):
        raise _unfit("it does not say how long its vectors are")
    if not 0 <= dimensions <= _MOST_DIMENSIONS or bool(dimensions) != takes_vectors(stamp):
        raise _unfit(f"its vectors cannot have {dimensions} dimensions")
    if not all(isinstance(stamp.get(name, {}), dict) for name in _TABLES):
        raise _unfit("it does not say how it was cut")


def _unfit(what: str) -> Damaged:
    return Damaged(f"The export does not say what it was made with: {what}.", "Export it again.")
