"""Vectors for texts: known ones are looked up, the others made, and nothing made is ever lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from dowse._model import Vector, text_key
from dowse._model.ports import Embedder, IndexWriter
from dowse._text.scripts import is_readable
from dowse.errors import EmbedError

_AT_ONCE = 1000  # texts whose vectors are kept together


class VectorMaker:
    """Makes the vectors of an indexing run."""

    def __init__(self, embedder: Embedder | None, writer: IndexWriter) -> None:
        self._embedder = embedder
        self._writing = writer
        self.made = 0  # texts that the embedder has read
        self.unreadable = 0  # texts in a script that the model cannot read
        self.notices: list[str] = []  # why there are no vectors, if there are none

    @property
    def can_embed(self) -> bool:
        """Whether vectors are wanted and can be had, as far as is known."""
        return self._embedder is not None

    def unknown(self, texts: Iterable[str]) -> list[str]:
        """Return the texts that have no vector yet, each once, in their order."""
        keys = {text_key(text): text for text in texts}
        return [keys[key] for key in self._writing.text_vectors.missing(list(keys))]

    def known(self, texts: Iterable[str]) -> dict[bytes, Vector]:
        """Return the vectors of those texts that have one, by text key."""
        return self._writing.text_vectors.known(list({text_key(text) for text in texts}))

    def make(
        self, texts: Sequence[str], progress: Callable[[float], None] = lambda _: None
    ) -> dict[bytes, Vector]:
        """Return the vectors of these texts, by text key; fewer when the embedder gives up.

        When the run is interrupted, what is made so far is kept in the index.
        """
        made: dict[bytes, Vector] = {}
        if self._embedder is None or not texts:
            return made
        try:
            blank = self._unreadable(texts)
            readable = [text for text in texts if text not in blank]
            for batch in self._embedder.passages(readable):
                for position, vector in zip(batch.positions, batch.vectors, strict=True):
                    made[text_key(readable[position])] = vector
                self.made += len(batch.positions)
                progress(len(made) / len(readable))
        except EmbedError as error:
            self.notices.append(f"Indexed for keyword search only. {error}")
            self._embedder, blank = None, {}
        except BaseException:
            self._writing.remember(made)
            raise
        self.unreadable += len(blank)
        return made | {text_key(text): vector for text, vector in blank.items()}

    def make_and_keep(
        self, count: int, texts: Callable[[slice], list[str]], progress: Callable[[int], None]
    ) -> int:
        """Embed so many texts, a few at a time; each few are kept before the next are begun."""
        before = self.made
        for start in range(0, count, _AT_ONCE):
            end = min(count, start + _AT_ONCE)

            def progress_from(part: float, start: int = start, end: int = end) -> None:
                progress(start + int(part * (end - start)))

            progress_from(0.0)
            # A text that several chunks share is embedded once.
            some = texts(slice(start, end))
            unknown = self.unknown(some)
            # A run that was killed may have kept a vector that not all its chunks have got.
            kept = self.known(some) if len(unknown) < len(set(some)) else {}
            self._writing.remember(kept | self.make(unknown, progress_from))
            if not self.can_embed:  # the embedder gave up
                break
        return self.made - before

    def _unreadable(self, texts: Sequence[str]) -> dict[str, Vector]:
        """Return the texts that the model cannot read, each with a vector that is near nothing."""
        model = self._embedder.model if self._embedder else None
        if model is None or model.scripts is None:
            return {}
        nothing: Vector = np.zeros(model.dimensions, np.float32)
        return {text: nothing for text in texts if not is_readable(text, model.scripts)}
