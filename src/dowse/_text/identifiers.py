"""The words inside an identifier, in whatever style it is written."""

from __future__ import annotations

import re

_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|\?+")
_SNAKE = re.compile(r"[^\W\d_][^\W_]*(?:_+[^\W\d_][^\W_]*)+")


def split_identifier(name: str) -> list[str]:
    """The words inside an identifier, in lower case: `HTTPResponse_v2` gives http response v 2."""
    shape = name if name.isascii() else "".join(map(_shape, name))
    return [name[match.start() : match.end()].casefold() for match in _CAMEL.finditer(shape)]


def joined(name: str) -> list[str]:
    """What `get_user` is as a whole in the style of `getUser`, so that one finds the other."""
    return [name.replace("_", "")] if "_" in name and _SNAKE.fullmatch(name) else []


def _shape(character: str) -> str:
    """An ASCII character that is cut alike; "?" for letters that are neither large nor small."""
    if character.isupper() or character.istitle():
        return "A"
    if character.islower():
        return "a"
    if character.isdecimal():
        return "0"
    return "?" if character.isalnum() else "_"
