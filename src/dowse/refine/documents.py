"""One result per document: its best passage, which names the others that match."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from dowse.frozen import dataclass
from dowse.refine.diversity import DiversityOptions
from dowse.search_state import Candidate, SearchState

_WORTH = 0.5  # share of the best passage's score; one with less is hardly a match next to it


@dataclass(frozen=True, slots=True)
class DocumentsOptions:
    """Whether a document is one result, or each of its passages is."""

    passages: Annotated[
        bool,
        "List every passage as a result of its own. Otherwise a document is one result: its best"
        " passage, with the places of the others that match.",
    ] = False


def lists_documents(search: SearchState) -> bool:
    """Whether a document is one result; a limit of passages per document asks for passages."""
    diversity = search.of(DiversityOptions)
    limited = diversity.max_chunks_per_doc > 0 and not diversity.mmr
    return not search.of(DocumentsOptions).passages and not limited


def keep_best_passages(search: SearchState) -> None:
    """Keeps the best passage of each document, and gives it the others."""
    best, reasons = best_of_each(search.candidates), {}
    for place, one in enumerate(search.candidates):
        better = best[one.document]
        if one is not better:
            reasons[place] = _reason(better, one)
            better.others += [one] if _matches_too(better, one) else []
    search.drop("documents", reasons)


def best_of_each(candidates: Sequence[Candidate]) -> dict[str, Candidate]:
    """The first candidate of each document, in their order."""
    best: dict[str, Candidate] = {}
    for one in candidates:
        best.setdefault(one.document, one)
    return best


def has_too_few(search: SearchState) -> bool:
    """Whether the list has fewer documents than were asked for, and more candidates may help."""
    asked = search.asked
    if asked.top_k or search.count >= asked.top_n or not lists_documents(search):
        return False
    cut = any(len(ranking.scores) >= search.limit for ranking in search.rankings)
    # What comes after a result that is too uncertain is not more certain.
    if not cut or any(one.steps[-1].stage == "threshold" for one in search.dropped):
        return False
    return search.reading.catalogue.has_more_than(search.count)


def _matches_too(best: Candidate, other: Candidate) -> bool:
    return other.score >= _WORTH * best.score


def _reason(best: Candidate, other: Candidate) -> str:
    chunk = best.stored.chunk
    lines = f"lines {chunk.first_line}–{chunk.last_line}"
    if _matches_too(best, other):
        return f"listed under the best passage of its document, {lines}"
    return f"its document has a much better passage, {lines}"
