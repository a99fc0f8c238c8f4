"""A process that works for another one: how it is started, asked and ended, and how it begins.

The two have a pipe for requests and one for answers, and nobody else has these.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, BinaryIO, cast


class Child(subprocess.Popen[bytes]):
    """A Python process that runs code of dowse; one thread uses it at a time."""

    def __init__(self, *arguments: str) -> None:
        # -P: the current folder may be anybody's, nothing is imported from it.
        command, pipe = [sys.executable, "-P", *arguments], subprocess.PIPE
        super().__init__(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
        self.requests, self.answers = cast("IO[bytes]", self.stdin), cast("IO[bytes]", self.stdout)
        self.is_overdue = False

    @contextmanager
    def killed_after(self, seconds: float) -> Iterator[None]:
        """Kill the process if what happens inside takes longer."""
        timer = threading.Timer(seconds, self._kill_overdue)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()

    def _kill_overdue(self) -> None:
        self.is_overdue = True
        self.kill()

    def end(self) -> int:
        """Kill the process and close the pipes to it; return its exit code."""
        self.kill()
        with suppress(OSError), self:  # leaving it waits, too
            pass
        return self.returncode


def begin() -> tuple[BinaryIO, BinaryIO]:
    """Return the pipes for requests and answers, in a process that ends with its parent.

    Nothing that a library prints can reach them.
    """
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides; it closes the pipe
    if hasattr(select, "poll"):  # on Windows, the process ends when it next reads
        threading.Thread(
            target=_end_with, args=[requests], name="dowse-parent", daemon=True
        ).start()
    return requests, answers


def _end_with(requests: BinaryIO) -> None:
    """End the process, also in the middle of a file, when nobody can send requests any more.

    The parent may have been killed: its end of the pipe is then closed by the system.
    """
    poll = select.poll()
    poll.register(requests, 0)  # only what cannot be left out: that the other end is closed
    poll.poll()
    os._exit(0)
