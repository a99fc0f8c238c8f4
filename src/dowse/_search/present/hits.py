"""What is shown of a candidate."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import takewhile
from operator import attrgetter

from dowse._model import Hit, OtherPassage, StoredChunk
from dowse._search.confidence.label import QueryWords, label
from dowse._search.freshness import is_stale
from dowse._search.present.snippet import excerpt
from dowse._search.state import Candidate, SearchState
from dowse._text.markdown import heading_path


def make_hits(search: SearchState, candidates: Sequence[Candidate]) -> tuple[Hit, ...]:
    """Make the hits for these candidates."""
    reader, words, hits = (
        search.reader,
        QueryWords(search.query, search.parts.analyzer.query_terms),
        [],
    )
    ids = {candidate.document for candidate in candidates}
    edges = reader.links.of(ids) if ids else []
    files = cache(reader.catalogue.files)  # needed only when a file's time has changed
    rarity = search.rarity("body", search.query.terms)
    for candidate in candidates:
        chunk, document = candidate.stored.chunk, candidate.stored.document
        above, passage, passage_line = chunk.header_path, candidate.stored.text, chunk.first_line
        if (heading := candidate.heading) is not None:
            above, passage_line = heading.path, heading.line
            passage = passage[heading.start - chunk.start :]
        found = excerpt(passage, words.wanted, search.parts.analyzer.query_terms, rarity)
        first_line, last_line, text = _shown(candidate)
        match, reason = label(search, candidate, words)
        own = [edge for edge in edges if document.id in (edge.source, edge.target)]
        out = dict.fromkeys(edge.target for edge in own if edge.target not in (None, document.id))
        into = dict.fromkeys(edge.source for edge in own if edge.source != document.id)
        hits.append(
            Hit(
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
                links_out=tuple(filter(None, out)),
                links_in=tuple(into),
                stale=is_stale(search.parts.roots, document, files),
                trace=candidate.trace,
                more=_more(candidate, first_line, last_line),
                match=match,
                reason=reason,
            )
        )
    return tuple(hits)


def _shown(candidate: Candidate) -> tuple[int, int, str]:
    """Find the first and the last line of what is shown, and its text."""
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
    """List the other places of its document, without what is shown."""
    scores = {one.stored.key: one.score for one in candidate.others}
    elsewhere = [
        one.stored
        for one in candidate.others
        if one.stored.chunk.first_line < first_line or one.stored.chunk.last_line > last_line
    ]
    more = []
    for run in ranges(elsewhere):
        best = max(run, key=lambda one: scores[one.key])
        levels = zip(*(one.chunk.header_path for one in run), strict=False)
        shared = takewhile(lambda level: len(set(level)) == 1, levels)
        path = tuple(level[0] for level in shared)
        first, last = run[0].chunk.first_line, run[-1].chunk.last_line
        more.append(OtherPassage(best.chunk.id, path, first, last, scores[best.key]))
    return tuple(more)


# ── Passages of one document that follow each other ──────────────────────────

Range = tuple[StoredChunk, ...]
"""Passages that follow each other without a gap, in the order of the text."""

_LONGEST = 3000  # characters that are shown together: two passages of the largest size
_BY_START = attrgetter("chunk.start")


def range_around(best: StoredChunk, others: Sequence[StoredChunk]) -> Range:
    """Join the passage with those of the others, best first, that touch it and fit."""
    around: Range = (best,)
    waiting = list(others)
    while near := next((one for one in waiting if _extends(around, one)), None):
        waiting.remove(near)
        around = tuple(sorted((*around, near), key=_BY_START))
    return around


def _extends(around: Range, one: StoredChunk) -> bool:
    first, last = around[0], around[-1]
    if _touches(one, first):
        return last.chunk.end - one.chunk.start <= _LONGEST
    return _touches(last, one) and one.chunk.end - first.chunk.start <= _LONGEST


def _touches(one: StoredChunk, following: StoredChunk) -> bool:
    return one.chunk.start < following.chunk.start <= one.chunk.end < following.chunk.end


def ranges(passages: Sequence[StoredChunk]) -> list[Range]:
    """Join the passages that follow each other; the range of the first comes first."""
    runs: list[list[StoredChunk]] = []
    for one in sorted(passages, key=_BY_START):
        if runs and _touches(runs[-1][-1], one):
            runs[-1].append(one)
        else:
            runs.append([one])
    order = {one.key: place for place, one in enumerate(passages)}
    return sorted(map(tuple, runs), key=lambda run: min(order[one.key] for one in run))


def text_of(run: Range) -> str:
    """Join the texts of a range; what a passage repeats of the one before it is there once."""
    text, end = run[0].text, run[0].chunk.end
    for one in run[1:]:
        text += one.text[end - one.chunk.start :]
        end = one.chunk.end
    return text
