"""An indexing process is killed again and again; the index must never have a hole."""

from __future__ import annotations

import io
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from index_content import content
from vaults import open_engine, write_vault

_RUN = """
import sys; sys.path.insert(0, sys.argv[1])
from pathlib import Path
from vaults import open_engine
print("ready", flush=True)
open_engine(Path(sys.argv[2]), Path(sys.argv[3])).index()
"""


def _start(vault: Path, index: Path) -> subprocess.Popen[bytes]:
    tests = str(Path(__file__).parents[1])
    process = subprocess.Popen(
        [sys.executable, "-c", _RUN, tests, str(vault), str(index)], stdout=subprocess.PIPE
    )
    with process.stdout or io.BytesIO() as said:
        assert said.readline() == b"ready\n"
    return process


def _whole_run(vault: Path, index: Path) -> float:
    start = time.monotonic()
    process = _start(vault, index)
    assert process.wait(timeout=120) == 0
    return time.monotonic() - start


def test_no_kill_leaves_a_hole(
    tmp_path: Path, rounds: Callable[[int, int], int], tally: Callable[[str, object], None]
) -> None:
    vault, index, files = tmp_path / "vault", tmp_path / "harmed", rounds(120, 300)
    write_vault(vault, files)
    duration = _whole_run(vault, tmp_path / "unharmed")
    moments = random.Random(7)
    killed = 0
    while killed < rounds(8, 50):
        process = _start(vault, index)
        time.sleep(moments.uniform(0, duration * 0.5))
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        with open_engine(vault, index) as engine:
            pending = engine.status().freshness  # opens, and lets the replicas catch up
            assert engine.check() == []
        if pending.new + pending.changed < files / 5:  # a finished index cannot be interrupted
            _edit_some(vault, moments)
    tally(f"kills of a run over {files} files survived", killed)
    _whole_run(vault, index)
    _whole_run(vault, tmp_path / "fresh")
    with open_engine(vault, index) as harmed, open_engine(vault, tmp_path / "fresh") as fresh:
        assert harmed.check() == []
        with harmed.parts.store.read() as one, fresh.parts.store.read() as other:
            assert content(one) == content(other)


_KILLED_AT_STAGE = """
import os, sys; sys.path.insert(0, sys.argv[1])
from pathlib import Path
from dowse.flow import indexing
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
            assert writing.owed() == frozenset()
        assert killed.check() == []


def _edit_some(vault: Path, moments: random.Random) -> None:
    notes = sorted(vault.rglob("*.md"))
    for path in moments.sample(notes, len(notes) // 2):
        path.write_text(path.read_text("utf-8") + f"\nEdited {moments.random()}.\n", "utf-8")
