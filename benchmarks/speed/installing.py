"""Installs packages in environments of their own, once, and says what that has cost."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.speed.figures import KEPT, Clock
from benchmarks.speed.material import ROOT

_PEERS = KEPT / "peers"
_LIMIT = 900  # seconds
_NOTE = "installed.json"


class Failed(Exception):
    """A peer could not be installed or run, with the reason."""


@dataclass(frozen=True, slots=True)
class Installed:
    """An environment, and what installing it has cost."""

    folder: Path
    seconds: float  # with downloads, or with those that pip has kept
    megabytes: float

    def program(self, name: str) -> str:
        return str(self.folder / "bin" / name)


def install_pip(name: str, packages: Sequence[str]) -> Installed:
    """Packages from PyPI."""
    python = [sys.executable, "-m", "venv"]
    folder = _PEERS / name
    pip = [str(folder / "bin" / "pip"), "install", "--quiet"]
    return _once(folder, [[*python, str(folder)], [*pip, *packages]])


def install_dowse() -> Installed:
    """This checkout, as users install it."""
    folder = _PEERS / "dowse"
    (folder / _NOTE).unlink(missing_ok=True)  # of another state of this checkout
    pip = [str(folder / "bin" / "pip"), "install", "--quiet", "--no-compile"]
    locked = [*pip, "--require-hashes", "-r", str(ROOT / "requirements.lock")]
    own = [*pip, "--no-deps", "--no-build-isolation", str(ROOT)]
    return _once(folder, [[sys.executable, "-m", "venv", str(folder)], locked, own])


def install_npm(*packages: str) -> Installed:
    """Packages from npm."""
    if not shutil.which("npm"):
        raise Failed("there is no npm on this machine")
    folder = _PEERS / packages[0].replace("/", "-").lstrip("@")
    line = ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", *packages]
    return _once(folder, [line])


def _once(folder: Path, lines: Sequence[Sequence[str]]) -> Installed:
    note = folder / _NOTE
    if not note.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        clock = Clock()
        for line in lines:
            _run(line)
        figures = {"seconds": clock.elapsed, "megabytes": size_of(folder)}
        note.write_text(json.dumps(figures), "utf-8")
    return Installed(folder, **json.loads(note.read_text("utf-8")))


def _run(line: Sequence[str]) -> None:
    try:
        subprocess.run(line, check=True, capture_output=True, text=True, timeout=_LIMIT)
    except subprocess.TimeoutExpired:
        raise Failed(f"installing takes longer than {_LIMIT} seconds") from None
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise Failed(f"it cannot be installed: {last[:150]}") from error


def size_of(folder: Path) -> float:
    """Megabytes of all files, links not followed."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files) / 1e6
