"""The scripts that are written without spaces, and the widths in which they are written."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA = "\u3040-\u30ff"
_HANGUL = "\uac00-\ud7af\u1100-\u11ff"

CJK_RUN = re.compile(f"([{_HAN}{_KANA}{_HANGUL}]+)")
"""A run of Chinese, Japanese or Korean characters, which are never cut by spaces alone."""

HAN = re.compile(f"[{_HAN}]")
"""One Chinese character, in whichever language it stands."""

KANA = re.compile(f"[{_KANA}\uff66-\uff9f]")
"""One character that only Japanese has."""

HANGUL_RUN = re.compile(f"([{_HANGUL}]+)")
"""A run of characters that only Korean has."""

# Full-width punctuation that ends a word is left as it is: "：" ends one where ":" does not.
_OTHER_WIDTH = re.compile("[\uff02-\uff07\uff0a\uff0b\uff0d-\uff19\uff1c-\uff1e\uff20-\uffef]+")


def one_width(text: str) -> str:
    """A text whose full-width letters and half-width katakana are written in their usual width.

    The other differences that NFKC levels are kept: they tell terms apart, as in `x²` and `x2`.
    """
    if not text.isascii():
        text = _OTHER_WIDTH.sub(_usual, text)
    return unicodedata.normalize("NFC", text)


def _usual(match: re.Match[str]) -> str:
    return unicodedata.normalize("NFKC", match.group())


def pairs(run: str) -> Iterator[str]:
    """The overlapping pairs of a run and its Chinese characters, in the order of the text.

    One Chinese character is often a whole word, which no pair would find.
    """
    last = len(run) - 1
    for place, character in enumerate(run):
        if not last or HAN.match(character):
            yield character
        if place < last:
            yield run[place : place + 2]
