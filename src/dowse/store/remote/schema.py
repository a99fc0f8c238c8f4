"""The two collections of an index: records of every kind, and the chunks of one epoch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from dowse.store.remote.rows import FieldKind, RowCollection

RecordKind = Literal["meta", "entry", "body", "words", "vector", "intent", "writer"]
"""What a record is: state of the index, a document's entry, a part of its body, counts of words,
the vector of a text, a batch under way, or who writes."""

_RECORD: Mapping[str, FieldKind] = {
    "key": "text",
    "kind": "text",  # with the epoch, where the record belongs to one
    "document": "text",  # the key of the document that it belongs to
    "number": "number",  # of an entry: its short id
    "tokens": "tokens",  # of an entry: the names it has, and those that its links look up
    "data": "text",
}

_CHUNK: Mapping[str, FieldKind] = {
    "key": "number",
    "document": "text",
    "version": "number",
    "number": "number",  # of its id
    "section": "number",  # of its section's id
    "embedded": "number",  # 1 when it has a vector
    "modified": "time",  # of its document
    "text_key": "text",
    "tokens": "tokens",  # its terms, names and facets
    "data": "text",
    "dense": "dense",
    "body": "sparse",
    "code": "sparse",
}

CHUNK_SCALARS = ("key", "document", "version", "data")
"""What is read of a chunk that was found."""


def records(name: str) -> RowCollection:
    """The collection of all records of an index."""
    return RowCollection(f"{name}_records", _RECORD)


def chunks(name: str, epoch: str, dimensions: int) -> RowCollection:
    """The collection of the chunks of an epoch."""
    # Engines take no vectors of one dimension; an index without a model has none at all.
    return RowCollection(f"{name}_chunks_{epoch}", _CHUNK, max(2, dimensions))
