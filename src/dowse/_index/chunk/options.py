"""How documents are cut."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from dowse._model import Context
from dowse._util.bounds import Options
from dowse.errors import BadSettings

Strategy = Literal["headers", "fixed"]
"""`headers` follows the structure of the document, `fixed` counts characters."""

# No model reads more of a chunk, and what a chunk holds is held in memory several times.
_SIZE = Meta(ge=1, le=100_000)
_OVERLAP = Meta(ge=0, le=100_000)


class ChunkOptions(Options, frozen=True):
    """Sizes in characters; those of `headers` and those of `fixed` do not affect each other."""

    strategy: Annotated[
        Strategy, "How to cut: `headers` along the headings, `fixed` into windows of equal size."
    ] = "headers"
    section_max: Annotated[
        int, _SIZE, "The most characters of a section, at least `chunk_max`."
    ] = 2000
    section_min: Annotated[
        int,
        _SIZE,
        "Sections below this many characters are joined with their neighbours where they fit.",
    ] = 1500
    chunk_max: Annotated[int, _SIZE, "The most characters of a chunk, its overlap included."] = 1500
    chunk_min: Annotated[
        int, _SIZE, "A chunk has fewer characters only where it fits into none of its neighbours."
    ] = 200
    chunk_goal: Annotated[
        int, _SIZE, "The characters a chunk should have where the text allows it."
    ] = 700
    overlap: Annotated[
        int, _OVERLAP, "The most characters a chunk repeats from the chunk before it; 0 for none."
    ] = 100
    fixed_size: Annotated[int, _SIZE, "Characters of a window of the `fixed` strategy."] = 1000
    fixed_overlap: Annotated[
        int,
        _OVERLAP,
        "Characters a window repeats from the one before it, fewer than `fixed_size`.",
    ] = 200
    context: Annotated[
        Context,
        "What is embedded before the text of a chunk: `title` the title of the document and the"
        " headings above, `headings` the headings alone, `none` nothing.",
    ] = "title"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_order("chunk_min", "chunk_goal")
        self._check_order("chunk_goal", "chunk_max")
        self._check_order("chunk_max", "section_max")
        self._check_order("section_min", "section_max")
        self._check_order("overlap", "chunk_goal")
        if self.fixed_overlap >= self.fixed_size:
            raise BadSettings(
                f"fixed_overlap is {self.fixed_overlap}, fixed_size only {self.fixed_size}.",
                "Set fixed_overlap below fixed_size.",
            )

    def _check_order(self, lower: str, higher: str) -> None:
        low, high = getattr(self, lower), getattr(self, higher)
        if low > high:
            raise BadSettings(
                f"{lower} is {low}, {higher} only {high}.",
                f"Set {lower} to at most {higher}.",
            )
