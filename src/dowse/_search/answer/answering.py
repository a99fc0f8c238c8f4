"""From the results of a search to an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from dowse._model import Hit, Response, Vector
from dowse._model.ports import Embedder, Writer
from dowse._search.answer.extract import AnswerOptions, Read, extract_answer, read_of
from dowse._search.answer.llm import instructions_and_material, written_answer
from dowse._search.stages.documents import lists_documents
from dowse._search.state import SearchState
from dowse._text.sentences import asking_part
from dowse._util.arrays import np
from dowse.errors import EmbedError, EndpointFailed

_PASSAGES = 12  # of one document
_ASKS = 2  # terms from which a part of the query says enough to be compared with


def with_answer(
    search: SearchState, response: Response, options: AnswerOptions, writer: Writer | None
) -> Response:
    """Add what a search that has been run says to the question.

    Where there is no good match, there is no answer: sentences that only share words with the
    question read as if they were one.
    """
    if response.no_good_match or not response.hits:
        return response
    if writer is not None:
        response = with_written_answer(search.query.text, response, options, writer)
        if response.answer is not None:
            return response
    answer = extract_answer(
        _read(search, response),
        search.query.terms,
        search.parts.analyzer.query_terms,
        _similarity(search),
        options,
        rarity=search.rarity("body", search.query.terms),
    )
    return replace(response, answer=answer)


def with_written_answer(
    question: str, response: Response, options: AnswerOptions, writer: Writer
) -> Response:
    """Add an answer that a model writes; where it fails, a notice says so."""
    asked = instructions_and_material(question, response.hits, options.context_chars)
    try:
        answer = written_answer(writer.write(*asked), response.hits, writer.name)
    except EndpointFailed as error:
        told = f"Answered with the documents' own sentences. {error}"
        return replace(response, notices=(*response.notices, told))
    return replace(response, answer=answer)


def _read(search: SearchState, response: Response) -> list[Read]:
    """Choose what to read for an answer: the results, and of whole documents the best passages."""
    shown = read_of(response.hits)
    if not lists_documents(search):
        return shown
    pairs = zip(response.hits, shown, strict=True)
    return [passage for hit, one in pairs for passage in _passages(search, hit, one)]


def _passages(search: SearchState, hit: Hit, shown: Read) -> list[Read]:
    """Find the passages of a document nearest to the query, in the order of its text."""
    keys = search.reader.catalogue.keys_of([hit.document])
    if search.among is not None:
        keys = np.intersect1d(keys, search.among)
    near = dict(search.rank(keys)[:_PASSAGES])
    stored = sorted(search.stored(list(near)).values(), key=lambda one: one.chunk.start)
    cosine = search.vector is not None
    return [
        replace(
            shown,
            text=one.text,
            header_path=one.chunk.header_path,
            near=max(0.0, near[one.key]) if cosine else 0.0,
        )
        for one in stored
    ] or [shown]


def _similarity(search: SearchState) -> Callable[[Sequence[str]], Sequence[float]] | None:
    """Make the function that compares sentences with the query; None without vectors."""
    embedder, vector = search.parts.embedder, search.vector
    if embedder is None or vector is None:
        return None
    vector = _asked(search, embedder, vector)

    def similarity(sentences: Sequence[str]) -> list[float]:
        cosines: Vector = np.zeros(len(sentences), dtype=np.float32)
        try:
            for batch in embedder.passages(sentences):
                cosines[list(batch.positions)] = np.vecdot(batch.vectors, vector)
        except EmbedError:
            return [0.0] * len(sentences)  # words alone decide then
        return [float(cosine) for cosine in cosines]

    return similarity


def _asked(search: SearchState, embedder: Embedder, whole: Vector) -> Vector:
    """Embed what the query asks, without the sentences that only say why it asks."""
    part = asking_part(search.query.text)
    if part == search.query.text or search.hypothesis:
        return whole
    if len(set(search.parts.analyzer.query_terms(part))) < _ASKS:
        return whole
    try:
        return embedder.query(part)
    except EmbedError:
        return whole
