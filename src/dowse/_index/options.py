"""What the user may decide about reading and cutting."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from dowse._index.source.secrets import compiled
from dowse._model import Context
from dowse._text.file_names import ALWAYS, CONVERTED
from dowse._util.bounds import (
    ENTRIES,
    FOR_FILES,
    WHEN_FALSE,
    WHEN_HIGHER,
    WHEN_LESS,
    WHEN_MORE,
    WHEN_TRUE,
    Entry,
    Options,
)
from dowse.errors import BadSettings


class ReadOptions(Options, frozen=True):
    """Which files of a root are sources, and how large they may be."""

    include: Annotated[
        tuple[Entry, ...],
        ENTRIES,
        FOR_FILES,
        "Patterns in .gitignore syntax. Only matching files, and files in matching folders, are "
        "read. Empty: every file that dowse can read.",
    ] = ()
    exclude: Annotated[
        tuple[Entry, ...],
        ENTRIES,
        FOR_FILES,
        "Patterns in .gitignore syntax. Matching files are not read, whatever an ignore file says.",
    ] = ()
    max_bytes: Annotated[
        int,
        Meta(ge=1, le=1_000_000_000),
        WHEN_HIGHER,
        "Largest text file to read, in bytes, at least 1; larger files are reported.",
    ] = 10_000_000
    max_convert_bytes: Annotated[
        int,
        Meta(ge=1, le=1_000_000_000),
        WHEN_HIGHER,
        "Largest file to convert, in bytes, at least 1; larger files are reported.",
    ] = 50_000_000
    convert_seconds: Annotated[
        float,
        Meta(gt=0, le=3600),
        WHEN_HIGHER,
        "Time limit for converting one file, in seconds, above 0.",
    ] = 300.0
    file_seconds: Annotated[
        float,
        Meta(gt=0, le=3600),
        WHEN_HIGHER,
        "Time limit for parsing and cutting one file, in seconds, above 0; slower files are "
        "reported.",
    ] = 60.0
    convert: Annotated[
        tuple[Entry, ...],
        ENTRIES,
        WHEN_MORE,
        "Formats to convert to Markdown: pdf, docx, pptx, xlsx, xls, csv and html. Files in "
        "formats that are not named are skipped. Empty: none.",
    ] = CONVERTED
    gitignore: Annotated[
        bool,
        WHEN_FALSE,
        "Respect .gitignore files and .git/info/exclude inside a root.",
    ] = True
    hidden: Annotated[bool, WHEN_TRUE, "Read files and folders whose name starts with a dot."] = (
        False
    )
    redact: Annotated[
        tuple[Entry, ...],
        ENTRIES,
        WHEN_LESS,
        "Secrets that are replaced by [redacted] before anything is indexed, shown or sent: known "
        "(tokens and private keys that can be recognised for sure), jwt, the name of one kind, or "
        "re: and a regular expression whose repeats have an end. Empty: none.",
    ] = ("known",)
    follow_symlinks: Annotated[
        bool, WHEN_TRUE, "Follow symbolic links, but only to targets inside the same root."
    ] = True
    # Not a setting: what the user's settings say without a dowse.toml that may only narrow them.
    own: ReadOptions | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        compiled(self.redact)
        if unknown := sorted(set(self.convert) - set(CONVERTED)):
            raise BadSettings(
                f"dowse cannot convert {', '.join(unknown)}.",
                f"Choose from {', '.join(CONVERTED)}.",
            )

    def limit(self, kind: str) -> int:
        """Return the largest file of this kind that is read, in bytes."""
        return self.max_bytes if kind in ALWAYS else self.max_convert_bytes


# No model reads more of a chunk, and what a chunk holds is held in memory several times.
_SIZE = Meta(ge=1, le=100_000)
_OVERLAP = Meta(ge=0, le=100_000)
_ORDERED = (
    ("chunk_min", "chunk_goal"),
    ("chunk_goal", "chunk_max"),
    ("chunk_max", "section_max"),
    ("section_min", "section_max"),
    ("overlap", "chunk_goal"),
)


class ChunkOptions(Options, frozen=True):
    """Sizes in characters; those of `headers` and those of `fixed` do not affect each other.

    Where a text is in Chinese, Japanese or Korean, chunks of `headers` have a third of the sizes.
    """

    strategy: Annotated[
        Literal["headers", "fixed"],
        "How to cut: `headers` along the headings, `fixed` into windows of equal size.",
    ] = "headers"
    section_max: Annotated[int, _SIZE, "Most characters of a section, at least `chunk_max`."] = 2000
    section_min: Annotated[
        int,
        _SIZE,
        "Sections below this many characters are joined with their neighbours where they fit.",
    ] = 1500
    chunk_max: Annotated[
        int,
        _SIZE,
        "The most characters of a chunk, its overlap included. This and the following three sizes "
        "are down to a third in Chinese, Japanese and Korean, of which models need more tokens.",
    ] = 1500
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
    frontmatter: Annotated[bool, "Windows of `fixed` begin with the frontmatter, as text."] = False
    context: Annotated[
        Context,
        "What is embedded before the text of a chunk: `title` the title of the document and the"
        " headings above, `headings` the headings alone, `none` nothing.",
    ] = "title"

    def __post_init__(self) -> None:
        super().__post_init__()
        for lower, higher in _ORDERED:
            low, high = getattr(self, lower), getattr(self, higher)
            if low > high:
                raise BadSettings(
                    f"{lower} is {low}, {higher} only {high}.",
                    f"Set {lower} to at most {higher}.",
                )
        if self.fixed_overlap >= self.fixed_size:
            raise BadSettings(
                f"fixed_overlap is {self.fixed_overlap}, fixed_size only {self.fixed_size}.",
                "Set fixed_overlap below fixed_size.",
            )
