"""From the results of a search to an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from dowse.answer import AnswerOptions, extract_answer, instructions_and_material, written_answer
from dowse.errors import EmbedError, EndpointFailed
from dowse.ports import Writer
from dowse.search_state import SearchState
from dowse.types import Answer, Response, Vector


def with_answer(
    search: SearchState, response: Response, options: AnswerOptions, writer: Writer | None
) -> Response:
    """The response of a search that has been run, with what it says to the question."""
    if not response.hits:
        return response
    if writer is not None:
        try:
            return replace(response, answer=_write(search, response, options, writer))
        except EndpointFailed as error:
            told = f"Answered with the documents' own sentences. {error}"
            response = replace(response, notices=(*response.notices, told))
    answer = extract_answer(
        response.hits,
        search.query.terms,
        search.parts.analyzer.query_terms,
        _similarity(search),
        options,
    )
    return replace(response, answer=answer)


def _write(
    search: SearchState, response: Response, options: AnswerOptions, writer: Writer
) -> Answer:
    asked = instructions_and_material(search.query.text, response.hits, options.context_chars)
    return written_answer(writer.write(*asked), response.hits, writer.name)


def _similarity(search: SearchState) -> Callable[[Sequence[str]], Sequence[float]] | None:
    """How near sentences lie to the query; None without vectors."""
    embedder, vector = search.parts.embedder, search.vector
    if embedder is None or vector is None:
        return None

    def similarity(sentences: Sequence[str]) -> list[float]:
        cosines: Vector = np.zeros(len(sentences), dtype=np.float32)
        try:
            for batch in embedder.passages(sentences):
                cosines[list(batch.positions)] = batch.vectors @ vector
        except EmbedError:
            return [0.0] * len(sentences)  # words alone decide then
        return [float(cosine) for cosine in cosines]

    return similarity
