"""The part of a text that shows best why it was found."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable

from dowse.present.marks import Mark, find_marks
from dowse.text.markup import plain
from dowse.text.matching import Wanted
from dowse.text.pieces import Piece, pieces
from dowse.text.scripts import is_unspaced
from dowse.text.sentences import sentence_ends

_LENGTH = 200  # characters
_LEAD = 40  # characters before the first match that make it readable
_BREAK = re.compile(r": | · ")  # what follows can be read without what is before it
_STARS = re.compile(r"\*{2,}")


def snippet(text: str, terms: Collection[str], terms_of: Callable[[str], Collection[str]]) -> str:
    """The stretch of about 200 characters with the most distinct terms, each between ** and **.

    It is plain text: the text's own Markdown is left out, and where two stars are meant, as in
    `f(**keywords)`, they are escaped. Without any match it is the beginning of the text.
    """
    wanted = Wanted(terms)
    shown = _readable(text)
    marks = find_marks(shown, wanted, terms_of)
    if not shown or (wanted and not marks):
        # What matched may be something that readers do not see, such as the target of a link.
        raw = _one_line(text)
        if raw_marks := find_marks(raw, wanted, terms_of):
            shown, marks = raw, raw_marks
    start, end = _window(shown, marks)
    inside = [mark for mark in marks if start <= mark.start < end]
    before = "… " if start else ""
    after = " …" if end < len(shown) else ""
    return before + _drawn(shown, start, end, inside) + after


def _readable(text: str) -> str:
    return _one_line(" ".join(_parts(pieces(text))))


def _parts(found: list[Piece]) -> Iterable[str]:
    for piece in found:
        yield piece.markup if piece.kind == "code" else plain(piece.markup)
        if piece.kind in {"heading", "row"} and piece is not found[-1]:
            yield "·"


def _one_line(text: str) -> str:
    # Backticks are dropped for good: a window could cut between two that belong together.
    return unicodedata.normalize("NFC", " ".join(text.replace("`", "").split()))


def _window(text: str, marks: list[Mark]) -> tuple[int, int]:
    start = _readable_start(text, marks[_best_first(marks)].start) if marks else 0
    if len(text) - start < _LENGTH:
        # Near the end there is room for more of what comes before.
        start = min(start, _next_word(text, len(text) - _LENGTH))
    return start, _readable_end(text, start)


def _best_first(marks: list[Mark]) -> int:
    """The first of the marks that lie together in one window and hold the most distinct terms."""
    inside: Counter[str] = Counter()
    best, most, distinct, last = 0, 0, 0, 0
    for first, mark in enumerate(marks):
        while last <= first or (last < len(marks) and _fit_together(mark, marks[last])):
            distinct += sum(not inside[term] for term in marks[last].terms)
            inside.update(marks[last].terms)
            last += 1
        if distinct > most:
            best, most = first, distinct
        inside.subtract(mark.terms)
        distinct -= sum(not inside[term] for term in mark.terms)
    return best


def _fit_together(first: Mark, last: Mark) -> bool:
    return last.end - first.start <= _LENGTH - _LEAD


def _readable_start(text: str, match: int) -> int:
    earliest = max(0, match - _LEAD)
    if not earliest:
        return 0
    ends = [*sentence_ends(text, earliest, match)]
    ends += [found.end() for found in _BREAK.finditer(text, earliest, match)]
    if not ends:
        return min(_next_word(text, earliest), match)
    return max(ends) + (text[max(ends)] == " ")


def _next_word(text: str, place: int) -> int:
    """The first place from here on where a window may begin without cutting a word."""
    if place <= 0:
        return 0
    while place < len(text) and not _may_cut(text, place):
        place += 1
    while text[place : place + 1] in {" ", "·"}:
        place += 1
    return place


def _readable_end(text: str, start: int) -> int:
    limit = start + _LENGTH
    if limit >= len(text):
        return len(text)
    end = limit
    while end > start + _LENGTH // 2 and not _may_cut(text, end):
        end -= 1
    return end if _may_cut(text, end) else limit


def _may_cut(text: str, place: int) -> bool:
    before, after = text[place - 1], text[place]
    return before == " " or after == " " or (is_unspaced(before) and is_unspaced(after))


def _drawn(text: str, start: int, end: int, marks: list[Mark]) -> str:
    drawn = ""
    for mark in marks:
        # Stars that touch a mark are drawn inside it: outside they would seem to be part of it.
        before = text[start : mark.start].rstrip("*")
        inside = text[start + len(before) : min(mark.end, end)].replace("*", r"\*")
        drawn += _escaped(before, after_mark=bool(drawn)) + f"**{inside}**"
        start = min(mark.end, end)
    return (drawn + _escaped(text[start:end], after_mark=bool(drawn))).strip()


def _escaped(text: str, *, after_mark: bool) -> str:
    """The text with its own stars escaped where they would be taken for marks."""
    text = _STARS.sub(lambda stars: r"\*" * len(stars[0]), text)
    return "\\" + text if after_mark and text.startswith("*") else text
