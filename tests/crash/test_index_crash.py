"""An indexing process is killed again and again; the index must never have a hole."""

from __future__ import annotations

import io
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from index_content import content
from vaults import open_engine, write_vault

FILES = 500
KILLS = 50
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


def test_no_kill_leaves_a_hole(tmp_path: Path) -> None:
    vault, index = tmp_path / "vault", tmp_path / "harmed"
    write_vault(vault, FILES)
    duration = _whole_run(vault, tmp_path / "unharmed")
    moments = random.Random(7)
    killed = 0
    while killed < KILLS:
        process = _start(vault, index)
        time.sleep(moments.uniform(0, duration * 0.5))
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        with open_engine(vault, index) as engine:
            pending = engine.status().freshness  # opens, and lets the replicas catch up
            assert engine.check() == []
        if pending.new + pending.changed < FILES / 5:  # a finished index cannot be interrupted
            _edit_some(vault, moments)
    _whole_run(vault, index)
    _whole_run(vault, tmp_path / "fresh")
    with open_engine(vault, index) as harmed, open_engine(vault, tmp_path / "fresh") as fresh:
        assert harmed.check() == []
        with harmed._parts.store.read() as one, fresh._parts.store.read() as other:
            assert content(one) == content(other)


def _edit_some(vault: Path, moments: random.Random) -> None:
    for path in moments.sample(sorted(vault.rglob("*.md")), FILES // 2):
        path.write_text(path.read_text("utf-8") + f"\nEdited {moments.random()}.\n", "utf-8")
