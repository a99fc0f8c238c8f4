"""Conditions as statements that list what they cover; values are bound, never written in."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from msgspec.structs import replace

from dowse._model import Condition, Document, Keys
from dowse._model.ports import KeywordField
from dowse._store.membership import members
from dowse._store.sql.database import Statements
from dowse._text.fold import fold
from dowse._text.values import matcher
from dowse._util.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


# ── What conditions compare of a document, laid down when it is put ───────


Facet = tuple[str, str]
"""A kind of condition and a folded value that it can be compared with."""


SECRETS = "secrets"
"""The kind of the facet that keeps how many secrets were left out; no condition asks for it."""


def facets_of(document: Document) -> list[Facet]:
    """List the facets of a document, each once."""
    return sorted({(kind, fold(value)) for kind, value in _facets(document)})


def _facets(document: Document) -> Iterator[Facet]:
    fields = document.fields
    yield "title", fields.title
    yield "category", fields.category
    yield "path", document.id
    yield "file", posixpath.basename(document.id)
    yield "source", posixpath.splitext(document.id)[1].removeprefix(".")
    yield from (("author", author) for author in fields.author)
    for tag in fields.tags:
        yield "tag", tag
        yield from (("tag", tag[:place]) for place, sign in enumerate(tag) if sign == "/")
    if document.secrets:
        yield SECRETS, str(document.secrets)
    for name, values in fields.properties:
        yield from ((field_facet(name), value) for value in values or ("",))


def field_facet(name: str) -> str:
    """Name the kind of the facets that keep a field of the frontmatter."""
    return f"field:{fold(name)}"


_K = TypeVar("_K")
_V = TypeVar("_V")

Statement = tuple[str, *tuple[object, ...]]
"""A statement, then the values bound to it."""

Phrase = Callable[[KeywordField, Sequence[str]], Keys]
"""Finds the chunks in which some terms follow each other."""

Met: TypeAlias = "NDArray[np.bool_]"
"""Whether a condition covers each chunk."""

_REMEMBERED = 16  # conditions; each takes a byte for every chunk
_ANSWERED = 4  # combinations of conditions; each takes eight bytes for every chunk that meets them
_EQUAL = {"category", "tag", "source"}
_BEGINS = {"under": "path"}
_DATED = {"after": ">=", "before": "<"}


class Owners:
    """The chunks of a generation and their documents, loaded when a condition is first asked for.

    It remembers what the last conditions covered, each of them and all together.
    """

    def __init__(self) -> None:
        self._loaded: tuple[Keys, Keys] | None = None
        self._met: dict[Condition, Met] = {}  # the oldest first
        self._answers: dict[tuple[Condition, ...], Keys] = {}  # the oldest first

    def get(self, load: Callable[[], Sequence[Keys]]) -> tuple[Keys, Keys]:
        """Give the chunks, ascending, and the document of each; `load` gives both in any order."""
        # Two threads may both load it; what they load is the same.
        if self._loaded is None:
            chunks, documents = load()
            order = np.argsort(chunks, kind="stable")
            self._loaded = chunks[order], documents[order]
        return self._loaded

    def met(self, condition: Condition, find: Callable[[], Met]) -> Met:
        """Tell which chunks a condition covers; `find` says it when it was not asked lately."""
        return _remembered(self._met, replace(condition, negated=False), find, _REMEMBERED)

    def answer(self, conditions: Sequence[Condition], find: Callable[[], Keys]) -> Keys:
        """Find the chunks that meet all conditions; `find` says it when it was not asked lately."""
        return _remembered(self._answers, tuple(conditions), find, _ANSWERED)


def _remembered(memory: dict[_K, _V], key: _K, find: Callable[[], _V], most: int) -> _V:
    found = memory.get(key)
    if found is None:
        found = find()
        # A page asks the same with every key that is pressed. What another thread removes in the
        # same moment is not needed.
        for oldest in list(memory)[: len(memory) + 1 - most]:
            memory.pop(oldest, None)
        memory[key] = found
    return found


def matching(
    sql: Statements, phrase: Phrase, owners: Owners, conditions: Sequence[Condition]
) -> Keys:
    """Find the chunks of one generation for which every condition holds, ascending."""
    plain = [replace(condition, written="") for condition in conditions]
    return owners.answer(plain, partial(_matching, sql, phrase, owners, plain))


def _matching(
    sql: Statements, phrase: Phrase, owners: Owners, conditions: Sequence[Condition]
) -> Keys:
    # By document, so that SQLite reads an index and not the chunks themselves.
    query = "SELECT key, document FROM chunks ORDER BY document, key"
    keys, documents = owners.get(lambda: sql.columns(("key", "document"), query))
    kept = np.ones(len(keys), dtype=bool)
    for condition in conditions:
        find = partial(_find, sql, phrase, keys, documents, condition)
        kept &= owners.met(condition, find) != condition.negated
    answer = keys[kept]
    answer.flags.writeable = False  # it is remembered
    return answer


def _find(
    sql: Statements, phrase: Phrase, keys: Keys, documents: Keys, condition: Condition
) -> Met:
    if condition.kind == "phrase":
        return members(keys, phrase("body", condition.values))
    if condition.kind == "language":
        return members(keys, sql.keys(*_chunks_with(condition)))
    if condition.kind == "field":
        return members(documents, _documents_with_field(sql, condition))
    return members(documents, sql.keys(*_documents_with(condition)))


def _chunks_with(condition: Condition) -> Statement:
    """List the chunks that a condition on chunks covers: one on the language of code."""
    values = _folded(condition)
    return f"SELECT chunk FROM code_blocks WHERE language IN ({_marks(values)})", *values


def _documents_with(condition: Condition) -> Statement:
    """List the documents that a condition on documents covers."""
    if condition.kind in _DATED:
        sign = _DATED[condition.kind]
        return f"SELECT key FROM documents WHERE modified {sign} ?", condition.bound
    kind, values = _BEGINS.get(condition.kind, condition.kind), _folded(condition)
    if condition.kind in _EQUAL:
        meets = f"value IN ({_marks(values)})"
    else:
        place = "= 1" if condition.kind in _BEGINS else "> 0"
        meets = " OR ".join([f"instr(value, ?) {place}"] * len(values)) or "FALSE"
    bound = (kind, *values)
    return f"SELECT document FROM facets WHERE kind = ? AND ({meets})", *bound


def _documents_with_field(sql: Statements, condition: Condition) -> Keys:
    """Find the documents whose frontmatter has a field that meets a condition.

    Each value is compared once, however many documents have it.
    """
    kind, meets = field_facet(condition.name), matcher(condition.sign, _folded(condition))
    known = sql.rows(tuple[str], "SELECT DISTINCT value FROM facets WHERE kind = ?", kind)
    met = json.dumps([value for (value,) in known if meets(value)])
    return sql.keys(
        "SELECT DISTINCT document FROM facets WHERE kind = ?"
        " AND value IN (SELECT value FROM json_each(?))",
        kind,
        met,
    )


def _folded(condition: Condition) -> tuple[str, ...]:
    return tuple(fold(value) for value in condition.values)


def _marks(values: tuple[str, ...]) -> str:
    return ", ".join("?" * len(values))
