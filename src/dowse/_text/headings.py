"""Which headings a part of a passage is under."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dowse._text.fold import fold_name
from dowse._text.markup import plain
from dowse._text.pieces import Piece


def under_headings(pieces: Iterable[Piece]) -> Iterator[tuple[Piece, tuple[str, ...]]]:
    """Each piece with the headings it is under, the nearest last; a heading is under itself."""
    above: list[Piece] = []
    path: tuple[str, ...] = ()
    for piece in pieces:
        if piece.level:
            above = [*(one for one in above if one.level < piece.level), piece]
            path = tuple(" ".join(plain(one.markup).replace("`", "").split()) for one in above)
        yield piece, path


def heading_path(above: tuple[str, ...], inside: Sequence[str]) -> tuple[str, ...]:
    """The headings above a passage, then those in it that the first do not name already."""
    known = {fold_name(heading) for heading in above}
    return (*above, *(heading for heading in inside if fold_name(heading) not in known))
