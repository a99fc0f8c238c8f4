"""What a query means: words to search for, and conditions that its signs set."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest

from msgspec import Struct
from msgspec.structs import replace

from dowse._model import Condition, ConditionKind, Fields, Query
from dowse._model.ports import Analyzer
from dowse._search.conditions import leaves
from dowse._search.query.parser import (
    FIELDS,
    SCOPES,
    Node,
    QueryGroup,
    QueryPiece,
    arrange,
    is_shouted_not,
    lex,
)
from dowse._text.dates import day_of, moment_of
from dowse._text.matching import Sign
from dowse.errors import UsageError

MOST_TERMS = 512
"""How many terms of a query are searched for; nobody types more, and pasted pages are cut."""

COMPLETIONS = 20
"""How many words one `auth*` demands any of, where an operator demands it."""

_MOST_CONDITIONS = 64  # what one statement of a store takes without strain
_SENTENCE = 4  # words outside quotes that make a query a sentence
_MOST_NAMED = 3  # unknown operators that a notice names
_QUOTES = '"“”„«»「」『』'
_ELSEWHERE = frozenset({"task", "task-todo", "task-done", "match-case", "ignore-case"})
_REGEX_SIGNS = re.compile(r"\\[a-zA-Z]|\W|\d")
_OPERATORS = ", ".join(f"{name}:" for name in sorted({*FIELDS.values(), "section", "line"}))


class Known(Struct, frozen=True):
    """What must be known of the documents to understand a query."""

    has_field: Callable[[str], bool] = lambda _: False  # whether any frontmatter has this field
    beginning: Callable[[str], Sequence[str]] = lambda _: ()  # words that begin so
    now: float = 0.0  # seconds since 1970


_NOTHING_KNOWN = Known()


def understand(text: str, analyzer: Analyzer, known: Known = _NOTHING_KNOWN) -> Query:
    """Read a text as a query; every text is one, and signs that make no sense are words."""
    meanings = list(_Interpreter(analyzer, known).meanings(arrange(lex(text))))
    words = " ".join(one.text for one in meanings if one.text)
    terms = analyzer.query_terms(words)
    code_terms = distinct(term for term, _ in analyzer.code_terms(words))
    meanings = _soften(meanings, analyzer)
    conditions: dict[Condition, Condition] = {}
    for one in meanings:
        if one.condition:
            conditions.setdefault(replace(one.condition, written=""), one.condition)
    kept, demanded = [], 0
    for condition in conditions.values():
        demanded += sum(1 for _ in leaves(condition))
        if demanded <= _MOST_CONDITIONS:
            kept.append(condition)

    notices = [one.notice for one in meanings if one.notice]
    if unknown := distinct(one.unknown for one in meanings if one.unknown):
        few = ", ".join(f"{name}:" for name in unknown[:_MOST_NAMED])
        more = f" and {len(unknown) - _MOST_NAMED} more" if len(unknown) > _MOST_NAMED else ""
        notices.append(
            f"{few}{more} is no operator and no field of any document, so it was searched for as"
            f" words. Operators: {_OPERATORS}."
        )
    if len(terms) > MOST_TERMS:
        notices.append(f"Only the first {MOST_TERMS} of {len(terms)} words were searched for.")
    if demanded > _MOST_CONDITIONS:
        notices.append(f"Only the first {_MOST_CONDITIONS} of {demanded} conditions were kept.")
    if not kept and not any(map(str.isalnum, words)):
        notices.append("The query has no words to search for.")
    return Query(
        written=text,
        text=words,
        terms=tuple(terms[:MOST_TERMS]),
        code_terms=code_terms[:MOST_TERMS],
        conditions=tuple(kept),
        notices=distinct(notices),
        prefixes=distinct(one.prefix for one in meanings if one.prefix),
    )


def distinct(items: Iterable[str]) -> tuple[str, ...]:
    """Keep each item once, in the order of first mention."""
    return tuple(dict.fromkeys(items))


class Meaning(Struct, frozen=True):
    """What one piece of a query contributes."""

    text: str = ""  # what an embedder reads of it
    condition: Condition | None = None
    prefix: str = ""
    notice: str = ""
    unknown: str = ""  # a name before a colon that nothing knows


def _soften(meanings: list[Meaning], analyzer: Analyzer) -> list[Meaning]:
    """Take phrases for mere words where they are in a sentence, which quotes names as it goes.

    On 349 such questions, demanding the phrase ranked far worse (nDCG@10 .23 against .34).
    """
    phrases = [
        one for one in meanings if one.text and one.condition and one.condition.kind == "phrase"
    ]
    around = " ".join(one.text for one in meanings if one not in phrases)
    if sum(1 for word in around.split() if analyzer.query_terms(word)) < _SENTENCE:
        return meanings
    return [replace(one, condition=None) if one in phrases else one for one in meanings]


class _Interpreter(Struct, frozen=True):
    """Tells what pieces and groups mean."""

    analyzer: Analyzer
    known: Known

    def meanings(self, node: Node) -> Iterator[Meaning]:
        """Read what a piece or a group contributes."""
        if isinstance(node, QueryPiece):
            yield self._meaning(node)
        elif node.name and not (
            node.name in FIELDS or node.name in SCOPES or self.known.has_field(node.name)
        ):
            yield Meaning(unknown=node.name)
            yield from self.meanings(replace(node, name=""))
        elif node.demanded or node.negated or node.name:
            yield from self._group(node)
        else:
            for part, after in zip_longest(node.parts, node.parts[1:]):
                yield from self.meanings(part)
                if (
                    isinstance(part, QueryPiece)
                    and isinstance(after, QueryPiece)
                    and part.text == "NOT"
                    and is_shouted_not(replace(part, kind="not"), after)
                ):
                    yield Meaning(
                        notice=f"NOT {after.text} was searched for as words, since {after.text} is"
                        f" in capitals; leave a word out with -{after.text.lower()}."
                    )

    def _group(self, group: QueryGroup) -> Iterator[Meaning]:
        inside = [one for part in group.parts for one in self._inside(part)]
        wanted = not group.negated and group.name in {"", *SCOPES}
        text = " ".join(one.text for one in inside if one.text) if wanted else ""
        condition = self._condition(group)
        if condition is not None:
            condition = replace(condition, written=group.written)
        yield Meaning(text, condition)
        for one in inside:
            yield Meaning(notice=one.notice, unknown=one.unknown)

    def _inside(self, node: Node) -> Iterator[Meaning]:
        """Read what the pieces in a group contribute, apart from their conditions."""
        if isinstance(node, QueryGroup):
            for part in () if node.negated else node.parts:
                yield from self._inside(part)
        else:
            yield self._meaning(node)

    # ── Conditions ───────────────────────────────────────────────────────────

    def _condition(self, node: Node, field: str = "") -> Condition | None:
        """Make the condition of a piece or a group, where an operator demands it."""
        if isinstance(node, QueryPiece):
            return self._demand(node, field)
        field = field if node.name in {"", *SCOPES} else node.name
        found = (self._condition(part, field) for part in node.parts)
        parts = tuple(one for one in found if one is not None)
        # Where one way of several demands nothing, nothing is demanded.
        if not parts or (node.any and len(parts) < len(node.parts)):
            return None
        kind: ConditionKind = "any" if node.any else "all"
        if node.name in SCOPES and (scope := SCOPES[node.name]) == "line":
            parts = (Condition("any", parts=parts),) if node.any else parts
            kind = scope
        if len(parts) == 1 and kind != "line":
            return replace(parts[0], negated=parts[0].negated != node.negated)
        return Condition(kind, negated=node.negated, written=node.written, parts=parts)

    def _demand(self, piece: QueryPiece, field: str) -> Condition | None:
        if field and piece.kind in {"word", "phrase", "prefix", "code"}:
            named = replace(piece, name=field)
            if field in FIELDS:
                return self._field(named, FIELDS[field]).condition
            return self._property(named).condition
        if piece.kind == "prefix" and (words := self.known.beginning(piece.text)):
            parts = tuple(filter(None, (self._phrase(replace(piece, text=one)) for one in words)))
            return Condition("any", negated=piece.negated, parts=parts) if parts else None
        meaning = self._meaning(piece)
        return meaning.condition or (self._phrase(piece) if meaning.text else None)

    def _phrase(self, piece: QueryPiece) -> Condition | None:
        terms = stream(piece.text, self.analyzer)
        if not terms:
            return None
        return Condition("phrase", terms, negated=piece.negated, written=piece.written)

    # ── Pieces ───────────────────────────────────────────────────────────────

    def _meaning(self, piece: QueryPiece) -> Meaning:
        if piece.field:
            return self._field(piece, piece.field)
        if piece.kind == "property":
            return self._property(piece)
        if piece.kind == "scope":
            return self._scope(piece)
        if piece.kind == "regex":
            words = _REGEX_SIGNS.sub(" ", piece.text).split()
            return Meaning(
                " ".join(word for word in words if len(word) > 2),
                notice=f"{piece.written} is a regular expression, which dowse does not search by:"
                " only its words were used. Complete a word with a star, as in restor*.",
            )
        if piece.negated:
            return self._exclusion(piece)
        condition = self._phrase(piece) if piece.kind == "phrase" else None
        return Meaning(piece.text, condition, _whole(piece.text) if piece.kind == "prefix" else "")

    def _exclusion(self, piece: QueryPiece) -> Meaning:
        condition, notice = self._phrase(piece), ""
        if condition is None:
            notice = f"{piece.written} leaves nothing out: such words are not indexed."
        elif piece.kind == "prefix":
            notice = (
                f'{piece.written} leaves out only "{piece.text}": a star does not widen a minus.'
            )
        elif not all(map(self.analyzer.query_terms, piece.text.split())):
            notice = (
                f"{piece.written} leaves out more than it says: some of its words are not indexed."
            )
        return Meaning(condition=condition, notice=notice)

    def _scope(self, piece: QueryPiece) -> Meaning:
        """Read `line:word`: the word must be there, not only in the title or a heading above."""
        kind, phrase = SCOPES[piece.name], self._phrase(replace(piece, negated=False))
        if phrase is None:
            return Meaning(notice=f"{piece.written} demands nothing: such words are not indexed.")
        parts = (phrase,)
        made = Condition(kind, negated=piece.negated, written=piece.written, parts=parts)
        return Meaning("" if piece.negated else piece.text, made)

    def _property(self, piece: QueryPiece) -> Meaning:
        bracketed = piece.written.lstrip("-").startswith("[")
        name, value = piece.name, piece.text if bracketed else piece.text.rstrip(",;")
        is_tag = bracketed and name.casefold() in {"tag", "tags"} and value
        if is_tag or self.known.has_field(name):
            return Meaning(
                condition=property_condition(
                    name, value, self.known.now, negated=piece.negated, written=piece.written
                )
            )
        if name.casefold() in _ELSEWHERE:
            return Meaning(piece.text, unknown=name)
        unknown = "" if bracketed and not value else name
        if piece.negated and not bracketed:
            word = replace(piece, kind="word", text=piece.written.removeprefix("-"), name="")
            return replace(self._exclusion(word), unknown=unknown)
        return Meaning(piece.written, unknown=unknown)

    def _field(self, piece: QueryPiece, kind: ConditionKind) -> Meaning:
        value = piece.text.rstrip(",;").strip(_QUOTES).strip("*").strip()
        if kind == "tag":
            value = value.lstrip("#").strip("/")
        elif kind == "source":
            value = value.lstrip(".")
        if not value:
            return Meaning(piece.written)
        condition = Condition(kind, (value,), negated=piece.negated, written=piece.written)
        if kind not in ("after", "before"):
            return Meaning(condition=condition)
        bound = moment_of(value, self.known.now)
        if bound is None:
            return Meaning(
                piece.written,
                notice=f"{piece.written} names no date, so it was searched for as words; a date"
                f" looks like {kind}:2024-05-31, {kind}:2024, {kind}:yesterday or {kind}:7d.",
            )
        return Meaning(condition=replace(condition, values=(), bound=bound))


def stream(phrase: str, analyzer: Analyzer) -> tuple[str, ...]:
    """List the terms of a phrase as they follow each other in a chunk.

    A field that weighs less than one does not lay every term down, so the fullest account counts.
    """
    accounts = (
        analyzer.chunk_terms(Fields(), (), phrase),
        analyzer.chunk_terms(Fields(title=phrase), (), ""),
        [(term, place) for place, term in enumerate(analyzer.query_terms(phrase))],
    )
    by_position = ({place: term for term, place in reversed(terms)} for terms in accounts)
    fullest = max(by_position, key=len)
    return tuple(fullest[place] for place in sorted(fullest))


def _whole(text: str) -> str:
    """Cut a text to what is from its first letter, digit or underscore to its last."""
    inside = [place for place, sign in enumerate(text) if sign.isalnum() or sign == "_"]
    return text[inside[0] : inside[-1] + 1] if inside else ""


# ── Conditions on fields of the frontmatter, as a query or an option writes them ─────────────────

_TAGS = frozenset({"tag", "tags"})
_EMPTY = frozenset({"null", "none", "empty"})
_OR = re.compile(r"\s+OR\s+|\s*\|\s*")
_COMPARED = re.compile(r"(?P<sign>[<>]=?|=)\s*(?P<value>.+)", re.DOTALL)
_WHERE = re.compile(
    r"\s*(?P<not>[-!]?)(?P<name>[^<>=!:\x00]{1,100}?)\s*"
    r"(?:(?P<sign><=|>=|!=|<|>|=|:)\s*(?P<value>.*?))?\s*",
    re.DOTALL,
)
_AROUND = "\"'“”„«»"
_HOW = "Write it as status=draft, status!=draft, rating>3, due<2026-01-01, or only the name."


def property_condition(
    name: str, value: str, now: float, *, negated: bool = False, written: str = ""
) -> Condition:
    """Make the condition of `name:value`; the value may be empty, compared (`>3`) or `a OR b`."""
    inner = value.strip()
    if inner.startswith("(") and inner.endswith(")"):
        inner = inner[1:-1].strip()
    plain = Condition("field", negated=negated, written=written, name=name)
    if not inner:
        return replace(plain, sign="has")
    if inner.casefold() in _EMPTY:
        return replace(plain, sign="empty")
    values = [_bare(one) for one in _OR.split(inner)]
    compared = _COMPARED.fullmatch(inner)
    if compared and len(values) == 1:
        sign: Sign = compared["sign"]  # type: ignore[assignment]  # the expression takes no other
        return _compared(plain, sign, _bare(compared["value"]), now)
    return _equal(plain, tuple(filter(None, values)), now)


def where_condition(text: str, now: float) -> Condition:
    """Make the condition that `--where` sets; raise `UsageError` when it sets none."""
    found = _WHERE.fullmatch(text)
    name = found["name"].strip().strip("[]").strip(_AROUND).strip() if found else ""
    if found is None or not name:
        raise UsageError(f"{text!r} names no field.", _HOW)
    sign, value = found["sign"] or "", (found["value"] or "").strip().rstrip("]")
    if sign and not value:
        raise UsageError(f"{text!r} names no value.", _HOW)
    negated = bool(found["not"]) != (sign == "!=")
    if sign in {"<", "<=", ">", ">="}:
        value = sign + value
    return property_condition(name, value, now, negated=negated, written=f"--where {text}")


def _compared(plain: Condition, sign: Sign, value: str, now: float) -> Condition:
    if sign == "=":
        return _equal(plain, (value,), now)
    return replace(plain, values=(day_of(value, now) or value,), sign=sign)


def _equal(plain: Condition, values: tuple[str, ...], now: float) -> Condition:
    if plain.name.casefold() in _TAGS:
        tags = tuple(value.lstrip("#").strip("/") for value in values)
        return replace(plain, kind="tag", values=tags, name="")
    # A field may hold the word itself as well as the day that it stands for.
    days = tuple(day for value in values if value.isalpha() and (day := day_of(value, now)))
    return replace(plain, values=(*values, *days))


def _bare(value: str) -> str:
    return value.strip().strip(_AROUND).strip()
