"""A token from a file that only the user can read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from dowse.errors import Refused, UsageError

_MOST_BYTES = 4096
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def read_token(path: Path) -> str:
    """The token in a file; raises `Refused` when others can read it.

    A warning would be too late: a token that others could read must be taken for known.
    """
    try:
        with path.open("rb") as file:
            if os.name == "posix" and stat.S_IMODE(os.fstat(file.fileno()).st_mode) & _OTHERS:
                raise Refused(
                    f"Others can read {path}.",
                    f"Make it yours alone: chmod 600 {path}. A token that others could read"
                    " should be replaced.",
                )
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", "Name a file.") from error
    return _checked(data, path)


def _checked(data: bytes, path: Path) -> str:
    try:
        token = data.decode("utf-8").strip()
    except UnicodeDecodeError:
        token = ""
    if not token or not token.isprintable() or " " in token or len(data) > _MOST_BYTES:
        raise UsageError(
            f"{path} holds no token.", "Put one line of letters, digits and signs into it."
        )
    return token
