"""The last stages of a search: from one list to a better, shorter one."""

from __future__ import annotations

from collections.abc import Mapping

from dowse.errors import EmbedError
from dowse.flow.candidates import Candidate, Searching
from dowse.refine import (
    fold_whitespace,
    near_duplicates,
    over_limit,
    reorder,
    repeats,
    select_diverse,
    semantic_duplicates,
)
from dowse.types import embedding_text


def drop_unsure(search: Searching) -> None:
    """Leaves out what dowse is not sure enough of."""
    asked_for, least = search.recipe.threshold.min_confidence, search.least_confidence
    unsure = [place for place, one in enumerate(search.candidates) if one.score < least]
    if asked_for < 0 and 0 not in unsure:
        # What goes with the calibration is for the answer as a whole: dropping single results
        # behind a good one cost nine points of recall on the shipped corpus.
        return
    scores = [candidate.score for candidate in search.candidates]
    told = {place: f"confidence {scores[place]:.4f} is below {least:g}" for place in unsure}
    search.drop("threshold", told)


def drop_exact(search: Searching) -> None:
    """Leaves out texts that are there already."""
    texts = [fold_whitespace(candidate.stored.text) for candidate in search.candidates]
    _drop_repeats(search, "exact_dedup", "same text as", repeats(texts))


def drop_near(search: Searching) -> None:
    """Leaves out texts that are nearly there already."""
    texts = [candidate.stored.text for candidate in search.candidates]
    found = near_duplicates(texts, search.recipe.near_dedup.similarity)
    _drop_repeats(search, "near_dedup", "nearly the same text as", found)


def drop_same_meaning(search: Searching) -> None:
    """Leaves out what means the same as something better."""
    found = semantic_duplicates(search.vectors(), search.recipe.semantic_dedup.similarity)
    search.merged = len(set(found.values()))
    _drop_repeats(search, "semantic_dedup", "means the same as", found)


def diversify(search: Searching) -> None:
    """Chooses results that differ, or limits how many a document may have."""
    options, kept = search.recipe.diversity, search.candidates
    if options.mmr:
        relevance = [candidate.score for candidate in kept]
        chosen = select_diverse(relevance, search.vectors(), _wanted(search), options.balance)
        left_out = set(range(len(kept))).difference(chosen)
        reasons = dict.fromkeys(left_out, "too much like what was chosen before it")
    else:
        limit = options.max_chunks_per_doc
        beyond = over_limit([one.stored.document.id for one in kept], limit)
        reasons = dict.fromkeys(beyond, f"its document has {limit} better results")
    search.drop("diversity", reasons)


def read_closely(search: Searching) -> None:
    """Reads the first results together with the query, and orders them anew."""
    options = search.recipe.rerank
    if search.kit.reranker is None:
        search.notices.append("Not reranked: without a local model there is nothing to read with.")
        return
    head = search.candidates[: options.top_n]
    if not head:
        return
    texts = [embedding_text(one.stored.chunk.header_path, one.stored.text) for one in head]
    try:
        fresh = search.kit.reranker().scores(search.query.text, texts)
    except EmbedError as error:
        search.notices.append(f"Not reranked. {error}")
        return
    mix = options.mix or (1.0 if options.model else 0.2)
    scores = [candidate.score for candidate in search.candidates]
    ordered = reorder(scores, fresh, mix)
    for place, score in ordered:
        if place < len(fresh) or score != scores[place]:
            search.candidates[place].rescore("rerank", score)
    search.candidates = [search.candidates[place] for place, _ in ordered]


def show_sections(search: Searching) -> None:
    """Puts the section around each chunk in its place, once."""
    sections = [(one.stored.document.id, one.stored.chunk.section) for one in search.candidates]
    _drop_repeats(search, "parents", "same section as", repeats(sections))
    for candidate in search.candidates[: search.recipe.search.top_n]:
        document = search.reading.document(candidate.stored.document.id)
        if document is not None:
            section = next(s for s in document.sections if s.id == candidate.stored.chunk.section)
            candidate.section = section
            candidate.section_text = document.text[section.start : section.end]


def cut(search: Searching) -> None:
    """Keeps the first results."""
    top_n, count = search.recipe.search.top_n, len(search.candidates)
    search.drop("top_n", {place: f"place {place + 1} of {count}" for place in range(top_n, count)})


def _wanted(search: Searching) -> int:
    """How many results the stages that follow can make use of."""
    recipe = search.recipe
    wanted = max(recipe.search.top_n, recipe.rerank.top_n if recipe.rerank.enabled else 0)
    return 2 * wanted if recipe.parents.enabled else wanted


def _drop_repeats(search: Searching, stage: str, what: str, found: Mapping[int, int]) -> None:
    better = search.candidates
    search.drop(stage, {place: _as(what, better[first]) for place, first in found.items()})


def _as(what: str, candidate: Candidate) -> str:
    stored = candidate.stored
    return f"{what} {stored.document.id}:{stored.chunk.first_line}"
