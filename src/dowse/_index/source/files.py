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
        return _read(descriptor, path, limit)
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


def _read(descriptor: int, path: Path, limit: int) -> bytes:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise Unreadable("It is not a regular file.")
    _check_place(path, status)
    if status.st_size > limit:
        raise Unreadable(too_large(status.st_size, limit))
    parts = []
    left = limit + 1
    while left > 0 and (part := os.read(descriptor, min(left, 1 << 20))):
        parts.append(part)
        left -= len(part)
    if left <= 0:
        raise Unreadable(too_large(limit + 1, limit))
    return b"".join(parts)


def _check_place(path: Path, status: os.stat_result) -> None:
    """Refuse a file that was reached through a folder that has become a link."""
    try:
        stays = os.path.realpath(path) == str(path) and os.path.samestat(status, path.lstat())
    except FileNotFoundError as error:
        raise Unreadable("It vanished while it was being read.") from error
    if not stays:
        raise Unreadable("A link has taken its place, or that of a folder above it.")


def _why_not_opened(path: Path, error: OSError) -> str:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return "It vanished before it could be read."
    if isinstance(error, PermissionError):
        return "It cannot be opened: permission denied; allow yourself to read it."
    if path.is_symlink():
        return "A link has taken its place, or that of a folder above it."
    return f"It cannot be opened: {wording(error)}."


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
        raise Unreadable(_why_undecodable(data, len(mark) + error.start, encoding)) from error
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
        _, encoding = _encoding(data)
        if encoding != "utf-8" or b"\0" in data or not _is_western(data):
            raise
        return unix_lines(data.decode("cp1252")), "Windows-1252"


def refuse_binary(data: bytes) -> None:
    """Raise `Unreadable` for bytes that cannot be text in UTF-8 or a similar encoding."""
    _, encoding = _encoding(data)
    if encoding == "utf-8" and (offset := data.find(b"\0")) >= 0:
        raise Unreadable(f"It is binary, not text: a zero byte {_place(data, offset)}.")


def unix_lines(text: str) -> str:
    """Return the text with every kind of line end turned into a line feed."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _encoding(data: bytes) -> tuple[bytes, str]:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return mark, encoding
    return b"", "utf-8"


def _why_undecodable(data: bytes, offset: int, encoding: str) -> str:
    if encoding != "utf-8":
        return (
            f"Its byte order mark says {encoding.upper()}, but the bytes at offset {offset} are "
            "not; save it as UTF-8."
        )
    return f"It is not UTF-8: byte 0x{data[offset]:02X} {_place(data, offset)}; save it as UTF-8."


def _place(data: bytes, offset: int) -> str:
    before = data[:offset].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    line = before.count(b"\n") + 1
    return f"at offset {offset}, line {line}"


def _is_western(data: bytes) -> bool:
    """Say if the bytes are Windows-1252: printable, mostly ASCII, not UTF-8, not Shift-JIS."""
    if data.startswith(codecs.BOM_UTF8) or _OF_UTF8.search(data) or _is_shift_jis(data):
        return False
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        return False
    odd = sum(not (char.isprintable() or char in "\t\r\n\f\xa0\xad") for char in text)
    return odd == 0 and sum(map(str.isascii, text)) > len(text) / 2


def _is_shift_jis(data: bytes) -> bool:
    """Say if the bytes are Shift-JIS: valid, with kana or with two characters in a row.

    Valid alone says little: the apostrophe of "don’t" and its "t" are a character of Shift-JIS.
    """
    if not _OF_SHIFT_JIS.search(data):
        return False
    try:
        data.decode("cp932")
    except UnicodeDecodeError:
        return False
    return True
