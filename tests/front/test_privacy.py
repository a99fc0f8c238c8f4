"""Nobody else on the machine reads dowse's files, whatever the umask and whoever made them."""

from __future__ import annotations

import os
import stat
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from command_line import DOWSE, Dowse
from tiny_model import make_model

_UMASKS = pytest.mark.parametrize("umask", [0o000, 0o022, 0o077], indirect=True)

_LINES = (
    ["index", "{vault}"],
    ["index", "{vault}", "--rebuild"],
    ["config", "set", "search.top_n", "3"],
    ["config", "set", "-p", "vault", "search.top_n", "4"],
    ["project", "trust", "{vault}", "--yes"],
    ["project", "add", "{vault}/guides", "--name", "guides"],
    ["project", "rename", "guides", "manuals"],
    ["search", "restore", "-p", "vault"],
    ["export", "-p", "vault", "{home}/own/out.dowse"],
    ["import", "{home}/own/out.dowse", "-p", "copy"],
    ["import", "{home}/own/out.dowse", "-p", "copy", "--replace"],
    ["eval", "{home}/judged"],
    ["eval", "--self", "-p", "vault"],
    ["doctor", "--repair"],
    ["reset", "--yes", "-p", "copy"],
    ["project", "remove", "manuals", "--yes"],
)


@pytest.fixture
def umask(request: pytest.FixtureRequest, vault: Path) -> Iterator[int]:
    (vault / "dowse.toml").write_text('[embed]\nmodel = "tiny"\n', "utf-8")
    _collection(vault.parent / "judged")
    _notes_with_links(vault)
    former = os.umask(request.param)
    yield request.param
    os.umask(former)


def _collection(folder: Path) -> None:
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "mast.md").write_text("# Mast\n\nThe mast carries a barometer.\n", "utf-8")
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "barometer"}\n', "utf-8")
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tmast.md\t1\n", "utf-8")


def _notes_with_links(vault: Path) -> None:
    """What queries can be drawn from."""
    links = [f"- [osprey{n} harbour{n}](note-{n}.md)" for n in range(40)]
    (vault / "links.md").write_text("# Links\n\n" + "\n".join(links) + "\n", "utf-8")
    for n in range(40):
        text = (
            f"# Note {n}{' and others' * (n % 3)}\n\nThe osprey{n} watches the harbour{n}. "
            + f"word{n} " * 40
        )
        (vault / f"note-{n}.md").write_text(text, "utf-8")


def _open_to_others(folder: Path) -> dict[str, str]:
    """Everything in a folder that is not private, with its rights."""
    found = {}
    for path in [folder, *folder.rglob("*")]:
        mode = path.lstat().st_mode
        wanted = 0o700 if stat.S_ISDIR(mode) else 0o600
        if stat.S_IMODE(mode) != wanted:
            found[path.relative_to(folder).as_posix()] = stat.filemode(mode)
    return found


def _assert_private(home: Path, line: object) -> None:
    assert stat.S_IMODE((home / "own").stat().st_mode) == 0o700
    for folder in ("config", "data", "cache/evaluations"):
        if (home / "own" / folder).exists():
            assert _open_to_others(home / "own" / folder) == {}, line
    if (export := home / "own" / "out.dowse").exists():
        assert stat.S_IMODE(export.stat().st_mode) == 0o600


@_UMASKS
@pytest.mark.usefixtures("umask", "by_meaning")
def test_every_line_that_writes_leaves_private_files(vault: Path, dowse: Dowse) -> None:
    home = vault.parent
    for line in _LINES:
        result = dowse(*(word.format(vault=vault, home=home) for word in line))
        assert result.code in {0, 1}, (line, result)
        _assert_private(home, line)
    assert (home / "own/cache/evaluations").is_dir()
    assert (home / "own/config/trusted.json").is_file()


@_UMASKS
@pytest.mark.usefixtures("umask")
def test_a_new_cache_is_private(home: Path, dowse: Dowse) -> None:
    assert dowse("models", "pull", "a/tiny", "--from", make_model(home / "tiny")).code == 0
    assert stat.S_IMODE((home / "own" / "cache").stat().st_mode) == 0o700


@pytest.mark.parametrize("umask", [0o000], indirect=True)  # others write files in the same way
@pytest.mark.usefixtures("umask")
def test_watching_and_serving_leave_private_files_while_they_run(
    home: Path, vault: Path, dowse: Dowse
) -> None:
    assert dowse("index", vault).code == 0
    with _running("watch", "--json", folder=vault) as output:
        output.readline()
        (vault / "new.md").write_text("# New\n", "utf-8")
        assert b'"added":1' in output.readline()
        _assert_private(home, "watch")
    with _running("serve", "--port", "0", "--json", folder=vault) as output:
        output.readline()
        assert (home / "own/data/serve.sock").is_socket()
        _assert_private(home, "serve")


@contextmanager
def _running(*arguments: str, folder: Path) -> Iterator[IO[bytes]]:
    """What a line prints that runs until the end of the block."""
    child = subprocess.Popen([DOWSE, *arguments], cwd=folder, stdout=subprocess.PIPE)
    stuck = threading.Timer(60, child.kill)
    stuck.start()
    assert child.stdout
    try:
        yield child.stdout
    finally:
        stuck.cancel()
        child.kill()
        child.communicate()


def _open_up(home: Path) -> None:
    """Gives a folder the rights that older versions gave."""
    for folder in (home / "own", home / "own" / "config", home / "own" / "data"):
        folder.mkdir(parents=True, exist_ok=True)
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)


@pytest.mark.usefixtures("indexed")
def test_doctor_names_what_others_can_read_and_its_advice_works(
    home: Path, dowse: Dowse, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The folders of tests are in a private one, where everything is safe.
    monkeypatch.setattr("dowse._util.files._is_reachable", lambda _: True)
    dowse("config", "set", "search.top_n", "3")
    _open_up(home)
    seen = dowse("doctor", "--json").json
    (finding,) = [one for one in seen["findings"] if "Others" in one["what"]]
    assert "own/config" in finding["what"]
    assert finding["repair"] == "dowse doctor --repair"
    assert dowse("doctor").code == 1, "looking repairs nothing"
    assert dowse("doctor", "--repair").code == 0
    _assert_private_below(home)
    assert dowse("doctor", "--json").json["findings"] == []


@pytest.mark.usefixtures("indexed")
@pytest.mark.parametrize("line", [["index"], ["config", "set", "search.top_n", "2"]])
def test_an_index_of_an_older_version_is_closed_when_it_is_written(
    home: Path, vault: Path, dowse: Dowse, line: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(vault)
    _open_up(home)
    assert dowse(*line).code == 0
    _assert_private_below(home)


def _assert_private_below(home: Path) -> None:
    for folder in ("config", "data"):
        assert _open_to_others(home / "own" / folder) == {}


def test_a_folder_that_also_holds_documents_keeps_its_rights(
    home: Path, vault: Path, dowse: Dowse, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.chmod(0o755)
    (vault / "Home.md").chmod(0o644)
    monkeypatch.setenv("DOWSE_DATA_DIR", str(vault))
    monkeypatch.setenv("DOWSE_CONFIG_DIR", str(vault))
    assert dowse("index", home / "vault" / "guides").code == 0
    assert dowse("config", "set", "search.top_n", "3").code == 0
    assert stat.S_IMODE(vault.stat().st_mode) == 0o755
    assert stat.S_IMODE((vault / "Home.md").stat().st_mode) == 0o644
    assert _open_to_others(vault / "projects") == {}
    assert stat.S_IMODE((vault / "config.toml").stat().st_mode) == 0o600
