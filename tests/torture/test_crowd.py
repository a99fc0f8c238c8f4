"""Eight readers, a writer, a watcher and a doctor share one index."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from crash.store_processes import number_in, numbered
from documents import STAMP, PlainAnalyzer
from dowse._store.store import EmbeddedStore
from index_content import content
from torture import crowd
from vaults import open_engine

_TESTS = str(Path(__file__).parents[1])


def _start(script: str, *arguments: object, patience: int) -> subprocess.Popen[str]:
    """Starts a process that leaves the processor to others the more, the more patient it is."""
    return subprocess.Popen(
        ["nice", "-n", str(patience), sys.executable, script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": _TESTS, "OPENBLAS_NUM_THREADS": "1"},
        text=True,
    )


def _ends(started: list[subprocess.Popen[str]]) -> list[list[int]]:
    """The figures that each process prints at its end."""
    said = [process.communicate(timeout=120) for process in started]
    failed = [
        error for process, (_, error) in zip(started, said, strict=True) if process.returncode
    ]
    assert not failed, failed[0]
    return [[int(figure) for figure in out.split()] for out, _ in said]


@pytest.mark.takes(125)
def test_a_crowd_never_sees_a_mixed_document_or_an_error(
    tmp_path: Path, rounds: Callable[[int, int], int], tally: Callable[[str, object], None]
) -> None:
    (tmp_path / "vault").mkdir()
    for note in range(crowd.NOTES):
        crowd.write_note(tmp_path / "vault", note, 1)
    with open_engine(tmp_path / "vault", tmp_path / "index") as engine:
        engine.index()
    roles = ["write", "watch", "doctor"] + ["read"] * rounds(2, 8)
    # Two minutes are two minutes: what else `make torture` runs needs the processor more.
    patience = rounds(0, 10)
    started = [
        _start(crowd.__file__, role, tmp_path, seed, patience=patience)
        for seed, role in enumerate(roles)
    ]
    while len(list(tmp_path.glob("ready-*"))) < len(roles):
        assert all(process.poll() is None for process in started)
        time.sleep(0.05)
    time.sleep(rounds(2, 120))
    (tmp_path / "enough").touch()
    (versions, _), _, _, *readers = _ends(started)
    searches = sum(done for done, _ in readers)
    assert searches > len(readers)
    assert versions > 2
    tally("searches beside a writer, a watcher and a doctor", searches)
    tally("versions of notes written meanwhile", versions)
    tally("memory of a reader at most, MB", max(memory for _, memory in readers))
    with (
        open_engine(tmp_path / "vault", tmp_path / "index") as used,
        open_engine(tmp_path / "vault", tmp_path / "fresh") as fresh,
    ):
        used.index()
        fresh.index()
        with used.parts.store.read() as one, fresh.parts.store.read() as other:
            assert content(one) == content(other)


_READ = """
import sys
from pathlib import Path
from crash.store_processes import read_until_enough
read_until_enough(Path(sys.argv[1]))
"""


@pytest.mark.takes(35)
def test_readers_only_see_whole_generations(
    tmp_path: Path, rounds: Callable[[int, int], int], tally: Callable[[str, object], None]
) -> None:
    folder = tmp_path / "index"
    (tmp_path / "read.py").write_text(_READ)
    store = EmbeddedStore(folder, PlainAnalyzer())
    with store.write() as writing:
        writing.start(STAMP)
        writing.apply(numbered(0))
    script, patience = str(tmp_path / "read.py"), rounds(0, 10)
    readers = [_start(script, folder, patience=patience) for _ in range(rounds(2, 8))]
    end, number = time.monotonic() + rounds(2, 30), 0
    while time.monotonic() < end or len(list(tmp_path.glob("read-*"))) < len(readers):
        assert all(reader.poll() is None for reader in readers)
        number += 1
        # A reader holds the lock while it lets a replica catch up.
        with store.write(wait=60) as writing:
            writing.apply(numbered(number))
    (tmp_path / "enough").touch()
    seen = [figures[0] for figures in _ends(readers)]
    with store.read() as reading:
        assert number_in(reading) == number
    store.close()
    assert all(one > 1 for one in seen)
    tally("generations written / seen by each reader", f"{number} / {min(seen)} to {max(seen)}")
