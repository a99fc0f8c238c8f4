"""Reading needs no writing: on a read-only file system, on a full disk, beside a dead writer."""

from __future__ import annotations

import errno
import gc
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from documents import STAMP, PlainAnalyzer, batch, make_document, vector_of
from dowse._store.files import disk_errors
from dowse._store.replicas import Replicas
from dowse._store.store import EmbeddedStore
from dowse.errors import DowseError

_TESTS = str(Path(__file__).parents[2])
_COUNT = 30

_SEARCH = f"""
import sys; sys.path.insert(0, {_TESTS!r})
from pathlib import Path
from documents import PlainAnalyzer, vector_of
from dowse._store.store import EmbeddedStore
store = EmbeddedStore(Path(sys.argv[1]), PlainAnalyzer())
for _ in range(2):
    with store.read() as reading:
        words = reading.keyword.search("body", ["text"], 100)
        print(len(words), len(reading.vectors.nearest(vector_of("x"), 100)))
store.close()
"""

_WRITE = f"""
import sys; sys.path.insert(0, {_TESTS!r})
from pathlib import Path
from documents import PlainAnalyzer, batch, make_document
from dowse.errors import DowseError
from dowse._store.store import EmbeddedStore
store = EmbeddedStore(Path(sys.argv[1]), PlainAnalyzer())
try:
    with store.write() as writing:
        writing.apply(batch(make_document("new.md", "new text")))
except DowseError as error:
    print("told:", error)
"""

_KILLED = f"""
import os, sys; sys.path.insert(0, {_TESTS!r})
from pathlib import Path
from documents import PlainAnalyzer, batch, make_document
from dowse._store.store import EmbeddedStore
store = EmbeddedStore(Path(sys.argv[1]), PlainAnalyzer())
with store.write() as writing:
    writing.apply(batch(make_document("last.md", "text of the last batch")))
    os._exit(9)
"""

_KILLED_HALF_WAY = f"""
import os, sys; sys.path.insert(0, {_TESTS!r})
from pathlib import Path
from documents import PlainAnalyzer, batch, make_document
from dowse._store.replicas import Replicas
from dowse._store.store import EmbeddedStore
store = EmbeddedStore(Path(sys.argv[1]), PlainAnalyzer())
with store.write() as writing:
    Replicas.catch_up = lambda *_, **__: os._exit(9)
    writing.apply(batch(make_document("last.md", "text of the last batch")))
"""


# Every write then fails, as on a full disk.
_NO_FILE_GROWS = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
"""


def _run(code: str, folder: Path) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-B", "-c", code, str(folder)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout, done.stderr


def _run_mounted_read_only(code: str, folder: Path) -> tuple[str, str]:
    """Runs a child that sees the folder on a read-only file system; skips where that cannot be."""
    script = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" || exit 77; exec "${@:2}"'
    command = ["unshare", "--mount", "bash", "-c", script, "bash", folder]
    if shutil.which("unshare") is None or os.geteuid() != 0:
        pytest.skip("only root can mount a folder read-only")
    done = subprocess.run(
        [*map(str, command), sys.executable, "-B", "-c", code, str(folder)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip("a folder cannot be mounted read-only here")
    return done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "index"
    store = EmbeddedStore(folder, PlainAnalyzer())
    with store.write() as writing:
        writing.start(STAMP)
        writing.apply(batch(*(make_document(f"{n}.md", f"text {n}") for n in range(_COUNT))))
    store.close()
    return folder


def _names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def test_a_read_only_file_system_can_be_searched(folder: Path) -> None:
    before = _names(folder)
    out, err = _run_mounted_read_only(_SEARCH, folder)
    assert out == f"{_COUNT} {_COUNT}\n" * 2, err
    assert _names(folder) == before


def test_a_read_only_file_system_can_be_searched_after_its_writer_was_killed(folder: Path) -> None:
    _run(_KILLED, folder)
    assert (folder / "index.db-wal").stat().st_size
    out, err = _run_mounted_read_only(_SEARCH, folder)
    assert out == f"{_COUNT + 1} {_COUNT + 1}\n" * 2, err


def test_a_read_only_file_system_can_be_searched_although_its_replicas_are_behind(
    folder: Path,
) -> None:
    _run(_KILLED_HALF_WAY, folder)
    before = _names(folder)
    out, err = _run_mounted_read_only(_SEARCH, folder)
    assert out == f"{_COUNT + 1} {_COUNT + 1}\n" * 2, err
    assert _names(folder) == before


def test_a_log_that_cannot_be_read_is_reported(folder: Path) -> None:
    _run(_KILLED, folder)
    (folder / "index.db-shm").unlink()
    out, err = _run_mounted_read_only(_SEARCH, folder)
    assert out == ""
    assert "copy the folder to where it can be written" in err


def test_a_read_only_file_system_cannot_be_written_and_says_so(folder: Path) -> None:
    out, err = _run_mounted_read_only(_WRITE, folder)
    assert out.startswith("told: "), err
    assert "Check its permissions" in out


def test_a_full_disk_can_be_searched(folder: Path) -> None:
    out, err = _run(_NO_FILE_GROWS + _SEARCH, folder)
    assert out == f"{_COUNT} {_COUNT}\n" * 2, err


def test_a_full_disk_can_be_searched_although_its_replicas_are_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_no_room(*_: object, **__: object) -> None:
        with disk_errors(folder):
            raise OSError(errno.ENOSPC, "No space left on device")

    store = EmbeddedStore(folder, PlainAnalyzer())
    with pytest.raises(DowseError, match="Free some space"), store.write() as writing:  # noqa: PT012
        monkeypatch.setattr(Replicas, "_level", find_no_room)
        writing.apply(batch(make_document("last.md", "text of the last batch")))
    for _ in range(2):
        with store.read() as reading:
            assert len(reading.keyword.search("body", ["text"], 100)) == _COUNT + 1
            assert len(reading.vectors.nearest(vector_of("x"), 100)) == _COUNT + 1
    store.close()
    monkeypatch.setattr("dowse._store.replicas.mkdtemp", find_no_room)
    with pytest.raises(DowseError, match="Free some space"), store.read():
        pass
    store.close()


def test_indexes_that_a_reader_built_go_with_its_store(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_read_only(*_: object, **__: object) -> None:
        with disk_errors(folder):
            raise OSError(errno.EROFS, "Read-only file system")

    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    store, writer = (EmbeddedStore(folder, PlainAnalyzer()) for _ in range(2))
    for name in ("one.md", "two.md"):
        with monkeypatch.context() as now:
            with pytest.raises(DowseError), writer.write() as writing:  # noqa: PT012
                now.setattr(Replicas, "_level", is_read_only)
                writing.apply(batch(make_document(name, "text of a batch")))
            with store.read() as reading:
                assert reading.catalogue.document(name)
        assert len(list(temporary.iterdir())) == 1
    writer.close()
    del store, reading
    gc.collect()
    assert not list(temporary.iterdir())


def test_a_full_disk_cannot_be_written_and_the_index_stays_whole(folder: Path) -> None:
    out, err = _run(_NO_FILE_GROWS + _WRITE, folder)
    assert out.startswith("told: "), err
    assert "space" in out
    store = EmbeddedStore(folder, PlainAnalyzer())
    assert store.check() == []
    with store.read() as reading:
        assert reading.catalogue.counts().documents == _COUNT
    store.close()


def test_a_frozen_reading_notices_a_writer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = (EmbeddedStore(folder, PlainAnalyzer()) for _ in range(2))
    from dowse.errors import Locked  # noqa: PLC0415

    def fail() -> None:
        error = sqlite3.OperationalError("unable to open database file")
        error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
        raise error

    monkeypatch.setattr(reader._server, "_open", fail)

    def read_while_somebody_writes() -> None:
        with reader.read() as reading:
            assert reading.catalogue.counts().documents == _COUNT
            with writer.write() as writing:
                writing.apply(batch(make_document("new.md", "new text")))
            writer.close()  # which moves the log into the database

    with pytest.raises(Locked, match="Run the command again"):
        read_while_somebody_writes()
    with reader.read() as reading:
        assert reading.catalogue.counts().documents == _COUNT + 1
    reader.close()
