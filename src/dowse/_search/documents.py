"""What becomes a result: what is there, sure enough, the best of its document, on the page."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from dowse._index.source.roots import Root, owner, path_of
from dowse._model import DocumentEntry, FileState, StoredChunk, header_line, titled_path
from dowse._search.dedup import drop_repeats, repeats
from dowse._search.fusion import put_named_first
from dowse._search.state import Candidate, SearchState
from dowse._text.markdown import pieces, plain
from dowse._util.bounds import ALWAYS, NAME, SHARE, Options
from dowse.errors import BadSettings, EmbedError, NotFound

# ── Sure enough ────────────────────────────────────────────────────────────────


class ThresholdOptions(Options, frozen=True):
    """How sure dowse must be of a result."""

    min_confidence: Annotated[
        float,
        Meta(ge=-1, le=1),
        "Drop results with a confidence below this (0–1). -1: drop none, and say so where there is"
        " no good match.",
    ] = -1.0

    def __post_init__(self) -> None:
        """Reject a confidence that cannot be."""
        super().__post_init__()
        if -1 < self.min_confidence < 0:
            raise BadSettings(
                "threshold.min_confidence must be between 0 and 1, or -1.",
                "Use 0.3 for strict results.",
            )


def drop_unsure(search: SearchState) -> None:
    """Leave out what dowse is not sure enough of."""
    least = search.settings.threshold.min_confidence
    reasons = {
        place: f"confidence {one.score:.4f} is below {least:g}"
        for place, one in enumerate(search.candidates)
        if one.score < least
    }
    before = len(search.dropped)
    search.drop("threshold", reasons)
    search.unsure += search.dropped[before:]


# ── One result per document: its best passage, which names the others that match ───

_WORTH = 0.5  # share of the best passage's score; one with less is hardly a match next to it


class DocumentsOptions(Options, frozen=True):
    """Whether a document is one result, or each of its passages is."""

    passages: Annotated[
        bool,
        "List every passage as a result of its own. Otherwise a document is one result: its best"
        " passage, with the places of the others that match.",
    ] = False


def lists_documents(search: SearchState) -> bool:
    """Tell whether a document is one result; a limit of passages per document asks for passages."""
    diversity = search.settings.diversity
    limited = diversity.max_chunks_per_doc > 0 and not diversity.mmr
    return not search.settings.documents.passages and not limited


def keep_best_passages(search: SearchState) -> None:
    """Keep the best passage of each document, and give it the others."""
    best, reasons = best_of_each(search.candidates), {}
    for place, one in enumerate(search.candidates):
        better = best[one.document]
        if one is better:
            continue
        chunk = better.stored.chunk
        lines = f"lines {chunk.first_line}–{chunk.last_line}"
        if one.score >= _WORTH * better.score:
            better.others.append(one)
            reasons[place] = f"listed under the best passage of its document, {lines}"
        else:
            better.weaker.append(one)
            reasons[place] = f"its document has a much better passage, {lines}"
    search.drop("documents", reasons)


def best_of_each(candidates: Sequence[Candidate]) -> dict[str, Candidate]:
    """Find the first candidate of each document, in their order."""
    best: dict[str, Candidate] = {}
    for one in candidates:
        best.setdefault(one.document, one)
    return best


# ── Whole sections instead of chunks ───────────────────────────────────────────


class ParentsOptions(Options, frozen=True):
    """Whether whole sections are returned."""

    enabled: Annotated[bool, "Return the whole section around each chunk, once."] = False


def show_sections(search: SearchState) -> None:
    """Put the section around each chunk in its place, once."""
    sections = [(one.document, one.stored.chunk.section) for one in search.candidates]
    drop_repeats(search, "parents", "same section as", repeats(sections))
    for candidate in search.candidates[: search.wanted]:
        document = search.reader.catalogue.document(candidate.document)
        if document is not None:
            section = next(s for s in document.sections if s.id == candidate.stored.chunk.section)
            candidate.section = section
            candidate.section_text = document.text[section.start : section.end]


# ── The page that is asked for ─────────────────────────────────────────────────


def keep_first(search: SearchState) -> None:
    """Keep the results up to the end of the page that is asked for."""
    search.total = len(search.candidates)
    search.settled = 0
    beyond = range(search.wanted, search.total)
    search.drop("top_n", {place: f"place {place + 1} of {search.total}" for place in beyond})


# ── Whether a file is still there ───────────────────────────────────────────────


def drop_deleted(search: SearchState) -> None:
    """Leave out what has been deleted since it was indexed."""
    documents = {candidate.document for candidate in search.candidates}
    gone = {document for document in documents if is_gone(search.parts.roots, document)}
    places = [n for n, one in enumerate(search.candidates) if one.document in gone]
    search.drop("fresh", dict.fromkeys(places, "its file is gone"))


def is_gone(roots: Sequence[Root], document_id: str) -> bool:
    """Tell whether the file has been deleted; not when its whole root is out of reach."""
    root = owner(roots, document_id)
    # The path as the id spells it is nearly always the right one; a Path takes as long as to look
    # it up. A link in the place of the root is as good as an unmounted disk.
    spelled = root and os.path.join(root.path, document_id.removeprefix(root.prefix))  # noqa: PTH118
    if root and spelled and (not _is_missing(spelled) or root.leads_to):
        return False
    try:
        path = path_of(roots, document_id)
    except NotFound:  # of a root that the project no longer has
        return True
    # An unmounted disk has lost its root with its files; a deleted file has not.
    return root is None or (_is_missing(path) and not _is_missing(root.path))


def is_stale(
    roots: Sequence[Root], entry: DocumentEntry, files: Callable[[], Mapping[str, FileState]]
) -> bool:
    """Tell whether the file says something else than when it was indexed, or is out of reach."""
    root = owner(roots, entry.id)
    if root is not None and root.is_elsewhere:
        return False  # what was imported is all there is to know
    with suppress(OSError):
        # The path as the id spells it is quicker to find than the real one.
        plain = root and root.path / entry.id.removeprefix(root.prefix)
        status = plain and plain.stat()
        if status and (status.st_size, status.st_mtime_ns) == (entry.size, entry.mtime_ns):
            return False
    try:
        path = path_of(roots, entry.id)
        status = path.stat()
        return status.st_size != entry.size or (
            status.st_mtime_ns != entry.mtime_ns
            and hashlib.sha256(path.read_bytes()).hexdigest() != files()[entry.id].digest
        )
    except (NotFound, OSError):
        return True


def _is_missing(path: Path | str) -> bool:
    """Tell whether there is nothing; a folder that may not be looked into could hold it still."""
    try:
        os.stat(path)  # noqa: PTH116
    except OSError as error:
        return isinstance(error, (FileNotFoundError, NotADirectoryError))
    return False


# ── A second opinion ────────────────────────────────────────────────────────────


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
        int, Meta(ge=1, le=1000), "Rerank this many of the first results (1–1000)."
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
    texts = [
        passage(one.stored) if options.model else one.stored.embedding_text("title") for one in head
    ]
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
    return first + [(place, min(score, cap)) for place, score in enumerate(scores)][len(mixed) :]
