"""Open files that others can swap, and decode them.

Only regular files are read, never through a link, and never waiting.
"""

from __future__ import annotations

import codecs
import os
import re
import stat
from pathlib import Path

# A pipe that took the file's place would block an ordinary open until somebody writes to it.
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_BY_A_LINK = "A link has taken its place, or that of a folder above it."


class Unreadable(Exception):
    """A file cannot be used; `reason` says why in one sentence."""

    def __init__(self, reason: str, *, lost: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.lost = lost  # False: files of its kind are not read here, which is no fault of it


def read_regular(path: Path, limit: int) -> bytes:
    """Return the bytes of a regular file at its real path; `Unreadable` where that fails."""
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError as error:
        raise Unreadable(_why_not_opened(path, error)) from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable("It is not a regular file.")
        if os.path.realpath(path) != str(path) or not os.path.samestat(status, path.lstat()):
            raise Unreadable(_BY_A_LINK)
        data = bytearray()
        while len(data) <= limit and (part := os.read(descriptor, 1 << 20)):
            data += part
        if max(status.st_size, len(data)) > limit:  # it may grow meanwhile
            raise Unreadable(too_large(max(status.st_size, limit + 1), limit))
        return bytes(data)
    except FileNotFoundError as error:
        raise Unreadable("It vanished while it was being read.") from error
    except OSError as error:
        raise Unreadable(f"It cannot be read: {wording(error)}.") from error
    finally:
        os.close(descriptor)


def too_large(size: int, limit: int) -> str:
    """Say why a file of this size is left out."""
    return (
        f"It has {size:,} bytes, the limit is {limit:,}; split it, or raise the limit "
        "in the settings."
    )


def wording(error: OSError) -> str:
    """Return what the system says about an error, without the path, in lower case."""
    return (error.strerror or type(error).__name__).lower()


def _why_not_opened(path: Path, error: OSError) -> str:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return "It vanished before it could be read."
    if isinstance(error, PermissionError):
        return "It cannot be opened: permission denied; allow yourself to read it."
    return _BY_A_LINK if path.is_symlink() else f"It cannot be opened: {wording(error)}."


# ── From bytes to text ──────────────────────────────────────────────────────────
# UTF-8, or what a byte order mark says, or an encoding that the bytes give away.

# The mark of UTF-32 (little end first) begins with that of UTF-16, so it is tried before it.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_OF_UTF8 = re.compile(rb"[\xc3-\xdf][\x80-\xbf]|[\xe1-\xef][\x80-\xbf]{2}")
_OF_SHIFT_JIS = re.compile(rb"\x82[\x9f-\xf1]|\x83[\x40-\x96]|([\x88-\x9f][\x40-\x7e\x80-\xfc]){2}")


def decode(data: bytes) -> str:
    """Return the text of a file without its byte order mark, its lines ended by a line feed."""
    mark, encoding = _encoding(data)
    refuse_binary(data)
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        offset = len(mark) + error.start
        reason = f"It is not UTF-8: byte 0x{data[offset]:02X} {_place(data, offset)}"
        if encoding != "utf-8":
            marked = encoding.upper()
            reason = f"Its byte order mark says {marked}, but the bytes at offset {offset} are not"
        raise Unreadable(f"{reason}; save it as UTF-8.") from error
    if "\0" in text:
        raise Unreadable("It is binary, not text: it holds zero characters.")
    return unix_lines(text)


def decode_any(data: bytes) -> tuple[str, str]:
    """Return the text of a file, and the name of its encoding where it was recognised by its bytes.

    Windows-1252 has all letters of Latin-1. A broken file in UTF-8 is not taken for either.
    """
    try:
        return decode(data), ""
    except Unreadable:
        western = _western(data)
        if western is None:
            raise
        return unix_lines(western), "Windows-1252"


def refuse_binary(data: bytes) -> None:
    """Raise `Unreadable` for bytes that cannot be text in UTF-8 or a similar encoding."""
    _, encoding = _encoding(data)
    if encoding == "utf-8" and (offset := data.find(b"\0")) >= 0:
        raise Unreadable(f"It is binary, not text: a zero byte {_place(data, offset)}.")


def unix_lines(text: str) -> str:
    """Return the text with every kind of line end turned into a line feed."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _encoding(data: bytes) -> tuple[bytes, str]:
    return next(((mark, name) for mark, name in _MARKS if data.startswith(mark)), (b"", "utf-8"))


def _place(data: bytes, offset: int) -> str:
    line = sum(1 for _ in re.finditer(rb"\r\n?|\n", data[:offset])) + 1
    return f"at offset {offset}, line {line}"


def _western(data: bytes) -> str | None:
    """Return bytes as Windows-1252 if they are: printable, mostly ASCII, and nothing else."""
    if _encoding(data) != (b"", "utf-8") or b"\0" in data or _OF_UTF8.search(data):
        return None
    # With kana, or two characters in a row. Valid alone says little: the apostrophe of "don’t" and
    # its "t" are a character of Shift-JIS.
    if _OF_SHIFT_JIS.search(data) and _decoded(data, "cp932") is not None:
        return None
    text = _decoded(data, "cp1252") or ""
    is_printable = all(char.isprintable() or char in "\t\r\n\f\xa0\xad" for char in text)
    return text if is_printable and sum(map(str.isascii, text)) > len(text) / 2 else None


def _decoded(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None
