"""What the user may decide about reading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from dowse.errors import BadSettings
from dowse.read.formats import CONVERTED, TEXT


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Which files of a root are sources, and how large they may be."""

    include: Annotated[
        tuple[str, ...],
        "Patterns in .gitignore syntax; of the files that dowse can read, only those that match "
        "(or lie in a folder that matches) are sources. Empty: all of them.",
    ] = ()
    exclude: Annotated[
        tuple[str, ...],
        "Patterns in .gitignore syntax; what matches is not read. Stronger than any ignore file.",
    ] = ()
    max_bytes: Annotated[
        int, "The largest text file that is read, in bytes, at least 1; larger ones are reported."
    ] = 10_000_000
    max_convert_bytes: Annotated[
        int, "The largest file that is converted, in bytes, at least 1; larger ones are reported."
    ] = 50_000_000
    convert_seconds: Annotated[
        float, "How long the conversion of one file may take, in seconds, above 0."
    ] = 300.0
    file_seconds: Annotated[
        float,
        "How long dowse may compute on one file to parse and cut it, in seconds, above 0; files "
        "that take longer are reported.",
    ] = 60.0
    convert: Annotated[
        tuple[str, ...],
        "The formats that are converted to Markdown, of pdf, docx, pptx, xlsx, xls, csv and html; "
        "files of the other formats are no sources. Empty: none.",
    ] = CONVERTED
    gitignore: Annotated[
        bool, "Whether .gitignore files and .git/info/exclude inside a root are respected."
    ] = True
    hidden: Annotated[bool, "Whether files and folders whose name starts with a dot are read."] = (
        False
    )
    follow_symlinks: Annotated[
        bool, "Whether links are followed; only ever to targets inside the same root."
    ] = True

    def __post_init__(self) -> None:
        for name in ("max_bytes", "max_convert_bytes", "convert_seconds", "file_seconds"):
            if getattr(self, name) <= 0:
                raise BadSettings(f"{name} must be above 0.", f"Leave {name} out for its default.")
        if unknown := sorted(set(self.convert) - set(CONVERTED)):
            raise BadSettings(
                f"dowse cannot convert {', '.join(unknown)}.",
                f"Choose from {', '.join(CONVERTED)}.",
            )

    def limit(self, kind: str) -> int:
        """The largest file of this kind that is read, in bytes."""
        return self.max_bytes if kind == TEXT else self.max_convert_bytes
