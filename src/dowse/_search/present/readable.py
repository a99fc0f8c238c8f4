"""A passage as its readers see it: on one line, without markup, and still knowing its lines."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec import Struct

from dowse._text.markup import plain
from dowse._text.pieces import Piece, pieces, under_headings

_NO_END = 10**9  # no text has so many lines
_SHORT = 10_000  # characters; what is longer is not remembered


class Readable(Struct, frozen=True):
    """What a reader sees of a text, and where in the text it is."""

    text: str  # on one line
    pieces: tuple[Piece, ...]  # that the text was made of
    starts: tuple[int, ...]  # where each of them begins in `text`

    def lines_at(self, offset: int) -> range:
        """The lines, from 0, of the piece that is there; the last one has no end."""
        following = bisect_right(self.starts, offset)
        first = self.pieces[max(0, following - 1)].line
        is_last = following == len(self.pieces)
        return range(first, _NO_END if is_last else self.pieces[following].line)

    def headings_above(self, line: int) -> tuple[str, ...]:
        """The headings in the text that a line is under, the nearest last."""
        before = (piece for piece in self.pieces if piece.line <= line)
        paths = [path for _, path in under_headings(before)]
        return paths[-1] if paths else ()


def readable(text: str) -> Readable:
    """The text on one line, without its markup."""
    return _remembered(text) if len(text) <= _SHORT else _read(text)


def _read(text: str) -> Readable:
    found = pieces(text)
    shown: list[str] = []
    kept: list[Piece] = []
    starts: list[int] = []
    size = 0
    for piece, part in zip(found, _parts(found), strict=True):
        if part:
            kept.append(piece)
            starts.append(size)
            shown.append(part)
            size += len(part) + 1
    return Readable(" ".join(shown), tuple(kept), tuple(starts))


_remembered = lru_cache(256)(_read)  # who goes on typing sees mostly the same passages


def _parts(found: Sequence[Piece]) -> Iterator[str]:
    for piece in found:
        shown = one_line(piece.markup if piece.kind == "code" else plain(piece.markup))
        apart = piece.kind in {"heading", "row"} and piece is not found[-1]
        yield f"{shown} ·".lstrip() if apart else shown


def one_line(text: str) -> str:
    """The text on one line, without backticks: a window could cut between two of a pair."""
    return unicodedata.normalize("NFC", " ".join(text.replace("`", "").split()))
