"""An export, opened: looked through from end to end before anything of it is believed."""

from __future__ import annotations

import hashlib
import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar, cast

import msgspec

from dowse.errors import Damaged, NotFound, Refused, StampMismatch, UsageError
from dowse.transfer.records import (
    CHUNKS,
    DOCUMENTS,
    FORMAT,
    MANIFEST,
    VERSION,
    WORDS,
    ChunkLine,
    Claim,
    DocumentLine,
    Manifest,
    WordLine,
)

_PARTS = {DOCUMENTS, CHUNKS, WORDS}
_MOST_OF_MANIFEST = 1_000_000  # bytes
_LONGEST_LINE = 256_000_000  # bytes
# Text shrinks to a third or a tenth, vectors hardly at all; a bomb shrinks to a thousandth.
_HARMLESS = 100_000_000  # bytes that may be packed as densely as they like
_DENSEST = 200
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_ENCRYPTED = 0x1

# What the decoder says to JSON that is wrong, is no text, or is nested without end.
_UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)

_AGAIN = "Export it once more, and copy it whole."

_Line = TypeVar("_Line", DocumentLine, ChunkLine, WordLine)


class Archive:
    """An export that is whole, and is what it says it is."""

    def __init__(self, path: Path, file: zipfile.ZipFile, opened: ExitStack) -> None:
        self._path = path
        self._file = file
        self._opened = opened
        _check_members(path, file)
        self.manifest = _read_manifest(path, file)
        self._check_parts()

    def documents(self) -> Iterator[tuple[DocumentLine, list[ChunkLine]]]:
        """All documents, each with its chunks."""
        chunks = self._lines(CHUNKS, ChunkLine)
        chunk = next(chunks, None)
        for document in self._lines(DOCUMENTS, DocumentLine):
            own = []
            while chunk is not None and chunk.document == document.id:
                own.append(chunk)
                chunk = next(chunks, None)
            yield document, own
        if chunk is not None:
            raise self._damaged(f"{CHUNKS} has chunks of {chunk.document!r} where none belong")

    def words(self) -> Iterator[WordLine]:
        """The words of the vocabulary."""
        return self._lines(WORDS, WordLine)

    def _lines(self, name: str, kind: type[_Line]) -> Iterator[_Line]:
        decode = msgspec.json.Decoder(kind).decode
        with _damage(self._path):
            # Closed with the archive, also when nobody reads on.
            member = self._opened.enter_context(self._file.open(name))
            # By itself a member reads lines of a given length byte by byte.
            lines = io.BufferedReader(cast("io.RawIOBase", member), 1 << 18)
            number = 0
            while line := lines.readline(_LONGEST_LINE):
                number += 1
                try:
                    yield decode(line)
                except _UNREADABLE as error:
                    raise self._damaged(f"line {number} of {name}: {error}") from error

    def _check_parts(self) -> None:
        for name, part in self.manifest.parts.items():
            if self._file.getinfo(name).file_size != part.bytes:
                raise self._damaged(f"{name} has not the size that it should have")
            digest = hashlib.sha256()
            with _damage(self._path), self._file.open(name) as file:
                while piece := file.read(1 << 20):
                    digest.update(piece)
            if digest.hexdigest() != part.sha256:
                raise self._damaged(f"{name} is not what was written")

    def _damaged(self, what: str) -> Damaged:
        return Damaged(f"{self._path} is damaged: {what}.", _AGAIN)


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Opens an export; raises an error that says why when it is not whole, or none at all."""
    try:
        file = zipfile.ZipFile(path)
    except FileNotFoundError:
        raise NotFound(f"{path} does not exist.", "Name a file that `dowse export` made.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", "Name a file.") from error
    except (zipfile.BadZipFile, ValueError, EOFError) as error:
        raise _foreign(path, "it is no ZIP file, or its end is missing") from error
    with file, ExitStack() as opened:
        yield Archive(path, file, opened)


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    """What the ZIP library says of broken files, as dowse says it."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError) as error:
        raise Damaged(f"{path} is damaged: {error}.", _AGAIN) from error


def _check_members(path: Path, file: zipfile.ZipFile) -> None:
    """Refuses what no export holds, before a byte is unpacked."""
    members = file.infolist()
    names = [member.filename for member in members]
    if MANIFEST not in names:
        raise _foreign(path, f"it holds no {MANIFEST}")
    if len(set(names)) < len(names):
        raise Refused(f"{path} holds two files of the same name.", _AGAIN)
    for member in members:
        if member.flag_bits & _ENCRYPTED or member.compress_type not in _METHODS:
            raise Refused(
                f"{path} is packed or encrypted in a way that dowse does not use.", _AGAIN
            )
    unpacked = sum(member.file_size for member in members)
    if unpacked > max(_HARMLESS, _DENSEST * path.stat().st_size):
        raise Refused(
            f"{path} would unpack to {unpacked // 1_000_000:,} MB, more than an export does.",
            "Import only files from people whom you trust.",
        )


def _read_manifest(path: Path, file: zipfile.ZipFile) -> Manifest:
    if file.getinfo(MANIFEST).file_size > _MOST_OF_MANIFEST:
        raise _foreign(path, f"its {MANIFEST} is too long")
    with _damage(path):
        data = file.read(MANIFEST)
    try:
        claim = msgspec.json.decode(data, type=Claim)
    except _UNREADABLE as error:
        raise _foreign(path, f"its {MANIFEST} cannot be read") from error
    if claim.format != FORMAT:
        raise _foreign(path, f"its {MANIFEST} is of something else")
    if claim.version != VERSION:
        raise StampMismatch(
            f"{path} has version {claim.version} of the format, this dowse reads {VERSION}.",
            "Update dowse." if claim.version > VERSION else "Export it once more.",
        )
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except _UNREADABLE as error:
        raise Damaged(f"{path} is damaged: {MANIFEST}: {error}.", _AGAIN) from error
    if {*file.namelist()} != {MANIFEST, *manifest.parts} or manifest.parts.keys() != _PARTS:
        raise Refused(f"{path} does not hold the files that an export holds.", _AGAIN)
    return manifest


def _foreign(path: Path, why: str) -> UsageError:
    return UsageError(
        f"{path} is no export of dowse, or only a part of one: {why}.",
        "Name a file that `dowse export` made.",
    )
