"""The main commands, in an interpreter that lacks what Windows or macOS lacks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from mcp import StdioServerParameters

from command_line import DOWSE, with_ctrl_c
from mcp_client import text_of, with_client

SYSTEMS = ["windows", "macos"]
NOTES = {
    "guides/restore.md": "# Restore\n\nStop the writer before you restore the database.\n",
    "Home.md": "# Home\r\n\r\nSee [[restore]] for the backup.\r\n",
}
_PATIENCE = 60.0  # seconds


class User:
    """Somebody who has indexed a few notes on a system."""

    def __init__(self, system: str, home: Path) -> None:
        self.home = home
        kept = {name: value for name, value in os.environ.items() if not name.startswith("DOWSE_")}
        own = {f"DOWSE_{one}_DIR": str(home / "own" / one) for one in ("CONFIG", "DATA", "CACHE")}
        like = {"LIKE_SYSTEM": system, "PYTHONPATH": str(Path(__file__).parent)}
        self.environment = kept | own | like | {"HOME": str(home)}

    def run(self, *line: object, code: int = 0, program: tuple[str, ...] = (DOWSE,)) -> str:
        """All that a line prints."""
        done = subprocess.run(
            [*program, *map(str, line)],
            env=self.environment,
            cwd=self.home,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
        printed = (done.stdout + done.stderr).decode("utf-8")
        assert done.returncode == code, printed
        return printed

    def call(self, module: str, call: str, path: Path) -> str:
        """What a function of dowse gives for a path."""
        code = f"import sys, pathlib, {module} as it; print(it.{call})"
        return self.run("-c", code, path, program=(sys.executable,)).strip()

    @contextmanager
    def started(self, *line: object) -> Iterator[subprocess.Popen[bytes]]:
        """A line that runs until Ctrl-C, and then ends well."""
        with subprocess.Popen(
            with_ctrl_c(DOWSE, *line), env=self.environment, cwd=self.home, stdout=subprocess.PIPE
        ) as process:
            try:
                yield process
                process.send_signal(signal.SIGINT)
                assert process.wait(_PATIENCE) == 0
            finally:
                process.kill()

    def notes(self, name: str) -> Path:
        """An indexed project of that name."""
        for note, text in NOTES.items():
            path = self.home / name / note
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        self.run("index", self.home / name, "-p", name)
        return self.home / name


@pytest.fixture(params=SYSTEMS, scope="module")
def user(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> User:
    user = User(request.param, tmp_path_factory.mktemp(request.param))
    user.notes("notes")
    return user


@pytest.fixture(scope="module")
def on_windows(tmp_path_factory: pytest.TempPathFactory) -> User:
    return User("windows", tmp_path_factory.mktemp("alone"))


def read_line(process: subprocess.Popen[bytes]) -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("index -p notes --rebuild", "2 added"),
        ("search writer -p notes", "guides/restore.md:3"),
        ("search writer -p notes --mode keyword", "guides/restore.md:3"),
        ("answer stop?writer -p notes", "guides/restore.md"),
        ("status -p notes", "up to date"),
        ("get Home.md -p notes", "See [[restore]]"),
        ("related Home.md -p notes", "guides/restore.md"),
        ("doctor -p notes", "All is well."),
        ("doctor --repair -p notes", "All is well."),
    ],
)
def test_the_commands_work(user: User, line: str, printed: str) -> None:
    assert printed in user.run(*(word.replace("?", " ") for word in line.split()))


def test_a_project_is_exported_imported_replaced_renamed_and_removed(user: User) -> None:
    user.run("export", "-p", "notes", user.home / "notes.dowse", "--force")
    user.run("import", user.home / "notes.dowse", "-p", "second")
    user.run("import", user.home / "notes.dowse", "-p", "second", "--replace")
    user.run("project", "rename", "second", "third")
    assert "guides/restore.md" in user.run("search", "writer", "-p", "third")
    user.run("project", "remove", "third", "--yes")
    assert json.loads(user.run("project", "list", "--json"))["projects"][0]["name"] == "notes"
    assert not list(user.home.glob("own/DATA/trash-*"))


def test_a_server_answers_and_ends(user: User) -> None:
    with user.started("serve", "--port", "0", "--json", "-p", "notes") as process:
        told = read_line(process)
        address = told["address"]
        assert bool(told["socket"]) == (user.environment["LIKE_SYSTEM"] == "macos")
        with urlopen(f"{address}health", timeout=_PATIENCE) as health:  # noqa: S310  http
            assert health.status == 200
        with urlopen(f"{address}api/v1/search?q=writer", timeout=_PATIENCE) as found:  # noqa: S310
            assert json.load(found)["hits"][0]["document"] == "guides/restore.md"


def test_a_watched_folder_is_indexed_also_while_a_server_has_the_index_open(user: User) -> None:
    folder = user.notes("watched")
    with user.started("serve", "--port", "0", "--json", "--no-watch", "-p", "watched") as server:
        search = f"{read_line(server)['address']}api/v1/search?q="
        urlopen(f"{search}writer", timeout=_PATIENCE).close()  # noqa: S310  which opens the index
        with user.started("watch", "--json", "-p", "watched") as watching:
            read_line(watching)
            for word in ("lighthouse", "barometer"):
                (folder / "Home.md").write_text(f"# Home\n\nThe {word}.\n", "utf-8")
                assert read_line(watching)["changed"] == 1
                with urlopen(f"{search}{word}", timeout=_PATIENCE) as found:  # noqa: S310  http
                    assert json.load(found)["hits"][0]["document"] == "Home.md"


def test_a_tool_is_called_over_stdio(user: User) -> None:
    server = StdioServerParameters(
        command=DOWSE, args=["mcp", "-p", "notes"], env=user.environment, cwd=user.home
    )
    asked = with_client(
        server, lambda client: client.call_tool("query_documents", {"query": "writer"})
    )
    assert "guides/restore.md" in text_of(asked)


def test_many_files_are_prepared_in_other_processes(user: User) -> None:
    for number in range(210):
        path = user.home / "many" / f"{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"Note number{number}\n", "utf-8")
    assert "210 added" in user.run("index", "many")


def test_a_web_page_is_converted(user: User) -> None:
    pytest.importorskip("markitdown")
    (user.home / "pages").mkdir()
    (user.home / "pages/page.html").write_text("<h1>Title</h1><p>The windmill.</p>", "utf-8")
    user.run("index", "pages")
    assert "page.html" in user.run("search", "windmill", "-p", "pages")


def test_asking_for_a_running_index_does_not_end_it(user: User) -> None:
    with subprocess.Popen(["sleep", "60"]) as running:
        try:
            note = user.home / "own/DATA/projects/notes/run.json"
            record = {"process": running.pid, "done": 30, "total": 90, "unit": "files"}
            note.write_text(json.dumps(record), "utf-8")
            assert "30 of 90 files so far" in user.run("status", "-p", "notes")
            time.sleep(0.1)
            assert running.poll() is None
        finally:
            running.kill()
            running.wait()
    assert "ended after 30 of 90 files" in user.run("status", "-p", "notes")
    note.unlink()


def test_windows_names_who_keeps_a_project_from_being_renamed(on_windows: User) -> None:
    on_windows.notes("held")
    with on_windows.started("serve", "--port", "0", "--json", "-p", "held") as process:
        address = read_line(process)["address"]
        urlopen(f"{address}api/v1/search?q=writer", timeout=_PATIENCE).close()  # noqa: S310  http
        printed = on_windows.run("project", "rename", "held", "free", code=5)
        assert "open" in printed
        assert "dowse serve" in printed
    on_windows.run("project", "rename", "held", "free")


def test_windows_syncs_a_tree(on_windows: User) -> None:
    folder = on_windows.home / "tree"
    folder.mkdir()
    (folder / "file").write_bytes(b"content")
    on_windows.call("dowse._util.files", "sync_tree(pathlib.Path(sys.argv[1]))", folder)
    assert (folder / "file").read_bytes() == b"content"


def test_windows_replaces_a_file_as_soon_as_its_reader_has_closed_it(on_windows: User) -> None:
    path = on_windows.home / "file"
    path.write_bytes(b"old")
    reader = path.open("rb")
    closing = threading.Timer(1.0, reader.close)
    closing.start()
    on_windows.call("dowse._util.files", "replace_file(pathlib.Path(sys.argv[1]), b'new')", path)
    closing.join()
    assert path.read_bytes() == b"new"


def test_windows_says_how_a_folder_becomes_writable_without_chmod(on_windows: User) -> None:
    call = "_how_to_write('data', pathlib.Path(sys.argv[1]))"
    advice = on_windows.call("dowse._project.doctor", call, on_windows.home)
    assert advice == "Allow yourself to write to it, or set DOWSE_DATA_DIR."


def test_macos_uses_no_socket_whose_path_is_too_long_for_it(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    home = tmp_path_factory.mktemp("long")
    user = User("macos", home)
    rest = 104 - len(str(home / "serve.sock")) - 1
    user.environment["DOWSE_DATA_DIR"] = str(home / ("d" * rest))
    user.notes("notes")
    with user.started("serve", "--port", "0", "--json", "-p", "notes") as process:
        assert read_line(process)["socket"] == ""
        assert "guides/restore.md" in user.run("search", "writer", "-p", "notes")
