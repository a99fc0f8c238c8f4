"""Runs a program under strace and reads what it did to files, call by call."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from gates import find_tool

_CALLS = (
    "open,openat,creat,write,writev,pwrite64,pwritev,pwritev2,ftruncate,truncate,fallocate,"
    "fsync,fdatasync,sync,syncfs,msync,rename,renameat,renameat2,unlink,unlinkat,link,linkat,"
    "symlink,symlinkat,mkdir,mkdirat,rmdir,close,dup,dup2,dup3,fcntl,copy_file_range,sendfile,"
    "splice,lseek,mmap,clone,clone3,fork,vfork,chdir,fchdir,io_uring_setup"
)
_LONGEST = 1 << 26  # bytes of one call that are recorded: a longer write would be cut silently

_LINE = re.compile(r"(?P<pid>\d+) +(?P<rest>.*)")
_CALL = re.compile(r"(?P<name>\w+)\((?P<arguments>.*)\) += (?P<result>-?\d+|\?)(?P<more>.*)")
_RESUMED = re.compile(r"<\.\.\. (?P<name>\w+) resumed>(?P<rest>.*)")
_UNFINISHED = " <unfinished ...>"


@dataclass(frozen=True, slots=True)
class Call:
    """One system call that succeeded, in the order in which calls ended."""

    pid: int  # of the thread
    name: str
    arguments: tuple[str, ...]  # as strace prints them, strings as \\x escapes
    result: int


def require_strace() -> None:
    """Skips the test where there is no strace; in CI that is a failure (`gates`)."""
    if find_tool("strace") is None:
        pytest.skip("strace is not installed: apt-get install strace")


def traced(program: Path, arguments: Sequence[str], log: Path) -> list[Call]:
    """Runs a Python program of the tests to its end; the calls it made."""
    command = [str(find_tool("strace")), "-f", "-y", "-xx", "-s", str(_LONGEST), "--seccomp-bpf"]
    command += ["-e", f"trace={_CALLS}", "-o", str(log), sys.executable, str(program), *arguments]
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parents[1]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    with log.open(encoding="ascii") as lines:
        return list(_calls(lines))


def _calls(lines: Iterator[str]) -> Iterator[Call]:
    begun: dict[int, str] = {}
    for line in lines:
        match = _LINE.fullmatch(line.rstrip("\n"))
        assert match, line
        pid, rest = int(match["pid"]), match["rest"]
        if rest.startswith(("+++", "---")):  # the end of a thread, or a signal
            continue
        if rest.endswith(_UNFINISHED):
            begun[pid] = rest.removesuffix(_UNFINISHED)
            continue
        if resumed := _RESUMED.fullmatch(rest):
            rest = begun.pop(pid) + resumed["rest"]
        call = _CALL.fullmatch(rest)
        assert call, rest[:200]
        if call["result"] != "?" and int(call["result"]) >= 0:
            arguments = _split(call["arguments"])
            yield Call(pid, call["name"], arguments, int(call["result"]))


def _split(arguments: str) -> tuple[str, ...]:
    """The arguments of a call; strings hold nothing but escapes, so commas are commas."""
    parts, depth, start = [], 0, 0
    for place, character in enumerate(arguments) if "{" in arguments or "[" in arguments else ():
        depth += (character in "{[") - (character in "}]")
        if character == "," and not depth:
            parts.append(arguments[start:place].strip())
            start = place + 1
    if not parts:
        return tuple(part.strip() for part in arguments.split(","))
    return (*parts, arguments[start:].strip())
