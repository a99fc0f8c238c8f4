"""An indexing process is killed again and again; the index must never have a hole."""

from __future__ import annotations

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
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def _whole_run(vault: Path, index: Path) -> float:
    start = time.monotonic()
    process = _start(vault, index)
    assert process.wait(timeout=120) == 0
    return time.monotonic() - start


def test_no_kill_leaves_a_hole(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    write_vault(vault, FILES)
    duration = _whole_run(vault, tmp_path / "unharmed")
    moments = random.Random(7)
    index = tmp_path / "harmed"
    interrupted = 0
    for _ in range(KILLS):
        process = _start(vault, index)
        time.sleep(moments.uniform(0, duration * 0.4))
        process.send_signal(signal.SIGKILL)
        interrupted += process.wait() == -signal.SIGKILL
        process.stdout.close()  # type: ignore[union-attr]
        with open_engine(vault, index) as engine:
            engine.status()  # opens, and lets the replicas catch up
            assert engine.check() == []
        if interrupted % 10 == 0:  # keep it busy: a finished index cannot be interrupted
            _touch_some(vault, moments)
    _whole_run(vault, index)
    assert interrupted > KILLS / 2
    _whole_run(vault, tmp_path / "fresh")
    with (
        open_engine(vault, index) as harmed,
        open_engine(vault, tmp_path / "fresh") as fresh,
        harmed._parts.store.read() as one,
        fresh._parts.store.read() as other,
    ):
        assert content(one) == content(other)


def _touch_some(vault: Path, moments: random.Random) -> None:
    for path in moments.sample(sorted(vault.rglob("*.md")), 200):
        path.write_text(path.read_text("utf-8") + f"\nEdited {moments.random()}.\n", "utf-8")
