"""What counts as Chinese, Japanese or Korean, and the widths in which it is written."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from dowse._text.late_pattern import late_pattern

HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Chinese characters, in whichever language they are used; ranges for a class of a pattern."""

KANA = "\u3040-\u30ff\uff66-\uff9f"
"""What only Japanese has, in both widths."""

HANGUL = "\uac00-\ud7af\u1100-\u11ff"
"""What only Korean has."""

WIDE_SIGNS = "\u2e80-\u303f\u3100-\u312f\u31f0-\u31ff\uff00-\uff65"
"""Punctuation of these scripts, parts of characters, and letters in full width."""

CJK = f"{HAN}{KANA}{HANGUL}"
"""Chinese, Japanese and Korean."""

CJK_CHARACTER = late_pattern(f"[{CJK}]")
CJK_RUN = late_pattern(f"([{CJK}]+)")
HAN_CHARACTER = late_pattern(f"[{HAN}]")
KANA_CHARACTER = late_pattern(f"[{KANA}]")
HANGUL_RUN = late_pattern(f"([{HANGUL}]+)")

_NOT_LATIN = re.compile("[^\0-\u024f]+")  # characters that no Latin alphabet in use has
_LEAST_LATIN = 0.1  # share of the letters of a text
_UNSPACED = late_pattern(f"[{HAN}{KANA}{WIDE_SIGNS}]")

# Full-width punctuation that ends a word is left as it is: "：" ends one where ":" does not.
_OTHER_WIDTH = late_pattern("[\uff02-\uff07\uff0a\uff0b\uff0d-\uff19\uff1c-\uff1e\uff20-\uffef]+")


def is_unspaced(character: str) -> bool:
    """Return whether it is of a script that puts no spaces between words, as Korean does."""
    return not character.isascii() and _UNSPACED.match(character) is not None


def latin_share(text: str) -> float:
    """Return the share of a text's letters that are Latin; 1 when it has no letters."""
    if text.isascii():
        return 1.0
    others = sum(map(str.isalpha, "".join(_NOT_LATIN.findall(text))))
    return 1.0 - others / sum(map(str.isalpha, text)) if others else 1.0


def is_latin(text: str) -> bool:
    """Tell whether a model that reads no other letters is given a text.

    Vectors of other texts would count for less than a thousandth in a search (see the stage
    `readable`), and Chinese takes as long to embed as English.
    """
    return latin_share(text) >= _LEAST_LATIN


def one_width(text: str) -> str:
    """Write full-width letters and half-width katakana of a text in their usual width.

    The other differences that NFKC levels are kept: they tell terms apart, as in `x²` and `x2`.
    """
    if not text.isascii():
        text = _OTHER_WIDTH.sub(_usual, text)
    return unicodedata.normalize("NFC", text)


def _usual(match: re.Match[str]) -> str:
    return unicodedata.normalize("NFKC", match.group())


def pairs(run: str) -> Iterator[str]:
    """Yield the overlapping pairs of a run and its Chinese characters, in the order of the text.

    One Chinese character is often a whole word, which no pair would find.
    """
    last = len(run) - 1
    for place, character in enumerate(run):
        if not last or HAN_CHARACTER.match(character):
            yield character
        if place < last:
            yield run[place : place + 2]
