"""Random texts that are the same for the same seed: mutations of a kept corpus, and grammars."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

CORPUS = Path(__file__).parent / "torture" / "corpus"
"""Small files, one for every shape and every fault that was ever found."""


def corpus(kind: str) -> list[str]:
    """The texts that are kept of a kind."""
    return [path.read_text("utf-8") for path in sorted((CORPUS / kind).iterdir())]


class Fuzzer:
    """Makes texts from a corpus and from parts of a grammar."""

    def __init__(self, seed: int, texts: Sequence[str], parts: Sequence[str]) -> None:
        self._rng = random.Random(seed)
        self._texts = texts
        self._parts = parts
        self._changes: list[Callable[[str], str]] = [
            self._insert,
            self._delete,
            self._repeat,
            self._swap,
            self._cross,
            self._character,
        ]

    def text(self) -> str:
        """A mutated text of the corpus, or one of parts."""
        if self._rng.random() < 0.4:
            return "".join(self._rng.choices(self._parts, k=self._rng.randrange(60)))
        text = self._rng.choice(self._texts)
        for _ in range(self._rng.randrange(1, 6)):
            text = self._rng.choice(self._changes)(text)
        return text[:20_000]

    def _place(self, text: str) -> int:
        return self._rng.randrange(len(text) + 1)

    def _span(self, text: str) -> tuple[int, int]:
        start = self._place(text)
        return start, min(len(text), start + self._rng.choice((1, 3, 10, 100)))

    def _insert(self, text: str) -> str:
        place = self._place(text)
        return text[:place] + self._rng.choice(self._parts) + text[place:]

    def _delete(self, text: str) -> str:
        start, end = self._span(text)
        return text[:start] + text[end:]

    def _repeat(self, text: str) -> str:
        start, end = self._span(text)
        return text[:end] + text[start:end] * self._rng.choice((1, 2, 7, 70)) + text[end:]

    def _swap(self, text: str) -> str:
        start, end = self._span(text)
        return text[end:] + text[start:end] + text[:start]

    def _cross(self, text: str) -> str:
        other = self._rng.choice(self._texts)
        return text[: self._place(text)] + other[self._place(other) :]

    def _character(self, text: str) -> str:
        place = self._place(text)
        sign = chr(self._rng.choice((0, 7, 9, 32, 160, 0x301, 0x3000, 0xD800, 0x1F600, 0x10FFFF)))
        return text[:place] + sign + text[place + 1 :]
