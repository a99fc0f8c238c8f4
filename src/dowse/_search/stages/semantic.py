"""Ranking by meaning."""

from __future__ import annotations

from dowse._model import Keys, Ranking, Vector
from dowse._search.state import SearchState
from dowse.errors import EmbedError, UsageError

_MAKE_VECTORS = "Make them with: dowse config set embed.provider local, then dowse index --rebuild"


def rank_by_meaning(search: SearchState, limit: int, among: Keys | None = None) -> Ranking:
    """Chunks by the cosine of their vector to the query's.

    A chunk that the model cannot read has a vector of zeros, and is near nothing.
    """
    vector = query_vector(search)
    found = [] if vector is None else search.reading.vectors.nearest(vector, limit, among)
    return Ranking("semantic", [pair for pair in found if pair[1] != 0.0], ceiling=1.0)


def query_vector(search: SearchState) -> Vector | None:
    """The vector of what is searched for; None when there is none, and words can rank."""
    if search.vector is None:
        search.vector = _embed(search)
    return search.vector


def _embed(search: SearchState) -> Vector | None:
    embedder, only_by_meaning = search.parts.embedder, search.strategies == ("semantic",)
    if embedder is None:
        if only_by_meaning:
            raise UsageError("The index has no vectors to rank by meaning with.", _MAKE_VECTORS)
        return None
    try:
        if search.hypothesis:
            batch = next(iter(embedder.passages([search.embedded_text])))
            vector: Vector = batch.vectors[0]
            return vector
        return embedder.query(search.embedded_text)
    except EmbedError as error:
        if only_by_meaning:
            raise
        search.notices.append(f"Ranked by words alone. {error}")
        return None
