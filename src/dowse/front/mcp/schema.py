"""Records as structured content: a choice of their fields, and the JSON Schema of that choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

Json = dict[str, Any]
"""A JSON object."""

STRING: Json = {"type": "string"}
"""The schema of a text."""

STRINGS: Json = {"type": "array", "items": STRING}
"""The schema of a list of texts."""

OBJECTS: Json = {"type": "array", "items": {"type": "object"}}
"""The schema of a list of objects that are described elsewhere."""

_PLAIN: dict[Any, Json] = {
    str: STRING,
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
}


@dataclass(frozen=True, slots=True)
class Choice:
    """Some fields of a record, in this order; what is null is left out."""

    record: type
    names: tuple[str, ...]

    def of(self, value: object) -> Json:
        """The chosen fields of a record."""
        built: Json = msgspec.to_builtins(value)
        return {name: built[name] for name in self.names if built[name] is not None}

    def schema(self, more: Mapping[str, Json] | None = None) -> Json:
        """Its JSON Schema, with further properties."""
        hints = get_type_hints(self.record)
        return as_object({name: _schema(hints[name]) for name in self.names} | dict(more or {}))


def as_object(properties: Json, required: Sequence[str] = ()) -> Json:
    """The JSON Schema of an object; what it says is paid for with every list of tools."""
    schema: Json = {"type": "object", "properties": properties}
    return schema | ({"required": list(required)} if required else {})


def _may_be_null(hint: Any) -> bool:
    return get_origin(hint) is UnionType and NoneType in get_args(hint)


def _schema(hint: Any) -> Json:
    if _may_be_null(hint):
        hint = next(one for one in get_args(hint) if one is not NoneType)
    if hint in _PLAIN:
        return _PLAIN[hint]
    if is_dataclass(hint):
        hints = get_type_hints(hint)
        return as_object({one.name: _schema(hints[one.name]) for one in fields(hint)})
    if get_origin(hint) is tuple:
        return {"type": "array", "items": _schema(get_args(hint)[0])}
    return {"type": "object"}
