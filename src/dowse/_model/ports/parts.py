"""What turns text into vectors, terms, scores and answers promises, and what it does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from dowse._model import EmbeddedBatch, Fields, Model, Stream, Vector


class Embedder(Protocol):
    """Turns texts into vectors of unit length.

    Promises: equal texts give vectors that are equal to within rounding, whatever is embedded with
    them in the call; every position is yielded exactly once; vectors have `model.dimensions`.
    Does not promise: an order of the batches, or that a failed call can be resumed. What was
    yielded before a failure is good and may be kept.
    """

    @property
    def model(self) -> Model:
        """The model behind the vectors; reading it loads no weights."""
        ...

    def passages(self, texts: Sequence[str]) -> Iterator[EmbeddedBatch]:
        """Embeds texts to be found, yielding batches as they are done.

        Raises `WeightsMissing` or `EndpointFailed` when no vectors can be made.
        """
        ...

    def query(self, text: str) -> Vector:
        """Embeds a text to search with."""
        ...


class Analyzer(Protocol):
    """Turns text into the terms that the keyword index holds.

    Promises: the same text gives the same terms as long as `stamp` stays the same; no term is
    empty or has whitespace in it.
    """

    @property
    def stamp(self) -> Mapping[str, object]:
        """The settings that terms depend on; an index built with others is refused."""
        ...

    def chunk_terms(
        self, fields: Fields, header_path: Sequence[str], text: str
    ) -> list[tuple[str, int]]:
        """The terms of a chunk with their positions; a term weighs as often as it is listed."""
        ...

    def chunk_stream(self, fields: Fields, header_path: Sequence[str], text: str) -> Stream:
        """The terms of `chunk_terms`; one that is listed at a position twice follows it twice."""
        ...

    def query_terms(self, text: str) -> list[str]:
        """The distinct terms of a query; those of a chunk's text are among the chunk's."""
        ...

    def code_terms(self, text: str) -> list[tuple[str, int]]:
        """The identifiers of a piece of code and their parts, with their positions."""
        ...

    def code_stream(self, text: str) -> Stream:
        """The terms of `code_terms`."""
        ...

    def vocabulary(self, text: str) -> Counter[str]:
        """The words of a text that the vocabulary can hold, with how often they occur."""
        ...


class Reranker(Protocol):
    """Reads a query and passages together, more closely than two vectors can be compared.

    Promises: one score per passage, from 0 to 1, higher for what fits better; the same call gives
    the same scores. Loads its model on first use.
    """

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """How well each passage answers the query; raises `EmbedError` when it cannot say."""
        ...


class Writer(Protocol):
    """A language model that writes text."""

    @property
    def name(self) -> str:
        """The model's name, for people."""
        ...

    def write(self, instructions: str, material: str) -> str:
        """What the model writes by these instructions; raises `EndpointFailed` when it cannot."""
        ...
