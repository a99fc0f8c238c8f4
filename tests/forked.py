"""Runs command lines as processes that are forked from one which has loaded dowse already.

Starting Python and loading dowse takes most of the time of a short command. A test process starts
one other process, which loads dowse once and forks for every line. A line gets its own streams,
folder and environment, as if it were started by a shell.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import io
import json
import os
import pkgutil
import resource
import socket
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

_LONGEST = 1 << 20  # bytes of a request: a line and its environment
_PATIENCE = 240.0  # seconds; a line that takes longer hangs


class Used(NamedTuple):
    """What a line took."""

    memory: float  # MB at the peak
    seconds: float  # computed


class Forker:
    """The test's side of the process that forks."""

    def __init__(self) -> None:
        self.used = Used(0.0, 0.0)  # by the last line that has ended
        self._link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LONGEST)
        self._link.settimeout(_PATIENCE)
        number = theirs.fileno()
        # Its own streams are closed for it: it must not hold those of the test run open.
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(number)], pass_fds=[number], stdin=subprocess.DEVNULL
        )
        theirs.close()
        atexit.register(self._close)

    def start(self, line: Sequence[str], streams: Sequence[int], env: Mapping[str, str]) -> None:
        """Starts a line, whose streams are these descriptors; `ended` has to be called next."""
        request = {"line": list(line), "environment": dict(env), "here": str(Path.cwd())}
        socket.send_fds(self._link, [json.dumps(request).encode()], list(streams))

    def ended(self) -> int:
        """The exit code of the line that was started, as soon as it has ended."""
        code, memory, seconds = self._link.recv(100).split()
        self.used = Used(float(memory), float(seconds))
        return int(code)

    def _close(self) -> None:
        self._link.close()
        self._process.wait()


@cache
def forker() -> Forker:
    """The one process that forks for this test process."""
    return Forker()


# ── The process that forks ───────────────────────────────────────────────────


def _serve(link: socket.socket) -> None:
    load()
    gc.freeze()  # what is never collected is never copied into a child
    while True:
        data, streams, _, _ = socket.recv_fds(link, _LONGEST, 3)
        if not data:
            return
        child = os.fork()
        if not child:
            link.close()
            _become(json.loads(data), streams)
        for number in streams:
            os.close(number)
        link.send(_account(*os.wait4(child, 0)[1:]).encode())


def _account(status: int, usage: resource.struct_rusage) -> str:
    """The exit code of a child, its memory in MB, and its seconds."""
    memory = usage.ru_maxrss / (1024 * (1024 if sys.platform == "darwin" else 1))
    seconds = usage.ru_utime + usage.ru_stime
    return f"{os.waitstatus_to_exitcode(status)} {memory} {seconds}"


_LAZY = ("graspologic_native", "tomlkit")
"""What dowse loads only when a command needs it; every child would load it again."""


def load() -> None:
    """Loads what the commands need."""
    import dowse  # noqa: PLC0415  not in the test's own process

    for module in pkgutil.walk_packages(dowse.__path__, "dowse."):
        if not module.name.startswith(
            ("dowse.integrations", "dowse._interfaces.mcp", "dowse._interfaces.http")
        ):
            importlib.import_module(module.name)
    for name in _LAZY:
        importlib.import_module(name)
    dowse._config.schema.known_settings()  # the slowest of what a command works out once


def _become(request: dict[str, Any], streams: Sequence[int]) -> None:
    """Runs a line in a child, and ends it as Python would."""
    code = 99
    try:
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["here"])
        _take_streams(streams)
        code = _run(request["line"])
    except BaseException:  # noqa: BLE001  a test looks for what dowse lets through
        traceback.print_exc()
    finally:
        os._exit(code)


def _take_streams(streams: Sequence[int]) -> None:
    """Makes the standard streams of these descriptors, encoded as the environment says."""
    for number, given in enumerate(streams):
        os.dup2(given, number)
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "utf-8").partition(":")
    sys.stdin = open(0, encoding=encoding, closefd=False)  # noqa: SIM115  a descriptor
    sys.stdout = _written(1, encoding, errors or "strict")
    sys.stderr = _written(2, encoding, "backslashreplace")


def _written(number: int, encoding: str, errors: str) -> io.TextIOWrapper:
    raw = open(number, "wb", closefd=False)  # noqa: SIM115  as above
    lines = number == 2 or os.isatty(number)
    return io.TextIOWrapper(raw, encoding, errors, line_buffering=lines)


def _run(line: Sequence[str]) -> int:
    from dowse._interfaces.cli.main import main  # noqa: PLC0415  as above

    sys.argv = ["dowse", *line]
    try:
        main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
