"""Text as other programs can take it."""

from __future__ import annotations


def encodable(text: str) -> str:
    """The text with halves of character pairs, which broken files contain, replaced by `?`."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
