"""What is shown of a candidate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from dowse.flow.freshness import is_stale
from dowse.present import snippet
from dowse.search_state import Candidate, SearchState
from dowse.types import Edge, FileState, Hit


def make_hits(search: SearchState, candidates: Sequence[Candidate]) -> tuple[Hit, ...]:
    """The hits that stand for these candidates."""
    documents = {candidate.stored.document.id for candidate in candidates}
    edges = search.reading.links.of(documents) if documents else []
    files = cache(search.reading.catalogue.files)  # needed only when a file's time has changed
    return tuple(_hit(search, candidate, edges, files) for candidate in candidates)


def _hit(
    search: SearchState,
    candidate: Candidate,
    edges: Sequence[Edge],
    files: Callable[[], Mapping[str, FileState]],
) -> Hit:
    chunk, document = candidate.stored.chunk, candidate.stored.document
    shown = candidate.section or chunk
    text = candidate.section_text if candidate.section else candidate.stored.text
    header_path, first_line, passage = shown.header_path, shown.first_line, candidate.stored.text
    if (heading := candidate.heading) is not None:
        passage = passage[heading.start - chunk.start :]
        if candidate.section is None:
            header_path, first_line, text = heading.path, heading.line, passage
    links_out, links_in = _links(document.id, edges)
    return Hit(
        id=shown.id,
        section=chunk.section,
        document=document.id,
        title=document.fields.title,
        header_path=header_path,
        first_line=first_line,
        last_line=shown.last_line,
        score=candidate.score,
        text=text,
        snippet=snippet(passage, search.query.terms, search.parts.analyzer.query_terms),
        modified=document.modified,
        tags=document.fields.tags,
        links_out=links_out,
        links_in=links_in,
        stale=is_stale(search.parts.roots, document, files),
        trace=candidate.trace,
    )


def _links(document: str, edges: Sequence[Edge]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The documents that this one links to, and those that link to it, each once."""
    out = dict.fromkeys(edge.target for edge in edges if edge.source == document and edge.target)
    into = dict.fromkeys(edge.source for edge in edges if edge.target == document)
    return tuple(name for name in out if name != document), tuple(n for n in into if n != document)
