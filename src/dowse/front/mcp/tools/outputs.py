"""What tools give back: which fields of dowse's records, and the JSON Schema of that.

Written down rather than derived, so that tools can be listed before the engine is loaded; a test
holds it to the records. What a schema says is paid for with every list of tools: fields that may
be missing, and objects that are described elsewhere, are not spelled out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]
"""A JSON object."""

_STRING: Json = {"type": "string"}
_STRINGS: Json = {"type": "array", "items": _STRING}
_INTEGER: Json = {"type": "integer"}
_OBJECT: Json = {"type": "object"}
_OBJECTS: Json = {"type": "array", "items": _OBJECT}

HIT: Json = {
    "rank": _INTEGER,
    "match": _STRING,
    "id": _STRING,
    "document": _STRING,
    "title": _STRING,
    "header_path": _STRINGS,
    "line": _INTEGER,
    "first_line": _INTEGER,
    "last_line": _INTEGER,
    "modified": _STRING,
    "text": _STRING,
}
"""What a search always gives of a `HitShape`; `reason`, `score`, `more`, `tags` and `stale` come
where there is something to say."""

PASSAGE: Json = {
    "document": _STRING,
    "title": _STRING,
    "first_line": _INTEGER,
    "last_line": _INTEGER,
    "total_lines": _INTEGER,
    "text": _STRING,
}
"""What reading gives of a `PassageShape`."""

NEIGHBOUR: Json = {"document": _STRING, "title": _STRING, "score": {"type": "number"}}
"""What is told of a `NeighbourShape`."""

PROJECT: Json = {"name": _STRING, "roots": _STRINGS, "description": _STRING}
"""What is told of a `ProjectShape`."""


def _object(properties: Json, required: Sequence[str] = ()) -> Json:
    schema: Json = {"type": "object", "properties": properties}
    return schema | ({"required": list(required)} if required else {})


def briefly(schema: Json) -> Json:
    """The schema for a tool whose output is described elsewhere: what is always there."""
    return {"type": "object", "required": schema["required"]}


def _list(fields: Json) -> Json:
    return {"type": "array", "items": _object(fields)}


_URI: Json = {"uri": _STRING}
_SOURCE: Json = {"project": _STRING, "about": _STRING}


def _search(hits: Json) -> Json:
    properties = {**_SOURCE, "query": _STRING, "hits": hits, "notices": _STRINGS}
    return _object(properties, ("project", "about", "hits", "notices", "statistics"))


SEARCH = _search(_list(HIT | _URI))
"""What `query_documents` gives; `nearest` and `removed` come where there are no hits."""

BRIEF_SEARCH = _search(_OBJECTS)
"""The same for a tool whose hits are known from another one."""

PASSAGES = _object(
    {**_SOURCE, "passages": _list(PASSAGE | _URI), "notices": _STRINGS},
    ("project", "about", "passages", "notices"),
)
"""What `get_document` gives."""

RELATED = _object(
    {
        **_SOURCE,
        "document": _STRING,
        "title": _STRING,
        "links_to": _list(NEIGHBOUR | _URI),
        "linked_from": _OBJECTS,
        "community": _OBJECTS,
        "similar": _OBJECTS,
        "dangling": _STRINGS,
    },
    ("project", "about", "document"),
)
"""What `related_documents` gives."""

INFO = _object(
    {
        "projects": _list(PROJECT),
        "project": _STRING,
        "model": _STRING,
        "status": _OBJECT,
        "job": _OBJECT,
        "missing": _STRINGS,
        "notices": _STRINGS,
    },
    ("projects", "missing", "notices"),
)
"""What `project_info` gives."""
