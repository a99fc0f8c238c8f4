"""Office files, PDFs and web pages become Markdown in a process of their own.

A broken file can make a library print, hang, eat memory or crash; all of that ends there,
and the file is reported as `Unreadable`. The process starts with the first file.
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import subprocess
import sys
import threading
from contextlib import suppress
from typing import IO, cast

from dowse._index.source.files import Unreadable, wording
from dowse._text.file_names import INSTALL, READY

_SECONDS = 60.0  # for any file, however small
_SECONDS_PER_MEGABYTE = 20.0
_KILLED = -9  # by the system, which lacked memory: dowse itself says when it kills
_ADVICE = "Index with more memory, or leave such files out."


def is_installed() -> bool:
    """Return whether the libraries that convert are there; nothing is imported."""
    return importlib.util.find_spec("markitdown") is not None


def convert(data: bytes, kind: str, seconds: float) -> str:
    """Return the Markdown for a file of this kind; `Unreadable` says why there is none."""
    if not is_installed():
        raise Unreadable(INSTALL, lost=False)
    return _converter.convert(data, kind, patience(len(data), seconds))


def patience(size: int, most: float) -> float:
    """Return the seconds for a file of this size: a small one that takes minutes is a bomb."""
    return min(most, _SECONDS + _SECONDS_PER_MEGABYTE * size / 1e6)


class _Converter:
    """The converting process, started when it is needed and again after it ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._ready = False  # whether the libraries are loaded
        self._lock = threading.Lock()

    def convert(self, data: bytes, kind: str, seconds: float) -> str:
        with self._lock:
            try:
                fine, text = self._request(data, kind, seconds)
            except _Ended:  # it had just ended for want of work
                fine, text = self._request(data, kind, seconds)
        if not fine:
            raise Unreadable(text, lost=text != INSTALL)
        return text

    def stop(self) -> int:
        """End the process; return its exit code, 0 when it had ended by itself."""
        process, self._process = self._process, None
        if process is None:
            return 0
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.2)
        process.kill()
        with suppress(OSError), process:  # leaving it closes the pipes and waits
            pass
        return process.returncode

    def _request(self, data: bytes, kind: str, seconds: float) -> tuple[bool, str]:
        if self._process is None or self._process.poll() is not None:
            self.stop()
            self._process, self._ready = _start(), False
        process = self._process
        overdue = _Overdue(process, seconds)
        try:
            # A new process loads the libraries first: that it cannot is no file's fault.
            self._ready = self._ready or cast("IO[bytes]", process.stdout).readline() == READY
            if not self._ready:
                raise EOFError("the process could not begin")
            return _exchange(process, data, kind)
        except (OSError, EOFError, ValueError) as error:
            if overdue.killed:
                reason = f"Its conversion took longer than {seconds:g} seconds."
                raise Unreadable(reason) from error
            raise self._after_a_crash() from error
        except BaseException:
            self.stop()  # half an answer may be on its way
            raise
        finally:
            if overdue.cancel():
                self.stop()

    def _after_a_crash(self) -> Exception:
        was_ready, code = self._ready, self.stop()
        if not was_ready:
            return Unreadable(f"The converter cannot start, probably for want of memory. {_ADVICE}")
        if code == 0:
            return _Ended()
        if code == _KILLED:
            return Unreadable(f"The system ended its conversion for want of memory. {_ADVICE}")
        return Unreadable("Its conversion crashed: it is damaged, or needs more memory.")


class _Ended(Exception):
    """The process ended unasked, and without a fault."""


class _Overdue:
    """Kills a process that takes too long."""

    def __init__(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        self.killed = False
        self._process = process
        self._timer = threading.Timer(seconds, self._kill)
        self._timer.daemon = True
        self._timer.start()

    def cancel(self) -> bool:
        """Let the process live; return True when it is too late for that."""
        self._timer.cancel()
        self._timer.join()
        return self.killed

    def _kill(self) -> None:
        self.killed = True
        self._process.kill()


def _start() -> subprocess.Popen[bytes]:
    # -P: the current folder may be anybody's, nothing is imported from it.
    command = [sys.executable, "-P", "-m", "dowse._index.source.converter"]
    try:
        return subprocess.Popen(  # noqa: S603  dowse's own module
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError as error:
        raise Unreadable(f"The converter cannot be started: {wording(error)}.") from error


def _exchange(process: subprocess.Popen[bytes], data: bytes, kind: str) -> tuple[bool, str]:
    requests, answers = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
    requests.write(json.dumps({"kind": kind, "size": len(data)}).encode() + b"\n" + data)
    requests.flush()
    header = json.loads(answers.readline())
    payload = answers.read(header["size"])
    if len(payload) < header["size"]:
        raise EOFError("the answer was cut off")
    return header["fine"], payload.decode()


_converter = _Converter()
atexit.register(_converter.stop)
