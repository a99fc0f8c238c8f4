"""What an indexing run did."""

from __future__ import annotations

from msgspec import Struct, field

from dowse._model import LeftOut


class IndexReport(Struct, frozen=True):
    """What an indexing run did."""

    added: int
    changed: int
    removed: int
    unchanged: int
    chunks: int  # written
    embedded: int  # texts that the embedder had to read
    left_out: tuple[LeftOut, ...]
    notices: tuple[str, ...]  # what could not be done, and how to change that
    seconds: dict[str, float]  # time by stage
    secrets: int = 0  # matches of read.redact that were replaced in what was added or changed
    unreadable: int = 0  # texts in a script that the model cannot read; words find them
    counts: dict[str, int] = field(default_factory=dict)  # what each stage worked on

    @property
    def complete(self) -> bool:
        """Whether nothing that should be in the index had to be left out."""
        return not self.notices and not any(item.whole and item.lost for item in self.left_out)
