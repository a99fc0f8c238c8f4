"""From bytes to text: UTF-8, or what a byte order mark says, or a reason why not."""

from __future__ import annotations

import codecs

from dowse.read.safe_open import Unreadable

# The mark of UTF-32 (little end first) begins with that of UTF-16, so it is tried before it.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


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
    guess = " (it looks like Windows-1252)" if _looks_western(data) else ""
    return (
        f"It is not UTF-8: byte 0x{data[offset]:02X} {_place(data, offset)}; "
        f"save it as UTF-8{guess}."
    )


def _place(data: bytes, offset: int) -> str:
    before = data[:offset].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    line = before.count(b"\n") + 1
    return f"at offset {offset}, line {line}"


def _looks_western(data: bytes) -> bool:
    """Whether the bytes read as Windows-1252 are printable, most of them ASCII."""
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        return False
    odd = sum(not (char.isprintable() or char in "\t\r\n\f") for char in text)
    return odd == 0 and sum(map(str.isascii, text)) > len(text) / 2
