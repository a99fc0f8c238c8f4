"""Whole sections instead of chunks."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from dowse._search.stages.duplicates import drop_repeats, repeats
from dowse._search.state import SearchState


class ParentsOptions(Struct, frozen=True):
    """Whether whole sections are returned."""

    enabled: Annotated[bool, "Return the whole section around each chunk, once."] = False


def show_sections(search: SearchState) -> None:
    """Puts the section around each chunk in its place, once."""
    sections = [(one.document, one.stored.chunk.section) for one in search.candidates]
    drop_repeats(search, "parents", "same section as", repeats(sections))
    for candidate in search.candidates[: search.wanted]:
        document = search.reading.catalogue.document(candidate.document)
        if document is not None:
            section = next(s for s in document.sections if s.id == candidate.stored.chunk.section)
            candidate.section = section
            candidate.section_text = document.text[section.start : section.end]
