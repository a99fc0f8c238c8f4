"""A second opinion on the first results, and what it does to the list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from dowse._model import StoredChunk, header_line, titled_path
from dowse._search.stages.boosts import put_named_first
from dowse._search.state import SearchState
from dowse._text.markdown import pieces, plain
from dowse._util.bounds import ALWAYS, NAME, SHARE, Options
from dowse.errors import EmbedError


class RerankOptions(Options, frozen=True):
    """Whether the first results are read once more, together with the query."""

    enabled: Annotated[bool, "Read the first results again, together with the query."] = False
    model: Annotated[
        str,
        NAME,
        ALWAYS,
        "A cross-encoder, by name or folder; empty: the embedding model's own tokens.",
    ] = ""
    top_n: Annotated[
        int, Meta(ge=1, le=1000), "How many of the first results to read (1–1000)."
    ] = 10
    mix: Annotated[
        float,
        SHARE,
        "Share of the reranker in the score (0–1); 1: it alone decides the order.",
    ] = 0.2


def read_closely(search: SearchState) -> None:
    """Read the first results together with the query, and order them again."""
    options, open_reranker = search.settings.rerank, search.parts.reranker
    if open_reranker is None:
        search.notices.append("Not reranked: without a local model there is nothing to read with.")
        return
    head = search.candidates[: options.top_n]
    if not head:
        return
    # The tokens of the embedding model fit best to the texts that it was trained to embed.
    read = passage if options.model else embedded
    texts = [read(one.stored) for one in head]
    try:
        fresh = open_reranker().scores(search.query.text, texts)
    except EmbedError as error:
        search.notices.append(f"Not reranked. {error}")
        return
    scores = [candidate.score for candidate in search.candidates]
    ordered = reorder(scores, fresh, options.mix)
    for place, score in ordered:
        if place < len(fresh) or score != scores[place]:
            search.candidates[place].rescore("rerank", score)
    search.candidates = [search.candidates[place] for place, _ in ordered]
    if search.named:
        put_named_first(search)


def embedded(stored: StoredChunk) -> str:
    """Write what the built-in reranker reads: the text that is embedded by default."""
    return stored.embedding_text("title")


def passage(stored: StoredChunk) -> str:
    """Write what a cross-encoder reads: `Title > Heading > the text without its markup`."""
    path = titled_path(stored.document.fields.title, stored.chunk.header_path)
    shown = (
        piece.markup if piece.kind == "code" else plain(piece.markup)
        for piece in pieces(stored.text)
    )
    return header_line((*path, " ".join(" ".join(shown).split())))


def reorder(
    scores: Sequence[float], new_scores: Sequence[float], mix: float
) -> list[tuple[int, float]]:
    """Return the old place and the score of each result, in the order that the new scores give.

    The new scores belong to the first results, whose score becomes `(1 - mix) * old + mix * new`;
    ties stay in their order. The rest follows, its scores capped so that none is above the last
    of those: scores that never increase down the list still do not.
    """
    mixed = [(1 - mix) * old + mix * new for old, new in zip(scores, new_scores, strict=False)]
    first = sorted(enumerate(mixed), key=lambda placed: -placed[1])
    cap = min(mixed, default=float("inf"))
    rest = [(place, min(scores[place], cap)) for place in range(len(mixed), len(scores))]
    return first + rest
