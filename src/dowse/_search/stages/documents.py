"""What becomes a result: what is sure enough, one passage per document, its section, a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from dowse._search.stages.dedup import drop_repeats, repeats
from dowse._search.state import Candidate, SearchState
from dowse._util.bounds import Options
from dowse.errors import BadSettings

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
    wanted = search.wanted
    search.total = len(search.candidates)
    search.settled = 0
    beyond = range(wanted, search.total)
    search.drop("top_n", {place: f"place {place + 1} of {search.total}" for place in beyond})
