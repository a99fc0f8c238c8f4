"""Running the command line in tests: in this process, in another one, or on a terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forked import forker

DOWSE = str(Path(sys.executable).with_name("dowse"))

# A shell starts what runs in the background with Ctrl-C ignored, and children inherit that.
_WITH_CTRL_C = """
import os, signal, sys
signal.signal(signal.SIGINT, getattr(signal, sys.argv[1]))
os.execv(sys.argv[2], sys.argv[2:])
"""


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Dowse = Callable[..., Result]


def with_ctrl_c(*line: object, ignored: bool = False) -> list[str]:
    """A line that can be stopped with Ctrl-C, or cannot, wherever the tests were started."""
    how = "SIG_IGN" if ignored else "SIG_DFL"
    return [sys.executable, "-c", _WITH_CTRL_C, how, *map(str, line)]


def process(*arguments: object, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Runs a line as a process whose output nobody looks at."""
    line = [*map(str, arguments)]
    (out, out_end), (err, err_end) = os.pipe(), os.pipe()
    with Path(os.devnull).open("rb") as nothing, ThreadPoolExecutor(2) as readers:
        forker().start(line, (nothing.fileno(), out_end, err_end), os.environ | environment)
        os.close(out_end)
        os.close(err_end)
        said = [readers.submit(_read_all, end) for end in (out, err)]
        return subprocess.CompletedProcess(line, forker().ended(), *(one.result() for one in said))


def _read_all(end: int) -> bytes:
    with open(end, "rb") as stream:
        return stream.read()


def on_terminal(
    *arguments: object, columns: int = 80, environment: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Runs a line on a terminal; gives its exit code and all that could be seen."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    forker().start([*map(str, arguments)], [theirs] * 3, {**os.environ, **(environment or {})})
    os.close(theirs)
    seen = b""
    try:
        while piece := os.read(ours, 65536):
            seen += piece
    except OSError:  # how Linux says that the other side has closed
        pass
    finally:
        os.close(ours)
    return forker().ended(), seen.decode("utf-8").replace("\r\n", "\n")
