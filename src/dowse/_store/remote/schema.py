"""The collections of an index: its state, records of every kind, and the chunks of one epoch."""

from __future__ import annotations

from collections.abc import Mapping

from dowse._store.remote.rows import FieldKind, RowCollection

# Kinds of records: entry (a document), body (a part of its text), words (counts of them), vector
# (of a text). In the collection of the state: meta, intent (a batch under way), writer.
_RECORD: Mapping[str, FieldKind] = {
    "key": "text",
    "kind": "text",  # with the epoch, where the record belongs to one
    "document": "text",  # the key of the document that it belongs to
    "number": "number",  # of an entry: its short id
    "tokens": "tokens",  # of an entry: the names it has, and those that its links look up
    "file": "text",  # of an entry: what is known of its file, so that a scan reads little
    "data": "text",
}

NEVER_ASKED = frozenset({"key", "file", "data", "version"})
"""Fields that no filter names, so that they need no index."""

LONG = frozenset({"file", "data"})
"""Texts that may be long."""

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


def state(name: str) -> RowCollection:
    """The collection of what holds of an index: few rows that are read and replaced often."""
    return RowCollection(f"{name}_state", _RECORD)


def records(name: str) -> RowCollection:
    """The collection of all documents and vectors of texts of an index."""
    return RowCollection(f"{name}_records", _RECORD)


def chunks(name: str, epoch: str, dimensions: int) -> RowCollection:
    """The collection of the chunks of an epoch."""
    # Engines take no vectors of one dimension; an index without a model has none at all.
    return RowCollection(f"{name}_chunks_{epoch}", _CHUNK, max(2, dimensions))
