"""What a program did to a folder: an ordered history of changes, syncs and remarks."""

from __future__ import annotations

from dataclasses import dataclass, field

Inode = int
ROOT: Inode = 0
"""The folder that is recorded."""


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes that were put into a file."""

    inode: Inode
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Truncate:
    """A file was given a length."""

    inode: Inode
    size: int


@dataclass(frozen=True, slots=True)
class Entry:
    """What a name in a folder means: an inode, or nothing."""

    folder: Inode
    name: str
    inode: Inode | None


@dataclass(frozen=True, slots=True)
class Names:
    """Names that changed at once: created, removed or renamed."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Sync:
    """A file or folder was made durable."""

    inode: Inode


@dataclass(frozen=True, slots=True)
class Say:
    """What the program said to its user at this moment."""

    text: str


Operation = Write | Truncate | Names | Sync | Say


@dataclass(slots=True)
class History:
    """Everything that happened, and which inodes are folders."""

    operations: list[Operation] = field(default_factory=list)
    folders: set[Inode] = field(default_factory=lambda: {ROOT})

    def said_before(self, cut: int) -> list[str]:
        """What the program had said when the power went."""
        return [one.text for one in self.operations[:cut] if isinstance(one, Say)]
