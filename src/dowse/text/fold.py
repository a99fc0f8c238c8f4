"""How names and values are compared: without regard to case or to how accents are encoded."""

from __future__ import annotations

import unicodedata


def fold(text: str) -> str:
    """A text as it is compared."""
    return unicodedata.normalize("NFC", text).casefold()


def fold_name(text: str) -> str:
    """A title or heading as it is compared: without regard to punctuation and blanks, too.

    `#` stays, because C# is not C; so do symbols such as +.
    """
    folded = fold(unicodedata.normalize("NFKC", text))
    plain = "".join(" " if _is_punctuation(sign) else sign for sign in folded)
    return " ".join(plain.split()) or " ".join(folded.split())


def _is_punctuation(sign: str) -> bool:
    return sign != "#" and unicodedata.category(sign).startswith("P")


def fold_word(text: str) -> str:
    """A word as the vocabulary holds it: in lower case, which keeps its letters (`ß`) apart."""
    return unicodedata.normalize("NFC", text).lower()
