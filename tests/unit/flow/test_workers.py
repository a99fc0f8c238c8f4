"""Files that other processes prepare come into the index as if there were none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import astuple

from dowse._index import pipeline, prepare
from dowse._index.options import ChunkOptions, ReadOptions
from dowse._index.prepare import FileBatch, Worker
from dowse._model import Event, IndexReport, SourceFile
from dowse._text.analyzer import TextAnalyzer
from dowse._text.options import KeywordOptions
from index_content import content
from vaults import open_engine, write_vault

_FILES = 50
_BROKEN = "import sys; sys.exit(3)"
_CUT_OFF = "import sys; from dowse._index import prepare as h; sys.stdout.buffer.write(h._GREETING)"


class Watched(Worker):
    """A worker that counts what it could do."""

    answers = 0

    def prepare(self, files: FileBatch) -> FileBatch | None:
        made = super().prepare(files)
        self.answers += made is not None
        return made


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Watched]:
    """Workers as for many files on three cores; the list has those that were started."""
    started: list[Watched] = []

    def start(*options: Any) -> Worker:
        started.append(Watched(*options))
        return started[-1]

    monkeypatch.setattr(prepare, "Worker", start)
    monkeypatch.setattr(prepare, "_MANY", 20)
    monkeypatch.setattr(prepare, "_FILES", 3)
    monkeypatch.setattr(prepare, "cores", lambda: 3)
    monkeypatch.setattr(pipeline, "_FILES", 8)
    return started


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    vault = tmp_path / "vault"
    write_vault(vault, _FILES)
    (vault / "a secret.md").write_text("key AKIAIOSFODNN7EXAMPLE here", "utf-8")
    (vault / "latin.md").write_bytes("Übermut, sagt die Großmutter.".encode("latin-1"))
    (vault / "nothing.md").write_bytes(b"\0\1\2" * 100)
    (vault / "table.csv").write_text("a,b\n1,2\n", "utf-8")
    return vault


def indexed(vault: Path, index: Path) -> tuple[IndexReport, dict[str, Any]]:
    engine = open_engine(vault, index)
    report = engine.index()
    assert engine.check() == []
    with engine.parts.store.read() as reading:
        ids = [entry.id for entry in reading.catalogue.documents()]
        keys = [reading.catalogue.keys_of([one]).tolist() for one in ids]
        return report, {**content(reading), "keys": keys}


def without_times(report: IndexReport) -> tuple[Any, ...]:
    left_out = sorted(map(astuple, report.left_out))
    return report.added, report.changed, report.chunks, report.secrets, report.counts, left_out


def ended(one: Worker) -> bool:
    return one.process is not None and one.process.returncode is not None


@pytest.mark.parametrize("shared", [False, True])
def test_an_index_is_the_same_with_workers_and_without(
    vault: Path,
    tmp_path: Path,
    started: list[Watched],
    monkeypatch: pytest.MonkeyPatch,
    shared: bool,
) -> None:
    if not shared:  # then the workers prepare all but the first batch
        monkeypatch.setattr(prepare, "_take_back", lambda _: None)
    report, helped = indexed(vault, tmp_path / "helped")
    assert len(started) == 2
    assert all(map(ended, started))
    assert shared or sum(one.answers for one in started) == 16  # of up to three files each
    monkeypatch.setattr(prepare, "cores", lambda: 1)
    alone, expected = indexed(vault, tmp_path / "alone")
    assert len(started) == 2
    assert helped == expected
    assert without_times(report) == without_times(alone)


def test_what_has_changed_is_the_same_with_workers(
    vault: Path, tmp_path: Path, started: list[Watched]
) -> None:
    indexed(vault, tmp_path / "helped")
    write_vault(vault, _FILES, seed=2)
    (vault / "latin.md").write_bytes(b"\0\1\2" * 100)  # from now on it cannot be read
    os.utime(vault / "a secret.md", (1, 1))
    report, helped = indexed(vault, tmp_path / "helped")
    assert len(started) == 4
    assert report.removed == 1
    _, expected = indexed(vault, tmp_path / "new")
    assert helped["documents"] == expected["documents"]
    assert helped["keyword"] == expected["keyword"]


@pytest.mark.parametrize("code", [_BROKEN, _CUT_OFF, None])
def test_what_a_worker_cannot_do_is_done_without_it(
    vault: Path,
    tmp_path: Path,
    started: list[Watched],
    monkeypatch: pytest.MonkeyPatch,
    code: str | None,
) -> None:
    if code is None:
        monkeypatch.setattr(sys, "executable", "no such file")
    else:
        monkeypatch.setattr(prepare, "_WORKER", ("-c", code))
    report, _ = indexed(vault, tmp_path / "index")
    assert len(started) == 2
    assert report.added == _FILES + 2 + ("table.csv" not in {one.id for one in report.left_out})


def test_workers_that_are_killed_lose_no_file(
    vault: Path, tmp_path: Path, started: list[Watched]
) -> None:
    engine = open_engine(vault, tmp_path / "index")

    def kill(event: Event) -> None:
        if event.stage == "parse" and event.done:
            for one in started:
                if one.process:
                    one.process.kill()

    report = engine.index(announce=kill)
    assert report.added >= _FILES + 2
    assert engine.check() == []


def test_workers_that_are_stopped_do_not_stall_the_run(
    vault: Path, tmp_path: Path, started: list[Watched], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepare, "_PATIENCE", -59.0)  # one second with the time for a slow file
    monkeypatch.setattr(prepare, "_take_back", lambda _: None)  # the workers get all files
    assert ReadOptions().file_seconds == 60

    def stop(event: Event) -> None:
        if event.stage == "parse" and event.done:
            for one in started:
                if one.process is not None and one.process.poll() is None:
                    one.process.send_signal(signal.SIGSTOP)

    engine = open_engine(vault, tmp_path / "index")

    def end_all() -> None:
        for one in started:
            if one.process:
                one.process.kill()

    rescue = threading.Timer(30, end_all)
    rescue.start()
    begun = time.monotonic()
    report = engine.index(announce=stop)
    rescue.cancel()
    assert time.monotonic() - begun < 25
    assert report.added >= _FILES + 2
    assert engine.check() == []


def test_an_interrupted_run_ends_its_workers(
    vault: Path, tmp_path: Path, started: list[Watched]
) -> None:
    def interrupt(event: Event) -> None:
        if event.stage == "parse" and event.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_engine(vault, tmp_path / "index").index(announce=interrupt)
    assert len(started) == 2
    assert all(map(ended, started))


def test_few_files_need_no_worker(
    vault: Path, tmp_path: Path, started: list[Watched], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepare, "_MANY", 200)
    indexed(vault, tmp_path / "index")
    assert started == []


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="it looks at the system's processes")
def test_a_worker_ends_when_its_parent_is_killed() -> None:
    parent = (
        "import time; from dowse._index.child import Child; from dowse._index import prepare;"
        "process = Child(*prepare._WORKER);"
        "process.answers.readline(); print(process.pid, flush=True); time.sleep(100)"
    )
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.kill()
    for _ in range(100):
        if not Path(f"/proc/{child}").exists() or _is_ended(child):
            break
        time.sleep(0.1)
    else:
        os.kill(child, signal.SIGKILL)
        pytest.fail("the worker outlived its parent")


def _is_ended(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_an_analyzer_that_cannot_be_sent_needs_no_worker(tmp_path: Path) -> None:
    class Own(TextAnalyzer):
        """Not known to another process."""

        def __reduce__(self) -> Any:
            return Own, (KeywordOptions(),)

    one = Worker(Own(KeywordOptions()))
    source = SourceFile("a.md", str(tmp_path / "a.md"), 1, 1)
    files = FileBatch(ReadOptions(), ChunkOptions(), [source])
    assert one.prepare(files) is None
    assert one.prepare(files) is None
    assert one.process is not None
    one.process.end()
