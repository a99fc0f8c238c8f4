"""Runs dowse in forked processes, and kills them at a chosen line or moment.

One process loads dowse once and forks for every command, so a kill costs the time of the command
and not that of starting Python. It can live in a mount namespace of its own, where a test can give
it a disk of any size.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import json
import os
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from forked import load

_LIMIT = 60.0  # seconds; a command that takes longer hangs
_TRACED = ("/_store/", "/archive/", "/files.py", "/_project/", "/_index/pipeline.py")
"""The parts of dowse in which a process can be killed at a chosen line: those that write."""


@dataclass(frozen=True)
class Ended:
    """How a forked process ended."""

    code: int  # negative: the signal that killed it
    out: str
    lines: int  # of the traced parts that ran

    @property
    def json(self) -> Any:
        found, _ = json.JSONDecoder().raw_decode(self.out)  # remarks may follow it
        return found


class ForkServer:
    """The test's side of the process that forks."""

    def __init__(self, environment: Mapping[str, str], *, own_mounts: bool = False) -> None:
        prefix = [] if not own_mounts else ["unshare", "-m" if os.getuid() == 0 else "-Urm"]
        self._process = subprocess.Popen(
            [*prefix, sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **environment, "PYTHONPATH": str(Path(__file__).parents[1])},
            text=True,
        )

    def dowse(
        self, *line: object, here: Path, die_at: int | None = None, after: float | None = None
    ) -> Ended:
        """Runs a command; `die_at` kills it at that line, `after` in so many seconds."""
        return self._ask(line=[*map(str, line)], here=str(here), die_at=die_at, after=after)

    def content(self, name: str, here: Path) -> str:
        """A digest of everything that the index of a project holds."""
        ended = self._ask(line=["content", name], here=str(here), die_at=None, after=None)
        assert ended.code == 0, ended
        return ended.out

    def shell(self, *command: object) -> str:
        """Runs a program where the process lives; for mounts."""
        ended = self._ask(shell=[*map(str, command)])
        assert ended.code == 0, ended
        return ended.out

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _ask(self, **request: object) -> Ended:
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return Ended(**json.loads(self._process.stdout.readline()))


@contextlib.contextmanager
def fork_server(
    environment: Mapping[str, str], *, own_mounts: bool = False
) -> Iterator[ForkServer]:
    """A process that forks, for as long as the test runs."""
    server = ForkServer(environment, own_mounts=own_mounts)
    try:
        yield server
    finally:
        server.close()


# ── The process that forks ───────────────────────────────────────────────────


def _serve() -> None:
    load()
    gc.freeze()  # what is never collected is never copied into a child
    for line in sys.stdin:
        request = json.loads(line)
        if "shell" in request:
            done = subprocess.run(request["shell"], check=False, capture_output=True, text=True)
            ended = Ended(done.returncode, done.stdout + done.stderr, 0)
        else:
            ended = _fork(**request)
        print(json.dumps(ended.__dict__), flush=True)


def _fork(line: Sequence[str], here: str, die_at: int | None, after: float | None) -> Ended:
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        os.close(ours)
        _take_streams(theirs)
        code = 99
        try:
            code = _run(line, here, die_at)
        except BaseException:  # noqa: BLE001  what dowse lets through is what the test looks for
            traceback.print_exc()
        os._exit(code)
    os.close(theirs)
    said = _read_until(ours, time.monotonic() + (_LIMIT if after is None else after), child)
    os.close(ours)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    out, *lines = said.decode("utf-8", "replace").split("\0")
    return Ended(code, "".join((out, *lines[1:])), int(lines[0]) if lines else 0)


def _take_streams(said: int) -> None:
    """Gives a child streams of its own: nothing to read, and all that it says in one pipe."""
    for number, source in enumerate((os.open(os.devnull, os.O_RDONLY), said, said)):
        os.dup2(source, number)
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode, encoding="utf-8") for number, mode in enumerate("rww")
    )


def _read_until(source: int, deadline: float, child: int) -> bytes:
    """Everything that a child says; it is killed when its time is over."""
    said = b""
    killed = False
    while True:
        left = max(0.0, deadline - time.monotonic())
        if not killed and not select.select([source], [], [], left)[0]:
            os.kill(child, signal.SIGKILL)
            killed = True
        piece = os.read(source, 1 << 16)
        if not piece:
            return said
        said += piece


def _run(line: Sequence[str], here: str, die_at: int | None) -> int:
    from dowse._interfaces.cli.main import run  # noqa: PLC0415  as above
    from dowse._project.workspace import Given  # noqa: PLC0415
    from dowse.testing import HashEmbedder  # noqa: PLC0415

    os.chdir(here)
    if line[0] == "content":
        print(_content(line[1]), flush=True)
        return 0
    counter = _Counter(die_at)
    if die_at is not None:
        counter.start()
    try:
        return run(line, Given(HashEmbedder()))  # a model that needs no weights
    finally:
        sys.settrace(None)
        sys.stdout.flush()
        if die_at is not None:
            print(f"\0{counter.lines}\0", end="", flush=True)


class _Counter:
    """Counts the lines of the traced parts that run, and kills the process at one of them."""

    def __init__(self, die_at: int | None) -> None:
        self._die_at = die_at
        self._traced: dict[str, bool] = {}  # by file: every call of every part asks
        self.lines = 0

    def start(self) -> None:
        sys.settrace(self._enter)

    def _enter(self, frame: FrameType, _event: str, _value: object) -> Callable[..., Any] | None:
        file = frame.f_code.co_filename
        if file not in self._traced:
            self._traced[file] = any(part in file for part in _TRACED)
        return self._line if self._traced[file] else None

    def _line(self, _frame: FrameType, event: str, _value: object) -> Callable[..., Any]:
        if event == "line":
            self.lines += 1
            if self.lines == self._die_at:
                os.kill(os.getpid(), signal.SIGKILL)
        return self._line


def _content(name: str) -> str:
    from dowse._project.workspace import Given, Workspace  # noqa: PLC0415
    from dowse.testing import HashEmbedder  # noqa: PLC0415  as above
    from index_content import content  # noqa: PLC0415

    workspace = Workspace(given=Given(HashEmbedder()))
    with workspace.open(workspace.projects.get(name)) as engine, engine.parts.store.read() as one:
        whole = {part: value for part, value in content(one).items() if part != "stamp"}
        return "\n".join(
            f"{part} {hashlib.sha256(_ordered(value).encode()).hexdigest()}"
            for part, value in whole.items()
        )


def _ordered(value: object) -> str:
    return repr(sorted(value.items()) if isinstance(value, dict) else value)


if __name__ == "__main__":
    _serve()
