"""The pieces of a query: words, phrases, fields and operators, each with or without a minus.

Every text is a query: what does not fit a sign's rules is an ordinary word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from dowse._model import ConditionKind

QueryPieceKind = Literal[
    "word",
    "phrase",
    "code",
    "prefix",
    "field",
    "property",
    "scope",
    "regex",
    "open",
    "close",
    "or",
    "and",
    "not",
]
"""What a piece of a query is.

A `field` is a condition that every index knows, a `property` one on a field of the frontmatter, if
any document has it. A `scope` says where words must be, as `line:` does. `open` and `close` are
parentheses.
"""

FIELDS: dict[str, ConditionKind] = {
    "title": "title",
    "tag": "tag",
    "tags": "tag",
    "path": "path",
    "file": "file",
    "author": "author",
    "category": "category",
    "type": "category",
    "lang": "language",
    "language": "language",
    "ext": "source",
    "source": "source",
    "after": "after",
    "before": "before",
}
"""The names that can be before a colon, and the condition that each sets."""

SCOPES: dict[str, ConditionKind] = {
    "line": "line",
    "section": "all",
    "block": "all",
    "content": "all",
}
"""The names before a colon that say where words must be: in one line, or in one passage."""

_CLOSING = {
    '"': '"',
    "`": "`",
    "“": "”",
    "„": "“”",
    "«": "»",
    "»": "«",
    "「": "」",
    "『": "』",
}
_KNOWN = "|".join([*FIELDS, *SCOPES])
# Before a colon, any other name may be that of a field; `std::x`, `http://x` and `C:x` have none.
_SIGN_AND_FIELD = re.compile(
    rf"(-?)(?:({_KNOWN}|[^\W\d_][\w-]*\w(?=:[\w\"“„«(<>=#])):)?", re.IGNORECASE
)
_BRACKETED = re.compile(
    r"(-?)\[(?!\[)\s*(\"?)([^\[\]\":]{1,100}?)\2\s*(?::([^\[\]]*))?\](?=[\s)]|$)"
)
_REGEX = re.compile(r"-?/(?=\S)((?:[^/\\\n]|\\.)+)/[imsu]*(?=[\s)]|$)")
_OF_A_REGEX = re.compile(r"[\[\]{}|^$+?\\]|\.\*")  # a path such as /etc/hosts/ has none of these
_OPERATOR = re.compile(r"(OR|AND|NOT)(?=[\s(]|$)")
_STRUCTURED = re.compile(r"(?:^|[\s(])(?:OR|AND|NOT)(?=[\s(])|(?:^|\s)-\(|\w:\(")
_MOST_DEEP = 8  # parentheses in parentheses; deeper ones are characters of words
_SPACE_OR_QUOTE = re.compile(rf"[\s{''.join(_CLOSING)}]")
_PREFIX = re.compile(r"([^*]+)\*[.,;:!?)\]}'’]*")
_EXCLUDABLE = re.compile(r"[\w#.@/$]")  # how the word after a minus may begin: not `->x`, `-=`
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


class QueryPiece(Struct, frozen=True):
    """A part of a query that means one thing."""

    kind: QueryPieceKind
    text: str  # without signs: what to search for, or the value of the field
    written: str  # as it is in the query
    negated: bool = False
    field: ConditionKind | None = None  # what a piece of the kind `field` sets
    name: str = ""  # before the colon, of a property, a scope, or what a parenthesis belongs to


def lex(query: str) -> list[QueryPiece]:
    """The pieces of a query, in their order; never raises."""
    return list(_Lexer(clean(query)).pieces())


def clean(query: str) -> str:
    """The query without characters that no tokenizer or store can take; as long as before."""
    return _LONE_SURROGATE.sub("\ufffd", _UNPRINTABLE.sub(" ", query))


class _Lexer:
    def __init__(self, text: str) -> None:
        self._text = text
        self._absent: set[str] = set()  # closing quotes that do not come any more
        # Prose has parentheses too: they only mean something next to an operator.
        self._structured = _STRUCTURED.search(text) is not None
        self._depth = 0  # parentheses that are open

    def pieces(self) -> Iterator[QueryPiece]:
        at = 0
        while at < len(self._text):
            if self._text[at].isspace():
                at += 1
                continue
            piece = self._sign(at) or self._quoted(at) or self._unquoted(at)
            at += len(piece.written)
            yield piece

    def _sign(self, at: int) -> QueryPiece | None:
        """A parenthesis, an operator, a field in brackets or a regular expression."""
        if self._depth and self._text[at] == ")":
            self._depth -= 1
            return QueryPiece("close", "", ")")
        if not self._begins_a_token(at):
            return None
        if found := _BRACKETED.match(self._text, at):
            return QueryPiece("property", found[4] or "", found[0], bool(found[1]), name=found[3])
        if (found := _REGEX.match(self._text, at)) and _OF_A_REGEX.search(found[1]):
            return QueryPiece("regex", found[1], found[0], found[0].startswith("-"))
        return self._structure(at) if self._structured else None

    def _structure(self, at: int) -> QueryPiece | None:
        if found := _OPERATOR.match(self._text, at):
            kind: QueryPieceKind = found[1].lower()  # type: ignore[assignment]  # it takes no other
            return QueryPiece(kind, found[1], found[1])
        sign, name, opening = self._head(at)
        if self._text[opening : opening + 1] != "(" or self._depth >= _MOST_DEEP:
            return None
        self._depth += 1
        return QueryPiece("open", "", self._text[at : opening + 1], bool(sign), name=name.lower())

    def _quoted(self, at: int) -> QueryPiece | None:
        sign, name, opening = self._head(at)
        end = self._closing(opening)
        if end is None:
            return None
        inside = " ".join(self._text[opening + 1 : end].split())
        written = self._text[at : end + 1]
        if not inside:
            return QueryPiece("word", self._text[at:opening], written)
        if name:
            return _named(name, inside, written, negated=bool(sign))
        kind: QueryPieceKind = "code" if self._text[opening] == "`" else "phrase"
        return QueryPiece(kind, inside, written, bool(sign))

    def _head(self, at: int) -> tuple[str, str, int]:
        """The minus and the name before a colon that are here, if any, and where they end."""
        found = _SIGN_AND_FIELD.match(self._text, at) if self._begins_a_token(at) else None
        return (found[1], found[2] or "", found.end()) if found else ("", "", at)

    def _begins_a_token(self, at: int) -> bool:
        before = self._text[at - 1 : at]
        return not before or before.isspace() or (self._depth > 0 and before == "(")

    def _closing(self, opening: int) -> int | None:
        """Where the quote that opens here closes; None when none opens here, or it never closes."""
        mark = self._text[opening : opening + 1]
        if mark not in _CLOSING or (mark in '"`' and self._follows_a_letter(opening)):
            return None
        ends = (self._find(closing, opening + 1) for closing in _CLOSING[mark])
        return min((end for end in ends if end is not None), default=None)

    def _follows_a_letter(self, at: int) -> bool:
        # As in 5" or don`t; texts without spaces between words are quoted in the middle of a run.
        return at > 0 and self._text[at - 1].isascii() and self._text[at - 1].isalnum()

    def _find(self, mark: str, start: int) -> int | None:
        # Remembering what is absent keeps thousands of quotes that never close from costing a
        # look through the rest of the text each.
        if mark in self._absent:
            return None
        found = self._text.find(mark, start)
        if found < 0:
            self._absent.add(mark)
            return None
        return found

    def _unquoted(self, at: int) -> QueryPiece:
        run = self._text[at : self._end_of_run(at)]
        if not self._begins_a_token(at):
            return _plain(run)
        sign, name, value = self._head(at)
        if name and at + len(run) > value:
            return _named(name, run[value - at :], run, negated=bool(sign))
        return _excluded(run) if _excludes(run) else _plain(run)

    def _end_of_run(self, at: int) -> int:
        last = len(self._text)
        for found in _SPACE_OR_QUOTE.finditer(self._text, at + 1):
            if found[0].isspace() or self._closing(found.start()) is not None:
                last = found.start()
                break
        return self._before_closing(at, last) if self._depth else last

    def _before_closing(self, at: int, last: int) -> int:
        """Where a run ends: before a parenthesis that closes more than was opened in the run."""
        opened = 0
        for place in range(at, last):
            opened += {"(": 1, ")": -1}.get(self._text[place], 0)
            if opened < 0:
                return place
        return last


def _named(name: str, value: str, written: str, *, negated: bool) -> QueryPiece:
    """The piece that a name before a colon makes."""
    known = name.lower()
    if known in FIELDS:
        return QueryPiece("field", value, written, negated, FIELDS[known])
    kind: QueryPieceKind = "scope" if known in SCOPES else "property"
    return QueryPiece(kind, value, written, negated, name=known if kind == "scope" else name)


def _plain(run: str) -> QueryPiece:
    prefix = _PREFIX.fullmatch(run)
    if prefix and sum(map(str.isalnum, prefix[1])) >= 2:
        return QueryPiece("prefix", prefix[1], run)
    return QueryPiece("word", "" if not run.strip("*") else run, run)


def _excluded(run: str) -> QueryPiece:
    return replace(_plain(run[1:]), written=run, negated=True)


def _excludes(run: str) -> bool:
    """Whether a minus begins the run that excludes a word, rather than a flag such as `-rf`."""
    if not (run[0] == "-" and _EXCLUDABLE.match(run, 1)):
        return False
    return sum(map(str.isalpha, run)) >= 3 or not run.isascii()


# ── How the pieces of a query belong together: OR, AND, NOT and parentheses ───


_INFIX = frozenset({"or", "and"})


class QueryGroup(Struct, frozen=True):
    """Pieces that belong together."""

    parts: tuple[Node, ...]
    any: bool = False  # one of the parts is enough
    demanded: bool = False  # an operator demands its words: they are not only ranked by
    negated: bool = False
    name: str = ""  # what is before the parenthesis, as in `line:(…)`
    written: str = ""


Node = QueryPiece | QueryGroup
"""A piece, or several that belong together."""


def arrange(pieces: Sequence[QueryPiece]) -> QueryGroup:
    """The pieces as operators and parentheses join them; what makes no sense is a word."""
    return _Arranger(_without_lone_operators(pieces)).group()


def is_shouted_not(before: QueryPiece, after: QueryPiece) -> bool:
    """Whether a NOT belongs to what follows it, as in NOT NULL or 404 NOT FOUND."""
    return before.kind == "not" and after.kind == "word" and after.text.isupper()


def _without_lone_operators(pieces: Sequence[QueryPiece]) -> list[QueryPiece]:
    kept: list[QueryPiece] = []
    for place, piece in enumerate(pieces):
        after = pieces[place + 1] if place + 1 < len(pieces) else None
        joins = _joins(piece, kept[-1] if kept else None, after)
        kept.append(piece if joins else replace(piece, kind="word"))
    return kept


def _joins(piece: QueryPiece, before: QueryPiece | None, after: QueryPiece | None) -> bool:
    if piece.kind not in {"or", "and", "not"}:
        return True
    if after is None or after.kind in _INFIX | {"close"} or is_shouted_not(piece, after):
        return False
    return piece.kind == "not" or (
        before is not None and before.kind not in _INFIX | {"open", "not"}
    )


class _Arranger:
    def __init__(self, pieces: Sequence[QueryPiece]) -> None:
        self._pieces = pieces
        self._at = 0

    def group(self, opening: QueryPiece | None = None) -> QueryGroup:
        """The group that begins here; it ends with its parenthesis, or with the query."""
        clauses: list[list[Node]] = [[]]
        demanded = negated = False
        start = self._at
        while (piece := self._next()) is not None and piece.kind != "close":
            if piece.kind == "or":
                clauses.append([])
            elif piece.kind == "and":
                demanded = True
            elif piece.kind == "not":
                negated = not negated
            else:
                node = self.group(piece) if piece.kind == "open" else piece
                clauses[-1].append(
                    replace(node, negated=not node.negated, written=f"NOT {node.written}")
                    if negated
                    else node
                )
                negated = False
        return self._made(clauses, demanded, opening, start)

    def _made(
        self, clauses: list[list[Node]], demanded: bool, opening: QueryPiece | None, start: int
    ) -> QueryGroup:
        written = " ".join(piece.written for piece in self._pieces[start : self._at])
        written = (opening.written if opening else "") + written
        written = written.replace("( ", "(").replace(" )", ")")
        negated, name = (opening.negated, opening.name) if opening else (False, "")
        if len(clauses) == 1:
            return QueryGroup(tuple(clauses[0]), False, demanded, negated, name, written)
        parts = tuple(QueryGroup(tuple(clause), demanded=True) for clause in clauses)
        return QueryGroup(parts, True, True, negated, name, written)

    def _next(self) -> QueryPiece | None:
        if self._at >= len(self._pieces):
            return None
        self._at += 1
        return self._pieces[self._at - 1]
