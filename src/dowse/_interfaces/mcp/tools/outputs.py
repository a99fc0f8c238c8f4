"""What tools give back: which fields of dowse's records, and the JSON Schema of that.

Written down rather than derived, so that tools can be listed before the engine is loaded; a test
compares it with the records. Every conversation pays for what the schemas say, so a schema
names only what is always there.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
"""A JSON object."""

_STRING: Json = {"type": "string"}
_STRINGS: Json = {"type": "array", "items": _STRING}
_INTEGER: Json = {"type": "integer"}

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
"""What a search always gives of a `HitRecord`; `reason`, `score`, `more`, `tags` and `stale` come
where there is something to say."""

PASSAGE: Json = {
    "document": _STRING,
    "title": _STRING,
    "first_line": _INTEGER,
    "last_line": _INTEGER,
    "total_lines": _INTEGER,
    "text": _STRING,
}
"""What reading gives of a `PassageRecord`."""

NEIGHBOUR: Json = {"document": _STRING, "title": _STRING, "score": {"type": "number"}}
"""What is told of a `NeighbourRecord`."""

PROJECT: Json = {"name": _STRING, "roots": _STRINGS, "description": _STRING}
"""What is told of a `ProjectRecord`."""


LISTED: Json = {"id": _STRING, "title": _STRING, "modified": _STRING, "links_in": _INTEGER}
"""What is told of a `DocumentRecord` in a list."""


def _schema(*required: str) -> Json:
    return {"type": "object", "required": ["project", "about", *required, "notices"]}


SEARCH = _schema("hits")
"""What searching gives; `nearest` comes without hits, `removed` where conditions exclude better."""

PASSAGES = _schema("passages")
"""What `get_document` gives."""

RELATED = _schema("document", "links_to", "linked_from", "community", "similar", "dangling")
"""What `related_documents` gives."""

BROWSED = _schema("folders", "tags", "fields")
"""What `browse` gives; with a path also `documents` and their `total`."""

RECENT = _schema("documents", "total")
"""What `recent` gives."""

INFO: Json = {"type": "object", "required": ["projects", "missing", "notices"]}
"""What `project_info` gives."""
