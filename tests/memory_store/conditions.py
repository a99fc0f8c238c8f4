"""Whether conditions hold, asked chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from dowse._model import CodeBlock, Condition, IndexedDocument
from dowse._text.matching import fold, matcher

Body = Sequence[tuple[str, int]]
"""The terms of a chunk with their positions."""


def holds(
    condition: Condition,
    indexed: IndexedDocument,
    blocks: Sequence[CodeBlock],
    body: Body,
) -> bool:
    """Whether a condition holds of a chunk, given its document, its code and its terms."""
    return _is_met(condition, indexed, blocks, body) != condition.negated


def _is_met(
    condition: Condition, indexed: IndexedDocument, blocks: Sequence[CodeBlock], body: Body
) -> bool:
    if condition.kind == "after":
        return indexed.modified >= condition.bound
    if condition.kind == "before":
        return indexed.modified < condition.bound
    if condition.kind == "phrase":
        return _has_phrase(condition.values, body)
    if condition.kind == "language":
        found: Collection[str] = [block.language for block in blocks]
    elif condition.kind == "field":
        return _has_field(condition, indexed)
    else:
        found = _FOUND[condition.kind](indexed)
    compare = _COMPARE.get(condition.kind, str.__eq__)
    return any(compare(fold(one), fold(value)) for one in found for value in condition.values)


def _has_field(condition: Condition, indexed: IndexedDocument) -> bool:
    meets = matcher(condition.sign, [fold(value) for value in condition.values])
    return any(
        meets(fold(value))
        for name, values in indexed.chunked.document.fields.properties
        if fold(name) == fold(condition.name)
        for value in values or ("",)
    )


def _has_phrase(terms: Sequence[str], body: Body) -> bool:
    placed = set(body)
    starts = {position for _, position in body} | {0}
    return any(
        all((term, start + step) in placed for step, term in enumerate(terms)) for start in starts
    )


def _fields(name: str) -> Callable[[IndexedDocument], Collection[str]]:
    def values(indexed: IndexedDocument) -> Collection[str]:
        value = getattr(indexed.chunked.document.fields, name)
        return [value] if isinstance(value, str) else list(value)

    return values


def _id(indexed: IndexedDocument) -> Collection[str]:
    return [indexed.chunked.document.id]


def _file_name(indexed: IndexedDocument) -> Collection[str]:
    return [indexed.chunked.document.id.rpartition("/")[2]]


def _ending(indexed: IndexedDocument) -> Collection[str]:
    name = indexed.chunked.document.id.rpartition("/")[2]
    stem, _, ending = name.rpartition(".")
    return [ending if stem.strip(".") else ""]  # a name may begin with dots and have no ending


_FOUND: Mapping[str, Callable[[IndexedDocument], Collection[str]]] = {
    "category": _fields("category"),
    "author": _fields("author"),
    "tag": _fields("tags"),
    "title": _fields("title"),
    "path": _id,
    "file": _file_name,
    "under": _id,
    "source": _ending,
}

_COMPARE: Mapping[str, Callable[[str, str], bool]] = {
    "author": lambda found, value: value in found,
    "title": lambda found, value: value in found,
    "path": lambda found, value: value in found,
    "file": lambda found, value: value in found,
    "under": lambda found, value: found.startswith(value),
    "tag": lambda found, value: found == value or found.startswith(value + "/"),
}
