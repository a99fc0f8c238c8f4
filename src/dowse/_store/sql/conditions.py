"""Conditions: the facets of a document that they compare, and the chunks that they cover.

Values are bound to statements, never written into them.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from msgspec.structs import replace

from dowse._model import Condition, Document, Keys
from dowse._model.ports import KeywordField
from dowse._store.membership import members
from dowse._store.sql.database import Statements
from dowse._text.matching import fold, matcher
from dowse._util.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


# ── What conditions compare ───────────────────────────────────────────────

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


# ── Which chunks conditions cover ─────────────────────────────────────────

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


class ConditionCache:
    """What conditions cover in one generation: each of the last ones, and the last combinations.

    A page asks the same with every key that is pressed. Threads may share it: what two of them find
    at once is the same.
    """

    def __init__(self) -> None:
        self._owners: tuple[Keys, Keys] | None = None  # the chunks, ascending; the document of each
        self._met: dict[Condition, Met] = {}
        self._answers: dict[tuple[Condition, ...], Keys] = {}

    def matching(self, sql: Statements, phrase: Phrase, conditions: Sequence[Condition]) -> Keys:
        """Find the chunks for which every condition holds, ascending."""
        plain = tuple(replace(condition, written="") for condition in conditions)
        answer = self._answers.get(plain)
        if answer is None:
            keys, documents = self._load_owners(sql)
            kept = np.ones(len(keys), dtype=bool)
            for condition in plain:
                positive = replace(condition, negated=False)
                met = self._met.get(positive)
                if met is None:
                    met = _met(sql, phrase, keys, documents, condition)
                    _remember(self._met, positive, met, _REMEMBERED)
                kept &= met != condition.negated
            answer = keys[kept]
            answer.flags.writeable = False
            _remember(self._answers, plain, answer, _ANSWERED)
        return answer

    def _load_owners(self, sql: Statements) -> tuple[Keys, Keys]:
        if self._owners is None:
            # By document, so that SQLite reads an index and not the chunks themselves.
            query = "SELECT key, document FROM chunks ORDER BY document, key"
            chunks, documents = sql.columns(("key", "document"), query)
            order = np.argsort(chunks, kind="stable")
            self._owners = chunks[order], documents[order]
        return self._owners


def _remember(memory: dict[_K, _V], key: _K, found: _V, most: int) -> None:
    # The oldest goes first. What another thread removes in the same moment is not needed.
    for oldest in list(memory)[: len(memory) + 1 - most]:
        memory.pop(oldest, None)
    memory[key] = found


def _met(sql: Statements, phrase: Phrase, keys: Keys, documents: Keys, condition: Condition) -> Met:
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
