"""Pictures next to documents: found as links to them are, and read from inside a root only."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from dowse._index.options import ReadOptions
from dowse._index.source.files import Unreadable, read_regular, wording
from dowse._index.source.roots import Root, path_of
from dowse._index.source.rules import Gate
from dowse._util.cancellation import raise_if_cancelled
from dowse.errors import NotFound

MOST_BYTES = 10_000_000
"""The size of a picture at most."""

_STATIC = ("static", "public", "assets", "docs")  # where sites keep what `/img/a.png` means
_LOOKED_AT = 20_000  # files that a search by name looks at
_SIGNS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF8", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (4, b"ftypavif", "image/avif"),
)
_SVG = (b"<svg", b"<?xml", b"<!--", b"<!DOCTYPE svg")


class Picture(Struct, frozen=True):
    """A picture that a browser can show."""

    type: str  # media type, by what the file holds
    data: bytes


def read_picture(roots: Sequence[Root], options: ReadOptions, document: str, name: str) -> Picture:
    """Return the picture that a document calls by this path; `NotFound` when there is none to show.

    It must be in the root of the document, and be neither hidden nor ignored nor reached by a link.
    """
    path = path_of(roots, document)
    for root in (one for one in roots if path.is_relative_to(one.path) and one.path.is_dir()):
        gate = Gate(str(root.path), options)
        folder = path.parent.relative_to(root.path).as_posix()
        for below in _places(root, gate, folder, name):
            if (root.path / below).is_file() and gate.shows(below):
                return _read(root.path / below, name)
    raise _missing(name)


def _missing(name: str, why: str = "It is not in the folder, or is hidden or ignored.") -> NotFound:
    return NotFound(f"The picture {name!r} cannot be shown. {why}", "Check its path.")


def _places(root: Root, gate: Gate, folder: str, name: str) -> Iterator[str]:
    """Yield where the picture may be: as written, from the top of the root, then by its name."""
    plain = name.replace("\\", "/").strip()
    if "\0" in plain or not plain.strip("./"):
        return
    top = plain.lstrip("/")
    written = [] if plain.startswith("/") else [posixpath.join(folder, plain)]
    for one in (*written, top, *(f"{site}/{top}" for site in _STATIC)):
        below = posixpath.normpath(one)
        if not below.startswith(("../", "/")) and below != "..":
            yield below
    yield from _by_name(root.path, gate, posixpath.normpath(top))


def _by_name(top: Path, gate: Gate, name: str) -> Iterator[str]:
    """Yield files anywhere below a folder whose path ends so, as Obsidian finds them."""
    wanted, looked = f"/{name}".casefold(), 0
    for folder, folders, files in os.walk(top):
        raise_if_cancelled()
        folders[:] = sorted(one for one in folders if gate.sees(one))
        looked += len(files)
        base = Path(folder).relative_to(top).as_posix()
        for file in sorted(files):
            if f"/{base}/{file}".casefold().endswith(wanted):
                yield posixpath.normpath(f"{base}/{file}")
        if looked > _LOOKED_AT:
            return


def _read(path: Path, name: str) -> Picture:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise Unreadable(f"It has more than {MOST_BYTES:,} bytes.")
        data = read_regular(path, MOST_BYTES)
    except Unreadable as error:
        raise _missing(name, error.reason) from error
    except OSError as error:
        raise _missing(name, f"It cannot be read: {wording(error)}.") from error
    for place, sign, kind in _SIGNS:
        if data.startswith(sign, place):
            return Picture(kind, data)
    head = data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(_SVG) and b"<svg" in data[:4096]:
        return Picture("image/svg+xml", data)
    raise _missing(name, "It is no picture that a browser shows.")
