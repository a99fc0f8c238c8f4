"""From bytes to text: UTF-8, or what a byte order mark says, or Windows-1252, or why not."""

from __future__ import annotations

import codecs
import re

from dowse._index.source.safe_open import Unreadable

# The mark of UTF-32 (little end first) begins with that of UTF-16, so it is tried before it.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_OF_UTF8 = re.compile(rb"[\xc3-\xdf][\x80-\xbf]|[\xe1-\xef][\x80-\xbf]{2}")


def decode(data: bytes) -> str:
    """The text of a file without its byte order mark, its lines ended by a line feed."""
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
    """The text of a file, and the name of its encoding where it was recognised by its bytes.

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
    """Raises `Unreadable` for bytes that cannot be text in UTF-8 or a similar encoding."""
    _, encoding = _encoding(data)
    if encoding == "utf-8" and (offset := data.find(b"\0")) >= 0:
        raise Unreadable(f"It is binary, not text: a zero byte {_place(data, offset)}.")


def unix_lines(text: str) -> str:
    """The text with every kind of line end turned into a line feed."""
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
    """Whether the bytes are Windows-1252: printable, most of them ASCII, and no part is UTF-8."""
    if data.startswith(codecs.BOM_UTF8) or _OF_UTF8.search(data):
        return False
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        return False
    odd = sum(not (char.isprintable() or char in "\t\r\n\f\xa0\xad") for char in text)
    return odd == 0 and sum(map(str.isascii, text)) > len(text) / 2
