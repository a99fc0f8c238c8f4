"""What a process begins with that dowse has started to work for it, through two pipes."""

from __future__ import annotations

import os
import select
import signal
import threading
from typing import BinaryIO


def begin() -> tuple[BinaryIO, BinaryIO]:
    """The pipe with the requests and the one for the answers; the process ends with its parent."""
    requests, answers = _own_streams()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides; it closes the pipe
    _end_with_the_parent(requests)
    return requests, answers


def _own_streams() -> tuple[BinaryIO, BinaryIO]:
    """The two pipes, put where nothing that a library prints can reach them."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    return requests, answers


def _end_with_the_parent(requests: BinaryIO) -> None:
    """Ends the process, also in the middle of a file, when nobody can send requests any more.

    The parent may have been killed: its end of the pipe is then closed by the system.
    """
    if not hasattr(select, "poll"):
        return  # Windows: the process ends when it next reads

    def watch() -> None:
        poll = select.poll()
        poll.register(requests, 0)  # only what cannot be left out: that the other end is closed
        poll.poll()
        os._exit(0)

    threading.Thread(target=watch, name="dowse-parent", daemon=True).start()
