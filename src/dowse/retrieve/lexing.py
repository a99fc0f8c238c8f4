"""The pieces of a query: words, phrases, code, prefixes and fields, each with or without a minus.

Every text is a query: what does not fit a sign's rules is an ordinary word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from dowse.types import ConditionKind

PieceKind = Literal["word", "phrase", "code", "prefix", "field"]
"""What a piece of a query is: a field is a condition, all others are searched for."""

FIELDS: dict[str, ConditionKind] = {
    "title": "title",
    "tag": "tag",
    "tags": "tag",
    "path": "path",
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
"""The names that can stand before a colon, and the condition that each sets."""

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
_SIGN_AND_FIELD = re.compile(rf"(-?)(?:({'|'.join(FIELDS)}):)?", re.IGNORECASE)
_SPACE_OR_QUOTE = re.compile(rf"[\s{''.join(_CLOSING)}]")
_PREFIX = re.compile(r"([^*]+)\*[.,;:!?)\]}'’]*")
_EXCLUDABLE = re.compile(r"[\w#.@/$]")  # how the word after a minus may begin: not `->x`, `-=`
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a query that means one thing."""

    kind: PieceKind
    text: str  # without signs: what to search for, or the value of the field
    written: str  # as it stands in the query
    negated: bool = False
    field: ConditionKind | None = None  # what a piece of the kind `field` sets


def lex(query: str) -> list[Piece]:
    """The pieces of a query, in their order; never raises."""
    return list(_Lexer(clean(query)).pieces())


def clean(query: str) -> str:
    """The query without characters that no tokenizer or store can take; as long as before."""
    return _LONE_SURROGATE.sub("\ufffd", _UNPRINTABLE.sub(" ", query))


class _Lexer:
    def __init__(self, text: str) -> None:
        self._text = text
        self._absent: set[str] = set()  # closing quotes that do not come any more

    def pieces(self) -> Iterator[Piece]:
        at = 0
        while at < len(self._text):
            if self._text[at].isspace():
                at += 1
                continue
            piece = self._quoted(at) or self._unquoted(at)
            at += len(piece.written)
            yield piece

    def _quoted(self, at: int) -> Piece | None:
        sign, name, opening = self._head(at)
        end = self._closing(opening)
        if end is None:
            return None
        inside = " ".join(self._text[opening + 1 : end].split())
        written = self._text[at : end + 1]
        if not inside:
            return Piece("word", self._text[at:opening], written)
        if name:
            return Piece("field", inside, written, bool(sign), FIELDS[name.lower()])
        kind: PieceKind = "code" if self._text[opening] == "`" else "phrase"
        return Piece(kind, inside, written, bool(sign))

    def _head(self, at: int) -> tuple[str, str, int]:
        """The minus and the field name that stand here, if any, and where they end."""
        found = _SIGN_AND_FIELD.match(self._text, at) if self._begins_a_token(at) else None
        return (found[1], found[2] or "", found.end()) if found else ("", "", at)

    def _begins_a_token(self, at: int) -> bool:
        return at == 0 or self._text[at - 1].isspace()

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

    def _unquoted(self, at: int) -> Piece:
        run = self._text[at : self._end_of_run(at)]
        if not self._begins_a_token(at):
            return _plain(run)
        sign, name, value = self._head(at)
        if name and at + len(run) > value:
            return Piece("field", run[value - at :], run, bool(sign), FIELDS[name.lower()])
        return _excluded(run) if _excludes(run) else _plain(run)

    def _end_of_run(self, at: int) -> int:
        for found in _SPACE_OR_QUOTE.finditer(self._text, at + 1):
            if found[0].isspace() or self._closing(found.start()) is not None:
                return found.start()
        return len(self._text)


def _plain(run: str) -> Piece:
    prefix = _PREFIX.fullmatch(run)
    if prefix and sum(map(str.isalnum, prefix[1])) >= 2:
        return Piece("prefix", prefix[1], run)
    return Piece("word", "" if not run.strip("*") else run, run)


def _excluded(run: str) -> Piece:
    return replace(_plain(run[1:]), written=run, negated=True)


def _excludes(run: str) -> bool:
    """Whether a minus begins the run that excludes a word, rather than a flag such as `-rf`."""
    if not (run[0] == "-" and _EXCLUDABLE.match(run, 1)):
        return False
    return sum(map(str.isalpha, run)) >= 3 or not run.isascii()
