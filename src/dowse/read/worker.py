"""The process that converts: what a broken file does to a library, it does not do to dowse.

It reads requests from its standard input and answers on its standard output, both as
a line of JSON followed by bytes. It may neither connect anywhere nor start programs.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from typing import Any, BinaryIO

from dowse.read.formats import INSTALL
from dowse.read.markdown import to_markdown
from dowse.read.regular import Unreadable

IDLE_SECONDS = 60
"""How long the process waits for the next file before it ends and frees its memory."""

_MEMORY_BYTES = 4 << 30
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
    requests, answers = _own_streams()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides; it closes the pipe
    _limit_memory()
    sys.addaudithook(refuse)
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
    except ImportError:
        return False, INSTALL
    except MemoryError:
        return False, "Its conversion needs too much memory."
    except Exception as error:  # noqa: BLE001  the libraries raise anything at broken files
        return False, f"It cannot be converted, it may be damaged ({_summary(error)})."


def refuse(event: str, arguments: Any) -> None:  # noqa: ARG001  the signature is Python's
    """An audit hook that stops what a conversion has no business doing."""
    if event in _FORBIDDEN:
        raise PermissionError(f"a conversion may not use {event}")


def _summary(error: Exception) -> str:
    lines = str(error).split("\n")
    return f"{type(error).__name__}: {lines[0][:120]}" if lines[0] else type(error).__name__


def _own_streams() -> tuple[BinaryIO, BinaryIO]:
    """The two pipes, put where nothing that a library prints can reach them."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    return requests, answers


def _next_line(requests: BinaryIO) -> bytes:
    if os.name == "posix" and not select.select([requests], [], [], IDLE_SECONDS)[0]:
        return b""
    return requests.readline()


def _limit_memory() -> None:
    if os.name == "posix":
        import resource  # noqa: PLC0415  it does not exist elsewhere

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, resource.RLIM_INFINITY))


if __name__ == "__main__":
    main()
