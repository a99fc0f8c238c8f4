"""What is shown of a candidate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import takewhile

from msgspec import Struct

from dowse._model import Edge, FileState, Hit, OtherPassage, StoredChunk
from dowse._search.confidence.label import QueryWords, label
from dowse._search.freshness import is_stale
from dowse._search.present.snippet import excerpt
from dowse._search.state import Candidate, SearchState
from dowse._text.pieces import heading_path

# ── Passages of one document that follow each other, as one range ─────────


Range = tuple[StoredChunk, ...]
"""Passages that follow each other without a gap, in the order of the text."""

_LONGEST = 3000  # characters that are shown together: two passages of the largest size


def range_around(
    best: StoredChunk, others: Sequence[StoredChunk], longest: int = _LONGEST
) -> Range:
    """The passage with those of the others, best first, that touch it and fit."""
    around: Range = (best,)
    waiting = list(others)
    while near := next((one for one in waiting if _extends(around, one, longest)), None):
        waiting.remove(near)
        around = tuple(sorted((*around, near), key=_start))
    return around


def ranges(passages: Sequence[StoredChunk]) -> list[Range]:
    """The passages, those that follow each other together; the range of the first comes first."""
    runs: list[list[StoredChunk]] = []
    for one in sorted(passages, key=_start):
        if runs and _touches(runs[-1][-1], one):
            runs[-1].append(one)
        else:
            runs.append([one])
    order = {one.key: place for place, one in enumerate(passages)}
    return sorted(map(tuple, runs), key=lambda run: min(order[one.key] for one in run))


def text_of(run: Range) -> str:
    """The text of a range; what a passage repeats of the one before it is there once."""
    text, end = run[0].text, run[0].chunk.end
    for one in run[1:]:
        text += one.text[end - one.chunk.start :]
        end = one.chunk.end
    return text


def _start(one: StoredChunk) -> int:
    return one.chunk.start


def _touches(one: StoredChunk, following: StoredChunk) -> bool:
    return one.chunk.start < following.chunk.start <= one.chunk.end < following.chunk.end


def _extends(around: Range, one: StoredChunk, longest: int) -> bool:
    first, last = around[0], around[-1]
    if _touches(one, first):
        return last.chunk.end - one.chunk.start <= longest
    return _touches(last, one) and one.chunk.end - first.chunk.start <= longest


class _Known(Struct, frozen=True):
    """What all hits of a search need."""

    edges: Sequence[Edge]  # of their documents
    files: Callable[[], Mapping[str, FileState]]
    rarity: Mapping[str, float]  # of the query's terms
    words: QueryWords  # of the query


def make_hits(search: SearchState, candidates: Sequence[Candidate]) -> tuple[Hit, ...]:
    """The hits for these candidates."""
    documents = {candidate.stored.document.id for candidate in candidates}
    known = _Known(
        search.reading.links.of(documents) if documents else [],
        cache(search.reading.catalogue.files),  # needed only when a file's time has changed
        search.rarity("body", search.query.terms),
        QueryWords.of(search),
    )
    return tuple(_hit(search, candidate, known) for candidate in candidates)


def _hit(search: SearchState, candidate: Candidate, known: _Known) -> Hit:
    chunk, document = candidate.stored.chunk, candidate.stored.document
    first_line, last_line, text = _shown(candidate)
    above, passage, passage_line = chunk.header_path, candidate.stored.text, chunk.first_line
    if (heading := candidate.heading) is not None:
        above, passage_line = heading.path, heading.line
        passage = passage[heading.start - chunk.start :]
    found = excerpt(passage, known.words.wanted, search.parts.analyzer.query_terms, known.rarity)
    links_out, links_in = _links(document.id, known.edges)
    match, reason = label(search, candidate, known.words)
    return Hit(
        id=candidate.section.id if candidate.section else chunk.id,
        section=chunk.section,
        document=document.id,
        title=document.fields.title,
        header_path=heading_path(above, found.headings),
        line=passage_line + found.line,
        first_line=first_line,
        last_line=last_line,
        score=candidate.score,
        text=text,
        snippet=found.text,
        modified=document.modified,
        tags=document.fields.tags,
        links_out=links_out,
        links_in=links_in,
        stale=is_stale(search.parts.roots, document, known.files),
        trace=candidate.trace,
        more=_more(candidate, first_line, last_line),
        match=match,
        reason=reason,
    )


def _shown(candidate: Candidate) -> tuple[int, int, str]:
    """The first and the last line of what is shown, and its text."""
    if (section := candidate.section) is not None:
        return section.first_line, section.last_line, candidate.section_text
    best, others = candidate.stored, [one.stored for one in candidate.others]
    if (heading := candidate.heading) is not None:  # what is before it belongs to something else
        others = [one for one in others if one.chunk.start > best.chunk.start]
    shown = range_around(best, others)
    text, last_line = text_of(shown), shown[-1].chunk.last_line
    if heading is not None:
        return heading.line, last_line, text[heading.start - best.chunk.start :]
    return shown[0].chunk.first_line, last_line, text


def _more(candidate: Candidate, first_line: int, last_line: int) -> tuple[OtherPassage, ...]:
    """The other places of its document, without what is shown."""
    scores = {one.stored.key: one.score for one in candidate.others}
    elsewhere = [
        one.stored
        for one in candidate.others
        if one.stored.chunk.first_line < first_line or one.stored.chunk.last_line > last_line
    ]
    return tuple(_other(run, scores) for run in ranges(elsewhere))


def _other(run: Range, scores: Mapping[int, float]) -> OtherPassage:
    best = max(run, key=lambda one: scores[one.key])
    paths = [one.chunk.header_path for one in run]
    shared = takewhile(lambda level: len(set(level)) == 1, zip(*paths, strict=False))
    return OtherPassage(
        best.chunk.id,
        tuple(level[0] for level in shared),
        run[0].chunk.first_line,
        run[-1].chunk.last_line,
        scores[best.key],
    )


def _links(document: str, edges: Sequence[Edge]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The documents that this one links to, and those that link to it, each once."""
    out = dict.fromkeys(edge.target for edge in edges if edge.source == document and edge.target)
    into = dict.fromkeys(edge.source for edge in edges if edge.target == document)
    return tuple(name for name in out if name != document), tuple(n for n in into if n != document)
