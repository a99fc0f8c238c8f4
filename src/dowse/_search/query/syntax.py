"""How the pieces of a query belong together: OR, AND, NOT and parentheses.

As in Obsidian, words next to each other bind closer than OR: `a b OR c` is `(a b) OR c`.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from dowse._search.query.lexing import QueryPiece

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
