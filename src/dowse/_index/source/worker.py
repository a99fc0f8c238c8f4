"""The process that converts: what a broken file does to a library, it does not do to dowse.

It reads requests from its standard input and answers on its standard output, both as
a line of JSON followed by bytes. It may neither connect anywhere nor start programs.
"""

from __future__ import annotations

import errno
import json
import os
import select
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from dowse._index.source.formats import INSTALL, READY
from dowse._index.source.markdown import load_libraries, to_markdown
from dowse._index.source.safe_open import Unreadable
from dowse._util.child import begin

IDLE_SECONDS = 60
"""How long the process waits for the next file before it ends and frees its memory."""

_MEMORY_BYTES = 4 << 30
_TOO_LARGE = (
    "It is too large to convert with the memory that there is. "
    "Index with more memory, or leave it out."
)
_NEAR = 64 << 20  # bytes below the limit: the next large piece would not have fitted
_MOST_CAUSES = 20
_FORBIDDEN = (
    "socket.connect",
    "socket.getaddrinfo",
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
)


def main() -> None:
    """Answers requests until there are none."""
    requests, answers = begin()
    _limit_memory()
    sys.addaudithook(refuse)
    with suppress(ModuleNotFoundError):  # each file is then answered with how to install it
        load_libraries()
    answers.write(READY)
    answers.flush()
    while request := _next_line(requests):
        header = json.loads(request)
        fine, text = answer(requests.read(header["size"]), header["kind"])
        payload = text.encode("utf-8", "replace")
        answers.write(json.dumps({"fine": fine, "size": len(payload)}).encode() + b"\n" + payload)
        answers.flush()


def answer(data: bytes, kind: str) -> tuple[bool, str]:
    """True with the Markdown, or False with the reason why there is none."""
    try:
        return True, to_markdown(data, kind)
    except Unreadable as error:
        return False, error.reason
    except Exception as error:  # noqa: BLE001  the libraries raise anything at broken files
        if _lacks_memory(error):
            return False, _TOO_LARGE
        if isinstance(error, ImportError):
            return False, INSTALL
        return False, f"It cannot be converted, it may be damaged ({_summary(error)})."


def _lacks_memory(error: BaseException | None) -> bool:
    """Whether a want of memory is behind an error, however the libraries have wrapped it."""
    for _ in range(_MOST_CAUSES):
        if error is None:
            break
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            return True
        error = error.__cause__ or error.__context__
    return _reached_the_limit()


def _reached_the_limit() -> bool:
    """Whether this process has come near its limit: libraries fail in many ways then."""
    try:
        import resource  # noqa: PLC0415  it does not exist elsewhere

        status = Path("/proc/self/status").read_text("ascii")
    except (ImportError, OSError, MemoryError):
        return False
    peak = next((int(line.split()[1]) for line in status.splitlines() if "VmPeak" in line), 0)
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return limit != resource.RLIM_INFINITY and peak * 1024 > limit - _NEAR


def refuse(event: str, arguments: Any) -> None:  # noqa: ARG001  the signature is Python's
    """An audit hook that stops what a conversion has no business doing."""
    if event in _FORBIDDEN:
        raise PermissionError(f"a conversion may not use {event}")


def _summary(error: Exception) -> str:
    lines = str(error).split("\n")
    return f"{type(error).__name__}: {lines[0][:120]}" if lines[0] else type(error).__name__


def _next_line(requests: BinaryIO) -> bytes:
    if os.name == "posix" and not select.select([requests], [], [], IDLE_SECONDS)[0]:
        return b""
    return requests.readline()


def _limit_memory() -> None:
    if os.name == "posix":
        import resource  # noqa: PLC0415  it does not exist elsewhere

        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        given = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
        # A limit that the user has set is kept: only root could raise it, and should not.
        with suppress(OSError, ValueError):  # macOS refuses every limit of this kind
            resource.setrlimit(resource.RLIMIT_AS, (min([_MEMORY_BYTES, *given]), hard))


if __name__ == "__main__":
    main()
