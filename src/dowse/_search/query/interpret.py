"""What the pieces of a query mean: words to rank by, and conditions that must hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

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
from dowse._text.values import Sign
from dowse.errors import UsageError

# ── Conditions on fields of the frontmatter, as a query or an option writes them ───


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
    """The condition that `name:value` sets: `value` may be empty, compared (`>3`) or `a OR b`."""
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
    """The condition that `--where` sets; raises `UsageError` when it sets none."""
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


COMPLETIONS = 20
"""How many words one `auth*` demands any of, where an operator demands it."""

_QUOTES = '"“”„«»「」『』'
_ELSEWHERE = frozenset({"task", "task-todo", "task-done", "match-case", "ignore-case"})
_REGEX_SIGNS = re.compile(r"\\[a-zA-Z]|\W|\d")


class Meaning(Struct, frozen=True):
    """What one piece of a query contributes."""

    text: str = ""  # what an embedder reads of it
    condition: Condition | None = None
    prefix: str = ""
    notice: str = ""
    unknown: str = ""  # a name before a colon that nothing knows

    @property
    def is_phrase(self) -> bool:
        """Whether it is a phrase that must be held."""
        return bool(self.text) and self.condition is not None and self.condition.kind == "phrase"


class Known(Struct, frozen=True):
    """What must be known of the documents to understand a query."""

    has_field: Callable[[str], bool] = lambda _: False  # whether any frontmatter has this field
    beginning: Callable[[str], Sequence[str]] = lambda _: ()  # words that begin so
    now: float = 0.0  # seconds since 1970


class Interpreter:
    """Says what pieces and groups mean."""

    def __init__(self, analyzer: Analyzer, known: Known) -> None:
        self._analyzer = analyzer
        self._known = known

    def meanings(self, node: Node) -> Iterator[Meaning]:
        """What a piece or a group contributes."""
        if isinstance(node, QueryPiece):
            yield self._meaning(node)
        elif node.name and not self._is_known(node.name):
            yield Meaning(unknown=node.name)
            yield from self.meanings(replace(node, name=""))
        elif node.demanded or node.negated or node.name:
            yield from self._group(node)
        else:
            yield from self._listed(node.parts)

    def _is_known(self, name: str) -> bool:
        return name in FIELDS or name in SCOPES or self._known.has_field(name)

    def _listed(self, parts: Sequence[Node]) -> Iterator[Meaning]:
        """What parts contribute that no operator joins."""
        for place, part in enumerate(parts):
            yield from self.meanings(part)
            if isinstance(part, QueryPiece) and part.text == "NOT" and place + 1 < len(parts):
                after = parts[place + 1]
                if isinstance(after, QueryPiece) and is_shouted_not(
                    replace(part, kind="not"), after
                ):
                    yield Meaning(notice=_shouted(after))

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
        """What the pieces in a group contribute, apart from their conditions."""
        if isinstance(node, QueryGroup):
            for part in () if node.negated else node.parts:
                yield from self._inside(part)
        else:
            yield self._meaning(node)

    # ── Conditions ───────────────────────────────────────────────────────────

    def _condition(self, node: Node, field: str = "") -> Condition | None:
        """What a piece or a group demands, where an operator demands it."""
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
        if piece.kind == "prefix" and (words := self._known.beginning(piece.text)):
            parts = tuple(filter(None, (self._phrase(replace(piece, text=one)) for one in words)))
            return Condition("any", negated=piece.negated, parts=parts) if parts else None
        meaning = self._meaning(piece)
        return meaning.condition or (self._phrase(piece) if meaning.text else None)

    def _phrase(self, piece: QueryPiece) -> Condition | None:
        terms = stream(piece.text, self._analyzer)
        if not terms:
            return None
        return Condition("phrase", terms, negated=piece.negated, written=piece.written)

    # ── Pieces ───────────────────────────────────────────────────────────────

    def _meaning(self, piece: QueryPiece) -> Meaning:
        if piece.field:
            return self._field(piece, piece.field)
        if piece.kind in {"property", "regex", "scope"}:
            own = {"property": self._property, "regex": _regex, "scope": self._scope}
            return own[piece.kind](piece)
        if piece.negated:
            return self._exclusion(piece)
        if piece.kind == "phrase":
            return Meaning(piece.text, self._phrase(piece))
        if piece.kind == "prefix":
            return Meaning(piece.text, prefix=_word(piece.text))
        return Meaning(piece.text)

    def _exclusion(self, piece: QueryPiece) -> Meaning:
        condition = self._phrase(piece)
        if condition is None:
            return Meaning(
                notice=f"{piece.written} leaves nothing out: such words are not indexed."
            )
        return Meaning(condition=condition, notice=self._leaves_out_otherwise(piece))

    def _leaves_out_otherwise(self, piece: QueryPiece) -> str:
        if piece.kind == "prefix":
            return f'{piece.written} leaves out only "{piece.text}": a star does not widen a minus.'
        if not all(map(self._analyzer.query_terms, piece.text.split())):
            return (
                f"{piece.written} leaves out more than it says: some of its words are not indexed."
            )
        return ""

    def _scope(self, piece: QueryPiece) -> Meaning:
        """`line:word`: the word must be there, not only in the title or a heading above."""
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
        if is_tag or self._known.has_field(name):
            return Meaning(
                condition=property_condition(
                    name, value, self._known.now, negated=piece.negated, written=piece.written
                )
            )
        if name.casefold() in _ELSEWHERE:
            return Meaning(piece.text, unknown=name)
        unknown = "" if bracketed and not value else name
        if piece.negated and not bracketed:
            return replace(self._exclusion(_as_word(piece)), unknown=unknown)
        return Meaning(piece.written, unknown=unknown)

    def _field(self, piece: QueryPiece, kind: ConditionKind) -> Meaning:
        value = _value(piece, kind)
        if not value:
            return Meaning(piece.written)
        if kind not in ("after", "before"):
            return Meaning(
                condition=Condition(kind, (value,), negated=piece.negated, written=piece.written)
            )
        bound = moment_of(value, self._known.now)
        if bound is None:
            return Meaning(
                piece.written,
                notice=f"{piece.written} names no date, so it was searched for as words; a date"
                f" looks like {kind}:2024-05-31, {kind}:2024, {kind}:yesterday or {kind}:7d.",
            )
        return Meaning(
            condition=Condition(kind, bound=bound, negated=piece.negated, written=piece.written)
        )


def stream(phrase: str, analyzer: Analyzer) -> tuple[str, ...]:
    """The terms of a phrase as they follow each other in a chunk.

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


def _shouted(after: QueryPiece) -> str:
    return (
        f"NOT {after.text} was searched for as words, since {after.text} is in capitals;"
        f" leave a word out with -{after.text.lower()}."
    )


def _regex(piece: QueryPiece) -> Meaning:
    words = " ".join(word for word in _REGEX_SIGNS.sub(" ", piece.text).split() if len(word) > 2)
    return Meaning(
        words,
        notice=f"{piece.written} is a regular expression, which dowse does not search by: only its"
        " words were used. Complete a word with a star, as in restor*.",
    )


def _as_word(piece: QueryPiece) -> QueryPiece:
    return replace(piece, kind="word", text=piece.written.removeprefix("-"), name="")


def _word(text: str) -> str:
    """A text from its first letter, digit or underscore to its last."""
    inside = [place for place, sign in enumerate(text) if sign.isalnum() or sign == "_"]
    return text[inside[0] : inside[-1] + 1] if inside else ""


def _value(piece: QueryPiece, kind: ConditionKind) -> str:
    value = piece.text.rstrip(",;").strip(_QUOTES).strip("*").strip()
    if kind == "tag":
        return value.lstrip("#").strip("/")
    return value.lstrip(".") if kind == "source" else value


# ── What a query means: words to search for, and conditions that its signs set ───


MOST_TERMS = 512
"""How many terms of a query are searched for; nobody types more, and pasted pages are cut."""

_MOST_CONDITIONS = 64  # what one statement of a store takes without strain
_SENTENCE = 4  # words outside quotes that make a query a sentence
_MOST_NAMED = 3  # unknown operators that a notice names
_NOTHING_KNOWN = Known()
_OPERATORS = ", ".join(f"{name}:" for name in sorted({*FIELDS.values(), "section", "line"}))


def understand(text: str, analyzer: Analyzer, known: Known = _NOTHING_KNOWN) -> Query:
    """The query that a text is; every text is one, and signs that make no sense are words."""
    meanings = list(Interpreter(analyzer, known).meanings(arrange(lex(text))))
    words = " ".join(meaning.text for meaning in meanings if meaning.text)
    terms = analyzer.query_terms(words)
    code_terms = distinct(term for term, _ in analyzer.code_terms(words))
    meanings = _soften(meanings, analyzer)
    conditions = _once(meaning.condition for meaning in meanings if meaning.condition)
    query = Query(
        written=text,
        text=words,
        terms=tuple(terms[:MOST_TERMS]),
        code_terms=code_terms[:MOST_TERMS],
        conditions=_few(conditions),
        prefixes=distinct(meaning.prefix for meaning in meanings if meaning.prefix),
    )
    notices = [meaning.notice for meaning in meanings if meaning.notice]
    unknown = distinct(meaning.unknown for meaning in meanings if meaning.unknown)
    cuts = _cuts(query, len(terms), _count(conditions))
    return replace(query, notices=distinct([*notices, *_unknown(unknown), *cuts]))


def _soften(meanings: list[Meaning], analyzer: Analyzer) -> list[Meaning]:
    """Takes phrases for mere words where they are in a sentence, which quotes names as it goes.

    On 349 such questions, demanding the phrase ranked far worse (nDCG@10 .23 against .34).
    """
    around = " ".join(one.text for one in meanings if not one.is_phrase)
    if sum(1 for word in around.split() if analyzer.query_terms(word)) < _SENTENCE:
        return meanings
    return [replace(one, condition=None) if one.is_phrase else one for one in meanings]


def distinct(items: Iterable[str]) -> tuple[str, ...]:
    """Each item once, in the order of first mention."""
    return tuple(dict.fromkeys(items))


def _once(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    seen: dict[Condition, Condition] = {}
    for condition in conditions:
        seen.setdefault(replace(condition, written=""), condition)
    return tuple(seen.values())


def _count(conditions: Iterable[Condition]) -> int:
    return sum(1 for condition in conditions for _ in leaves(condition))


def _few(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """The first conditions, as many as a search can look at; one that is too much is left out."""
    kept: list[Condition] = []
    left = _MOST_CONDITIONS
    for condition in conditions:
        left -= _count([condition])
        if left >= 0:
            kept.append(condition)
    return tuple(kept)


def _unknown(names: tuple[str, ...]) -> Iterator[str]:
    if names:
        few = ", ".join(f"{name}:" for name in names[:_MOST_NAMED])
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        yield (
            f"{few}{more} is no operator and no field of any document, so it was searched for as"
            f" words. Operators: {_OPERATORS}."
        )


def _cuts(query: Query, terms: int, conditions: int) -> Iterator[str]:
    if terms > MOST_TERMS:
        yield f"Only the first {MOST_TERMS} of {terms} words were searched for."
    if conditions > _MOST_CONDITIONS:
        yield f"Only the first {_MOST_CONDITIONS} of {conditions} conditions were kept."
    if not query.conditions and not any(map(str.isalnum, query.text)):
        yield "The query holds no word to search for."
