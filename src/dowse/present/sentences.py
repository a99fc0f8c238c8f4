"""Markdown → sentences that read as prose."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dowse.present.inline import reveal, strip_marks, without_images
from dowse.present.pieces import Piece, pieces

_CLOSING = r"[\"'”’»)\]]*+"
_STOPS = "[.!?…।؟۔]"  # a run of them is tried once, from its first
_END = re.compile(
    rf"(?P<stop>(?<!{_STOPS}){_STOPS}++){_CLOSING}(?=\s)|[。！？｡]+(?![」』）”]+[とっ])[」』）”]*"
)
_TITLES_AND_SUCH = """
    al cf co corp dept dr eds eg est ex ie inc incl jr ltd mr mrs ms mt prof resp sr st viz vs
"""
_MONTHS_AND_SUCH = """
    approx art ca ch ed eq fig figs max min no nr op p pp sec tab vol
    jan feb mar apr jun jul aug sep sept oct nov dec
"""
_NEVER_LAST = frozenset(_TITLES_AND_SUCH.split())
_BEFORE_NUMBERS = frozenset(_MONTHS_AND_SUCH.split())
_TIMES = frozenset({"a.m", "p.m"})
_LAST_WORD = re.compile(r"[^\s(\[\"'“‘]+$")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
# Numbers in brackets would be taken for citations of the answer.
_REFERENCE = re.compile(r"\s?(?<!\w)\[\d{1,3}(?:\s?[,–-]\s?\d{1,3})*\]")
_LONGEST_COMMAND = 160  # characters
_PROMPT = re.compile(r"^[$>%]\s+")


def sentences(text: str) -> list[str]:
    """The sentences of a text; a list item or a table row without a full stop counts as one.

    Headings and code are none, but one line of code right after a colon belongs to what leads to
    it: "Build it again with: dowse index --rebuild".
    """
    found: list[str] = []
    previous: Piece | None = None
    for piece in pieces(text):
        if piece.kind in {"prose", "row"}:
            found += split_sentences(piece.labelled or piece.markup)
        elif piece.kind == "code" and _leads_to(previous) and (command := _command(piece)):
            found[-1:] = [f"{line} {command}" for line in found[-1:]]
        previous = piece
    return found


def split_sentences(markup: str) -> list[str]:
    """A paragraph cut into sentences, without the marks in it."""
    stripped = _REFERENCE.sub("", strip_marks(without_images(markup)))
    return [sentence for part in _split(stripped) if (sentence := " ".join(reveal(part).split()))]


def _split(text: str) -> Iterator[str]:
    start = 0
    for match in _END.finditer(text):
        if match["stop"] is None or _is_end(text, start, match):
            yield text[start : match.end()]
            start = match.end()
    yield text[start:]


def _is_end(text: str, start: int, match: re.Match[str]) -> bool:
    rest = text[match.end() : match.end() + 20].lstrip()
    if match["stop"] != ".":
        # "wait… what" and "yes! she said" go on.
        return not rest[:1].islower()
    before = _LAST_WORD.search(text, max(start, match.start() - 40), match.start())
    word = before[0].lower() if before else ""
    if word.isdecimal() and before is not None and _is_first(text, start, before.start()):
        return False  # "3. Then" is the number of a step
    return not _is_abbreviation(word, rest)


def _is_first(text: str, start: int, place: int) -> bool:
    """Whether nothing is said before a place near the start."""
    return place - start < _LONGEST_COMMAND and not text[start:place].strip()


def _is_abbreviation(word: str, rest: str) -> bool:
    letters = word.replace(".", "")
    if letters in _NEVER_LAST:
        return True
    if letters in _BEFORE_NUMBERS:
        return rest[:1].isdecimal()
    if _INITIALS.fullmatch(word):
        # "p.m. He" is an end, "p.m. and", "J. B." and "U.S. Army" are none.
        return rest[:1].islower() or word not in _TIMES
    return letters == "etc" and rest[:1].islower()


def _leads_to(piece: Piece | None) -> bool:
    return (
        piece is not None and piece.kind == "prose" and piece.markup.rstrip().endswith((":", "："))
    )


def _command(code: Piece) -> str:
    """The code on one line, if that is all there is of it."""
    lines = [line.strip() for line in code.markup.split("\n") if line.strip()]
    whole = _PROMPT.sub("", lines[0]) if len(lines) == 1 else ""
    return whole if len(whole) <= _LONGEST_COMMAND else ""
