"""How names and values are compared: without regard to case or to how accents are encoded."""

from __future__ import annotations

import unicodedata


def fold(text: str) -> str:
    """A text as it is compared."""
    return unicodedata.normalize("NFC", text).casefold()


def fold_word(text: str) -> str:
    """A word as the vocabulary holds it: in lower case, which keeps its letters (`ß`) apart."""
    return unicodedata.normalize("NFC", text).lower()
