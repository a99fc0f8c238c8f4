"""How names and values are compared: without regard to case or to how accents are encoded."""

from __future__ import annotations

import unicodedata


def fold(text: str) -> str:
    """Return a text as it is compared."""
    return unicodedata.normalize("NFC", text).casefold()


def fold_name(text: str) -> str:
    """Return a title or heading as it is compared: without regard to punctuation and blanks, too.

    `#` stays, because C# is not C; so do symbols such as +.
    """
    folded = fold(unicodedata.normalize("NFKC", text))
    plain = folded.translate(_NO_PUNCTUATION)
    return " ".join(plain.split()) or " ".join(folded.split())


class _NoPunctuation(dict[int, str]):
    """Characters by what stands for them in a name; each is looked at once."""

    def __missing__(self, code: int) -> str:
        sign = chr(code)
        is_punctuation = sign != "#" and unicodedata.category(sign).startswith("P")
        self[code] = " " if is_punctuation else sign
        return self[code]


_NO_PUNCTUATION = _NoPunctuation()


def fold_word(text: str) -> str:
    """Fold a word for the vocabulary: to lower case, which keeps its letters (`ß`) apart."""
    return unicodedata.normalize("NFC", text).lower()
