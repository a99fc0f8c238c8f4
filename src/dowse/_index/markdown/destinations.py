"""The address in a Markdown link → the document that it names."""

from __future__ import annotations

import html
import re
from urllib.parse import unquote

# What only shows or sounds is never a document, however it is linked.
_PICTURES = r"apng|avif|bmp|gif|heic|ico|jpe?g|png|svg|tiff?|webp"
_SOUNDS_AND_FILMS = r"3gp|aac|avi|flac|m4[av]|mkv|mov|mp[34]|og[agv]|opus|wav|webm"
_MEDIA = re.compile(rf".*\.(?:{_PICTURES}|{_SOUNDS_AND_FILMS})", re.IGNORECASE | re.DOTALL)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_ESCAPED = re.compile(r"[\\&]")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


def is_media(target: str) -> bool:
    """Whether a target is a picture, a sound or a film, by its ending."""
    return _MEDIA.fullmatch(target) is not None


def read_destination(written: str) -> tuple[str, str] | None:
    """Target and anchor of a link to a document; None for any other address."""
    address = written.strip()
    if address.startswith("<") and address.endswith(">"):
        address = address[1:-1].strip()
    if address.startswith(("#", "//")) or _SCHEME.match(address):
        return None
    path, _, anchor = _unescape(address).partition("#")
    target = _decode(path.partition("?")[0]).strip()
    if not target or "\n" in target or is_media(target):
        return None
    return target, _decode(anchor)


def _unescape(address: str) -> str:
    return html.unescape(_ESCAPE.sub(r"\1", address)) if _ESCAPED.search(address) else address


def _decode(address: str) -> str:
    return unquote(address) if "%" in address else address
