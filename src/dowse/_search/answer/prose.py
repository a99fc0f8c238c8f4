"""Markdown → sentences that read as prose."""

from __future__ import annotations

import re

from msgspec import Struct

from dowse._text.markup import reveal, strip_marks, without_images
from dowse._text.pieces import Piece, pieces, under_headings
from dowse._text.sentences import split_sentences

# Numbers in brackets would be taken for citations of the answer.
_REFERENCE = re.compile(r"\s?(?<!\w)\[\d{1,3}(?:\s?[,–-]\s?\d{1,3})*\]")
_LONGEST_COMMAND = 160  # characters
_PROMPT = re.compile(r"^[$>%]\s+")


def sentences(text: str) -> list[str]:
    """The sentences of a text; a list item or a table row without a full stop counts as one.

    Headings and code are none, but one line of code right after a colon belongs to what leads to
    it: "Build it again with: dowse index --rebuild".
    """
    return [sentence for paragraph in paragraphs(text) for sentence in paragraph.sentences]


class Paragraph(Struct, frozen=True):
    """A paragraph, a list item or a row of a table."""

    headings: tuple[str, ...]  # in the text, that it is under
    sentences: list[str]
    cells: str = ""  # of a row: what it says without the names of its columns


def paragraphs(text: str) -> list[Paragraph]:
    """The paragraphs of a text, as `sentences` reads them."""
    found: list[Paragraph] = []
    previous: Piece | None = None
    for piece, headings in under_headings(pieces(text)):
        if piece.kind in {"prose", "row"}:
            read = _read_sentences(piece.labelled or piece.markup)
            found.append(Paragraph(headings, read, piece.markup if piece.labelled else ""))
        elif piece.kind == "code" and _leads_to(previous) and (command := _command(piece)):
            last = found[-1].sentences
            last[-1:] = [f"{line} {command}" for line in last[-1:]]
        previous = piece
    return found


def _read_sentences(markup: str) -> list[str]:
    """A paragraph cut into sentences, without the marks in it."""
    stripped = _REFERENCE.sub("", strip_marks(without_images(markup)))
    read = (" ".join(reveal(part).split()) for part in split_sentences(stripped))
    return list(filter(None, read))


def _leads_to(piece: Piece | None) -> bool:
    return (
        piece is not None and piece.kind == "prose" and piece.markup.rstrip().endswith((":", "："))
    )


def _command(code: Piece) -> str:
    """The code on one line, if that is all there is of it."""
    lines = [line.strip() for line in code.markup.split("\n") if line.strip()]
    whole = _PROMPT.sub("", lines[0]) if len(lines) == 1 else ""
    return whole if len(whole) <= _LONGEST_COMMAND else ""
