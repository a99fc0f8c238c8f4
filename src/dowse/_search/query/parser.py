"""From a query's text to a tree: its pieces (words, phrases, fields, operators), then their groups.

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
    """Split a query into its pieces, in their order; never raises."""
    return list(_Lexer(clean(query)).pieces())


def clean(query: str) -> str:
    """Replace characters that no tokenizer or store can take; the length stays."""
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
            piece = self._piece(at)
            at += len(piece.written)
            yield piece

    def _piece(self, at: int) -> QueryPiece:
        """Read the piece that begins here."""
        text, before = self._text, self._text[at - 1 : at]
        if self._depth and text[at] == ")":
            self._depth -= 1
            return QueryPiece("close", "", ")")
        if before and not before.isspace() and not (self._depth and before == "("):
            return self._quoted(at, at) or _word(text[at : self._end_of_run(at)])
        return self._sign(at) or self._headed(at)

    def _sign(self, at: int) -> QueryPiece | None:
        """Read a field in brackets, a regular expression or an operator."""
        if found := _BRACKETED.match(self._text, at):
            return QueryPiece("property", found[4] or "", found[0], bool(found[1]), name=found[3])
        if (found := _REGEX.match(self._text, at)) and _OF_A_REGEX.search(found[1]):
            return QueryPiece("regex", found[1], found[0], found[0].startswith("-"))
        if self._structured and (found := _OPERATOR.match(self._text, at)):
            kind: QueryPieceKind = found[1].lower()  # type: ignore[assignment]  # it takes no other
            return QueryPiece(kind, found[1], found[1])
        return None

    def _headed(self, at: int) -> QueryPiece:
        """Read what may have a minus and a name before a colon: a parenthesis, a quote, a word."""
        text = self._text
        head = _SIGN_AND_FIELD.match(text, at)
        negated, name, start = (
            (bool(head[1]), head[2] or "", head.end()) if head else (False, "", at)
        )
        if self._structured and text[start : start + 1] == "(" and self._depth < _MOST_DEEP:
            self._depth += 1
            return QueryPiece("open", "", text[at : start + 1], negated, name=name.lower())
        if quoted := self._quoted(at, start, name, negated=negated):
            return quoted
        run = text[at : self._end_of_run(at)]
        if name and at + len(run) > start:
            return _named(name, run[start - at :], run, negated=negated)
        return replace(_word(run[1:]), written=run, negated=True) if _excludes(run) else _word(run)

    def _quoted(
        self, at: int, opening: int, name: str = "", *, negated: bool = False
    ) -> QueryPiece | None:
        end = self._closing(opening)
        if end is None:
            return None
        inside = " ".join(self._text[opening + 1 : end].split())
        written = self._text[at : end + 1]
        if not inside:
            return QueryPiece("word", self._text[at:opening], written)
        if name:
            return _named(name, inside, written, negated=negated)
        return QueryPiece(
            "code" if self._text[opening] == "`" else "phrase", inside, written, negated
        )

    def _closing(self, opening: int) -> int | None:
        """Find where the quote that opens here closes; None if none opens here, or never closes."""
        mark, before = self._text[opening : opening + 1], self._text[opening - 1 : opening]
        if mark not in _CLOSING:
            return None
        # As in 5" or don`t; texts without spaces between words are quoted in the middle of a run.
        if mark in '"`' and before.isascii() and before.isalnum():
            return None
        ends = []
        for closing in _CLOSING[mark]:
            # Remembering what is absent keeps thousands of quotes that never close from costing a
            # look through the rest of the text each.
            if closing not in self._absent:
                ends.append(self._text.find(closing, opening + 1))
                self._absent |= {closing} if ends[-1] < 0 else set()
        return min((end for end in ends if end >= 0), default=None)

    def _end_of_run(self, at: int) -> int:
        last, opened = len(self._text), 0
        for found in _SPACE_OR_QUOTE.finditer(self._text, at + 1):
            if found[0].isspace() or self._closing(found.start()) is not None:
                last = found.start()
                break
        # Where a group is open, a parenthesis that closes more than the run has opened ends it.
        for place in range(at, last) if self._depth else ():
            opened += {"(": 1, ")": -1}.get(self._text[place], 0)
            if opened < 0:
                return place
        return last


def _named(name: str, value: str, written: str, *, negated: bool) -> QueryPiece:
    """Make the piece that a name before a colon sets."""
    known = name.lower()
    if known in FIELDS:
        return QueryPiece("field", value, written, negated, FIELDS[known])
    kind: QueryPieceKind = "scope" if known in SCOPES else "property"
    return QueryPiece(kind, value, written, negated, name=known if kind == "scope" else name)


def _word(run: str) -> QueryPiece:
    prefix = _PREFIX.fullmatch(run)
    if prefix and sum(map(str.isalnum, prefix[1])) >= 2:
        return QueryPiece("prefix", prefix[1], run)
    return QueryPiece("word", "" if not run.strip("*") else run, run)


def _excludes(run: str) -> bool:
    """Tell whether the minus of a run excludes a word, rather than beginning a flag as in `-rf`."""
    if not (run[0] == "-" and _EXCLUDABLE.match(run, 1)):
        return False
    return sum(map(str.isalpha, run)) >= 3 or not run.isascii()


# ── Groups ───────────────────────────────────────────────────────────────────

_OPERATORS = frozenset({"or", "and", "not"})
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
    """Join pieces as OR, AND, NOT and parentheses say; an operator that joins nothing is a word.

    As in Obsidian, words next to each other bind closer than OR: `a b OR c` is `(a b) OR c`.
    """
    kept: list[QueryPiece] = []
    for place, piece in enumerate(pieces):
        after = pieces[place + 1] if place + 1 < len(pieces) else None
        lone = piece.kind in _OPERATORS and not _joins(piece, kept[-1] if kept else None, after)
        kept.append(replace(piece, kind="word") if lone else piece)
    return _group(iter(kept), [])


def _joins(operator: QueryPiece, before: QueryPiece | None, after: QueryPiece | None) -> bool:
    if after is None or after.kind in _INFIX | {"close"} or is_shouted_not(operator, after):
        return False
    return operator.kind == "not" or (
        before is not None and before.kind not in _INFIX | {"open", "not"}
    )


def is_shouted_not(before: QueryPiece, after: QueryPiece) -> bool:
    """Tell whether a NOT belongs to what follows it, as in NOT NULL or 404 NOT FOUND."""
    return before.kind == "not" and after.kind == "word" and after.text.isupper()


def _group(
    pieces: Iterator[QueryPiece], spelled: list[str], opening: QueryPiece | None = None
) -> QueryGroup:
    """Take the group that begins here; it ends with its parenthesis, or with the query.

    `spelled` gets what is written of each piece.
    """
    clauses: list[list[Node]] = [[]]
    start = len(spelled)
    demanded = negate = False
    for piece in pieces:
        spelled.append(piece.written)
        if piece.kind == "close":
            break
        if piece.kind == "or":
            clauses.append([])
        elif piece.kind == "and":
            demanded = True
        elif piece.kind == "not":
            negate = not negate
        else:
            node = _group(pieces, spelled, piece) if piece.kind == "open" else piece
            if negate:
                node = replace(node, negated=not node.negated, written=f"NOT {node.written}")
            clauses[-1].append(node)
            negate = False
    written = (opening.written if opening else "") + " ".join(spelled[start:])
    written = written.replace("( ", "(").replace(" )", ")")
    negated, name = (opening.negated, opening.name) if opening else (False, "")
    if len(clauses) == 1:
        return QueryGroup(tuple(clauses[0]), False, demanded, negated, name, written)
    parts = tuple(QueryGroup(tuple(clause), demanded=True) for clause in clauses)
    return QueryGroup(parts, True, True, negated, name, written)
