"""The places that a project's documents come from, and the ids that documents get there."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import force_setattr

from dowse.errors import NotFound, UsageError


class Root(Struct, frozen=True):
    """A folder, or a single file, that belongs to a project."""

    path: Path  # absolute and real: links in what was given are resolved, unless `noted`
    name: str = ""  # "" for a project's first root; the ids of further ones start with "@name/"
    is_elsewhere: bool = False  # on the machine that the project was imported from, not here

    noted: bool = False  # its path was real when the project was made: a link is not followed now

    def __post_init__(self) -> None:
        if not self.noted:
            force_setattr(self, "path", Path(os.path.realpath(self.path)))
        name = self.name
        is_plain = name.isprintable() and name == _nfc(name.strip()) and not set(name) & set("/\\")
        if name in {".", ".."} or not is_plain:
            raise UsageError(
                f"{name!r} cannot be the name of a folder.",
                "Choose a name without slashes, control characters and spaces at its ends.",
            )

    @property
    def leads_to(self) -> Path | None:
        """Where a link leads that has taken its place, or that of a folder above it."""
        real = Path(os.path.realpath(self.path))
        return None if self.is_elsewhere or real == self.path else real

    @property
    def prefix(self) -> str:
        """What the ids of its documents start with."""
        return f"@{self.name}/" if self.name else ""

    @property
    def is_closed(self) -> bool:
        """Whether it is there, and this user may not enter it."""
        try:
            os.stat(os.path.join(self.path, "."))  # noqa: PTH116, PTH118  a Path drops the dot
        except OSError as error:
            return isinstance(error, PermissionError)
        return False

    def relative(self, path: Path) -> str | None:
        """Return the path below this root with "/", as on disk; "" for the root, None outside."""
        given = Path(os.path.abspath(path))  # noqa: PTH100  links in it must stay
        for candidate in (given, Path(os.path.realpath(given.parent), given.name)):
            if candidate.is_relative_to(self.path):
                below = candidate.relative_to(self.path).as_posix()
                return "" if below == "." else below
        return None

    def id_of(self, path: Path) -> str:
        """Return the id of the document at a path; `NotFound` when it is or leads outside."""
        below = self.relative(path)
        if below is None or not self.contains(path):
            raise NotFound(f"{path} is not in {self.path}.", "Name a file of the project.")
        identifier = document_id(self, below or self.path.name)
        if identifier is None:
            raise NotFound(f"The name of {readable(str(path))} is not valid UTF-8.", "Rename it.")
        return identifier

    def contains(self, path: Path) -> bool:
        """Return whether the path, with all links followed, is this root or is below it."""
        return Path(os.path.realpath(path)).is_relative_to(self.path)


def document_id(root: Root, below: str) -> str | None:
    """Return the id for a path below a root; None when its name cannot be written as UTF-8."""
    try:
        below.encode()
    except UnicodeEncodeError:
        return None
    return root.prefix + unicodedata.normalize("NFC", below)


def owner(roots: Sequence[Root], identifier: str) -> Root | None:
    """Return the root that a document is from: of several that fit, the one of the longest name."""
    fitting = [root for root in roots if identifier.startswith(root.prefix)]
    return max(fitting, key=lambda root: len(root.prefix), default=None)


def path_of(roots: Sequence[Root], identifier: str) -> Path:
    """Return the path of a document, now or before; `NotFound` when no root can hold it."""
    root = owner(roots, identifier)
    if root is None:
        raise NotFound(f"No folder of the project holds {identifier!r}.", "See `dowse ls`.")
    below = identifier.removeprefix(root.prefix)
    parts = below.split("/")
    if "\0" in below or Path(below).is_absolute() or any(part in {"", ".", ".."} for part in parts):
        raise NotFound(f"{identifier!r} is not the id of a document.", "See `dowse ls`.")
    path = root.path if root.path.is_file() else _spelled_as_on_disk(root.path, parts)
    if (path == root.path and below != _nfc(root.path.name)) or not root.contains(path):
        raise NotFound(f"{identifier!r} is not in {root.path}.", "See `dowse ls`.")
    return path


def readable(path: str) -> str:
    r"""Return a path that can be printed: bytes that are no UTF-8 are written as \xNN."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _spelled_as_on_disk(folder: Path, parts: Sequence[str]) -> Path:
    """Join the parts, finding names that the disk spells with other code points."""
    for part in parts:
        outer, folder = folder, folder / part
        if not part.isascii() and not os.path.lexists(folder):
            with suppress(OSError):
                folder = min(
                    (path for path in outer.iterdir() if _nfc(path.name) == _nfc(part)),
                    default=folder,
                )
    return folder


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)
