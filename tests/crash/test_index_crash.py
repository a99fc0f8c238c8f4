"""An indexing process is killed again and again; the index must never have a hole."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dowse._project.engine import Engine
from index_content import content
from torture.children import ForkServer, fork_server
from vaults import open_engine, write_vault


class Runs:
    """Runs of `dowse index` over a folder, each a process that is forked from one."""

    def __init__(self, folder: Path, server: ForkServer) -> None:
        self.vault = folder / "vault"
        self._folder = folder
        self._server = server

    def index(self, name: str, after: float | None = None) -> int:
        """Updates the index of a project; kills the run after some seconds. Gives its code."""
        line = ("index", self.vault, "-p", name)
        return self._server.dowse(*line, here=self._folder, after=after).code

    def open(self, name: str) -> Engine:
        """An engine over the index of a project."""
        return open_engine(self.vault, self._folder / "data" / "projects" / name)


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    own = {f"DOWSE_{name.upper()}_DIR": str(tmp_path / name) for name in ("config", "data")}
    with fork_server({**own, "HOME": str(tmp_path)}) as server:
        server.shell("true")  # waits until dowse is loaded: the time of a run is measured
        yield Runs(tmp_path, server)


@pytest.mark.takes(33)
def test_no_kill_leaves_a_hole(
    runs: Runs, rounds: Callable[[int, int], int], tally: Callable[[str, object], None]
) -> None:
    files = rounds(120, 300)
    write_vault(runs.vault, files)
    start = time.monotonic()
    assert runs.index("unharmed") == 0
    duration = time.monotonic() - start
    moments = random.Random(7)
    killed = 0
    while killed < rounds(8, 50):
        killed += runs.index("harmed", moments.uniform(0, duration * 0.5)) == -signal.SIGKILL
        with runs.open("harmed") as engine:
            pending = engine.status().freshness  # opens, and lets the replicas catch up
            assert engine.check() == []
        if pending.new + pending.changed < files / 5:  # a finished index cannot be interrupted
            _edit_some(runs.vault, moments)
    tally(f"kills of a run over {files} files survived", killed)
    assert runs.index("harmed") == 0
    assert runs.index("fresh") == 0
    with runs.open("harmed") as harmed, runs.open("fresh") as fresh:
        assert harmed.check() == []
        with harmed.parts.store.read() as one, fresh.parts.store.read() as other:
            assert content(one) == content(other)


_KILLED_AT_STAGE = """
import os, sys; sys.path.insert(0, sys.argv[1])
from pathlib import Path
from dowse._index import pipeline as indexing
from vaults import open_engine

def end(work):
    os._exit(9)

at = [stage.name for stage in indexing.INDEX_FLOW].index(sys.argv[4])
indexing.INDEX_FLOW = (*indexing.INDEX_FLOW[:at], indexing.IndexStage("end", end))
open_engine(Path(sys.argv[2]), Path(sys.argv[3])).index()
"""


@pytest.mark.parametrize("stage", ["waiting", "vocabulary", "communities", "tidy"])
def test_what_a_killed_run_owed_is_done_by_the_next(tmp_path: Path, stage: str) -> None:
    vault, index = tmp_path / "vault", tmp_path / "killed"
    write_vault(vault, 20)
    with open_engine(vault, index) as engine:
        engine.index()
    for path in sorted(vault.rglob("*.md"))[:8]:
        path.unlink()
    (vault / "new.md").write_text("# New\n\nA gateway. See [[note-1]] and [[note-5]].\n", "utf-8")
    tests = str(Path(__file__).parents[1])
    command = [sys.executable, "-c", _KILLED_AT_STAGE, tests, str(vault), str(index), stage]
    assert subprocess.run(command, check=False, timeout=60).returncode == 9
    with open_engine(vault, index) as killed, open_engine(vault, tmp_path / "fresh") as fresh:
        report = killed.index()
        assert (report.added, report.changed, report.removed) == (0, 0, 0)
        fresh.index()
        with killed.parts.store.read() as one, fresh.parts.store.read() as other:
            assert content(one) == content(other)
        with killed.parts.store.write() as writing:
            assert writing.pending() == frozenset()
        assert killed.check() == []


def _edit_some(vault: Path, moments: random.Random) -> None:
    notes = sorted(vault.rglob("*.md"))
    for path in moments.sample(notes, len(notes) // 2):
        path.write_text(path.read_text("utf-8") + f"\nEdited {moments.random()}.\n", "utf-8")
