"""`dowse serve` as a process: it answers, keeps the index fresh, is asked by `search`, and ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from command_line import DOWSE, Dowse, process
from dowse._interfaces import served
from dowse._interfaces.http.server import OwnSocket
from dowse._interfaces.served import socket_path
from dowse._project.pool import EnginePool
from dowse._project.workspace import Workspace
from dowse._util.files import locations
from dowse._util.process import is_running
from serving import serving

_PATIENCE = 60.0


@contextmanager
def _serving(*arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], dict[str, str]]]:
    """A server in a process of its own, and what it told when it was ready."""
    child = subprocess.Popen(
        [DOWSE, "serve", "--port", "0", "--json", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert child.stdout is not None
        yield child, json.loads(child.stdout.readline())
    finally:
        child.kill()
        child.communicate()


def _get(told: dict[str, str], address: str) -> Any:
    with urlopen(f"{told['address']}api/v1/{address}", timeout=_PATIENCE) as answer:  # noqa: S310
        return json.load(answer)


def _until(holds: Any) -> None:
    """Waits until something holds."""
    end = time.monotonic() + _PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_it_answers_follows_changes_and_ends_in_peace(indexed: Path) -> None:
    with _serving("-p", "vault") as (child, told):
        assert told["address"].startswith("http://127.0.0.1:")
        assert told["token"] == ""
        assert _get(told, "search?q=restore")["hits"][0]["document"] == "guides/restore.md"
        _until(lambda: _get(told, "status")["watch"]["watching"])
        (indexed / "late.md").write_text("# Late\n\nThe ceilometer looks up.\n", "utf-8")
        _until(lambda: "late.md" in str(_get(told, "search?q=ceilometer")["hits"]))
        (indexed / "late.md").unlink()
        _until(lambda: _get(told, "status")["counts"]["documents"] == 5)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=_PATIENCE)
        assert child.returncode == 0
        assert b"Traceback" not in err
        assert not Path(told["socket"]).exists()


@pytest.mark.usefixtures("indexed")
def test_a_polite_kill_ends_it_too() -> None:
    with _serving("--no-watch", "-q") as (child, told):
        assert _get(told, "healthz")["status"] == "ok"
        assert _get(told, "status?project=vault")["watch"]["watching"] is False
        child.terminate()
        _, err = child.communicate(timeout=_PATIENCE)
        assert child.returncode == 0
        assert err == b""


# ── Workers ──────────────────────────────────────────────────────────────────


@pytest.fixture
def _two_workers(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001  it is there
    monkeypatch.setenv("DOWSE_SERVE_WORKERS", "2")


def _searches(told: dict[str, str]) -> float:
    """How many searches all processes have counted."""
    with urlopen(f"{told['address']}metrics", timeout=_PATIENCE) as answer:  # noqa: S310
        page = answer.read().decode()
    counted = [one for one in page.splitlines() if one.startswith("dowse_searches_total{")]
    return sum(float(one.rpartition(" ")[2]) for one in counted)


def _workers_of(process: int) -> set[int]:
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(status.read_text("utf-8").rpartition(")")[2].split()[1]) == process:
                found.add(int(status.parent.name))
    return found


@pytest.mark.usefixtures("_two_workers")
def test_one_connection_is_answered_by_whatever_process_knows() -> None:
    with _serving("-p", "vault", "--no-watch") as (_, told):
        link = HTTPConnection(told["address"].split("/")[2], timeout=_PATIENCE)
        before = _searches(told)
        for address in ("search?q=restore", "status", "search?q=restore", "%73tatus"):
            link.request("GET", f"/api/v1/{address}")
            answer = link.getresponse()
            assert answer.status == 200
            assert json.load(answer)["project"] == "vault"
        link.close()
        for _ in range(4):  # each of a connection of its own
            assert _get(told, "search?q=restore")["hits"]
        assert _searches(told) == before + 6


@pytest.mark.usefixtures("_two_workers")
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="it lists processes")
def test_a_worker_that_dies_is_replaced_and_all_end_with_the_server() -> None:
    with _serving("-p", "vault", "--no-watch") as (child, told):
        _until(lambda: len(_workers_of(child.pid)) == 2)
        assert _get(told, "search?q=restore")["hits"]
        killed = min(_workers_of(child.pid))
        os.kill(killed, signal.SIGKILL)
        _until(lambda: len(_workers_of(child.pid) - {killed}) == 2)
        for _ in range(4):
            assert _get(told, "search?q=restore")["hits"]
        workers = _workers_of(child.pid)
        child.kill()  # not a polite one: the workers notice it by themselves
        _until(lambda: not any(map(is_running, workers)))


@pytest.mark.usefixtures("indexed")
def test_the_shell_asks_a_running_server() -> None:
    with _serving("--no-watch") as (_, told):
        mode = Path(told["socket"]).stat().st_mode
        assert stat.S_IMODE(mode) == 0o600
        for line in (
            ["search", "restore"],
            ["-p", "vault", "search", "--json", "--set", "search.top_n=1", "restore"],
            ["search", "--format", "files", "restore"],
            ["search", "--full", "--quiet", "restore"],
            ["search", "--fail-on-empty", "zzzz"],
            ["search", "--mode", "nonsense", "restore"],
            ["search", "--help"],
            ["search", "-p", "nobody", "restore", "--json"],
            ["answer", "how is a backup restored"],
            ["explain", "restore", "--doc", "restore", "--json"],
            ["related", "restore"],
            ["get", "restore:1:3", "--lines"],
            ["get", "nowhere"],
        ):
            asked = process(*line)
            alone = process(*line, DOWSE_NO_SERVER="1")
            assert asked.returncode == alone.returncode, line
            assert _timeless(asked.stdout) == _timeless(alone.stdout), line
            assert asked.stderr == alone.stderr, line


def _timeless(out: bytes) -> object:
    try:
        told = json.loads(out)
    except ValueError:
        return [line for line in out.splitlines() if b" ms" not in line]
    told.pop("seconds", None)
    return told


def test_a_port_that_is_taken(dowse: Dowse) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = dowse("serve", "--port", taken.getsockname()[1])
    assert done.code == 2
    assert "--port PORT" in done.err


def test_a_project_that_is_not_there(dowse: Dowse) -> None:
    assert dowse("serve", "-p", "nobody").code == 2


# ── The socket ───────────────────────────────────────────────────────────────


@pytest.fixture
def own(notes: Path, workspace: Workspace) -> Iterator[OwnSocket]:
    """A server that answers the other processes of its user."""
    with serving(EnginePool(workspace, notes)) as own:
        assert own.path
        yield own


@pytest.fixture
def asked(own: OwnSocket, monkeypatch: pytest.MonkeyPatch) -> list[bool]:  # noqa: ARG001  it listens
    """Whether the server answered, for each request of a command that reached it."""
    seen: list[bool] = []
    get = served.RunningServer.get

    def noted(self: served.RunningServer, address: str, *rest: Any) -> bytes:
        try:
            body = get(self, address, *rest)
        except served.NotAnswered:
            seen.append(False)
            raise
        if address != "/health":
            seen.append(True)
        return body

    monkeypatch.setattr(served.RunningServer, "get", noted)
    return seen


def test_the_server_answers_what_it_understands(asked: list[bool], dowse: Dowse) -> None:
    by_server = dowse("search", "--json", "restore")
    assert asked == [True]
    alone = dowse("search", "--json", "restore", "--no-server")
    assert asked == [True]
    assert by_server.json["hits"] == alone.json["hits"]


def test_other_settings_are_not_served(
    asked: list[bool], dowse: Dowse, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The server sees the same variables, since it runs in this process: what it is sent counts.
    monkeypatch.setattr(served, "setup_of_process", lambda: "other")
    assert len(dowse("search", "--json", "database").json["hits"]) > 1
    assert asked == [False]


def test_what_fails_is_reported_by_its_own_process(asked: list[bool], dowse: Dowse) -> None:
    failed = dowse("get", "nowhere", "--json")
    assert failed.code == 2
    assert "nowhere" in failed.json["error"]
    assert asked == [False]


def test_what_no_address_can_hold_is_searched_by_its_own_process(
    asked: list[bool], dowse: Dowse
) -> None:
    for query in ("restore \udcff", "restore " * 5000):
        alone = dowse("search", query, "--json", "--no-server")
        assert dowse("search", query, "--json").code == alone.code
    assert True not in asked


def test_the_version_and_the_environment_are_part_of_the_setup(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = served.setup_of_process()
    monkeypatch.setenv("DOWSE_NO_SERVER", "0")
    assert served.setup_of_process() == before
    monkeypatch.setenv("DOWSE_SEARCH_TOP_N", "1")
    other = served.setup_of_process()
    monkeypatch.setattr(served, "__version__", "0.0.0")
    assert len({before, other, served.setup_of_process()}) == 3


def test_what_a_dead_server_left_behind_is_replaced(
    notes: Path, workspace: Workspace, dowse: Dowse
) -> None:
    path = socket_path(locations())
    assert path is not None
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    assert path.exists()
    assert dowse("search", "restore").code == 0
    with serving(EnginePool(workspace, notes)) as own:
        assert own.path == str(path)
        assert dowse("search", "restore").code == 0
    assert not path.exists()


def test_a_second_server_leaves_the_first_its_socket(own: OwnSocket, workspace: Workspace) -> None:
    with OwnSocket(workspace.locations) as second:
        assert second.path == ""
    assert Path(own.path).exists()


def test_an_answer_that_is_not_whole_is_not_printed(notes: Path, dowse: Dowse) -> None:
    assert notes.is_dir()
    path = socket_path(locations())
    assert path is not None
    with socket.socket(socket.AF_UNIX) as broken:
        broken.bind(str(path))
        broken.listen()
        alone = dowse("search", "restore", "--no-server")
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"
        whole = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
        for said in (b"", b"nonsense\n", b"\n", head, head + b"abc", whole):
            with _answering(broken, [said] if said != whole else [whole, head + b"[]"]):
                done = dowse("search", "restore")
            assert done.out == alone.out


@contextmanager
def _answering(listening: socket.socket, answers: list[bytes]) -> Iterator[None]:
    import threading  # noqa: PLC0415  only here

    def answer() -> None:
        for said in answers:
            link, _ = listening.accept()
            with link:
                link.recv(1 << 16)
                link.sendall(said)

    thread = threading.Thread(target=answer)
    thread.start()
    yield
    thread.join(_PATIENCE)


def test_nonsense_does_not_harm_the_server(asked: list[bool], own: OwnSocket, dowse: Dowse) -> None:
    request = b"GET /api/v1/projects HTTP/1.0\r\nHost: localhost\r\n\r\n"
    for said in (b"\n", b"{}\n", b"\xff\n", b"a" * 100, request):
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(own.path)
            link.sendall(said)
            link.shutdown(socket.SHUT_WR)
            assert b" 200 " not in _all_of(link)
    asked.clear()
    assert dowse("search", "restore").code == 0
    assert asked == [True]


def test_a_path_that_is_too_long_is_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOWSE_DATA_DIR", "/" + "a" * 120)
    assert socket_path(locations()) is None
    with OwnSocket(locations()) as own:
        assert (own.path, "too long" in own.why_not) == ("", True)


@pytest.mark.usefixtures("notes")
def test_a_server_that_hangs_is_not_waited_for(dowse: Dowse) -> None:
    path = socket_path(locations())
    assert path is not None
    alone = dowse("search", "restore", "--no-server")
    with socket.socket(socket.AF_UNIX) as hanging:
        hanging.bind(str(path))
        hanging.listen()  # and never accepts, as a process that was stopped
        begin = time.monotonic()
        done = dowse("search", "restore")
    assert done.out == alone.out
    assert time.monotonic() - begin < 10


@pytest.mark.usefixtures("notes")
def test_a_server_of_another_user_learns_nothing(
    dowse: Dowse, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = socket_path(locations())
    monkeypatch.setattr(served, "is_same_user", lambda _: False)
    with socket.socket(socket.AF_UNIX) as theirs:
        theirs.bind(str(path))
        theirs.listen()
        assert dowse("search", "restore").code == 0
        link, _ = theirs.accept()
        with link:
            assert link.recv(100) == b""


def test_a_process_of_another_user_is_not_answered(
    own: OwnSocket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dowse._interfaces.http.server.is_same_user", lambda _: False)
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(own.path)
        with suppress(BrokenPipeError):  # it may have been turned away already
            link.sendall(b"GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n")
        assert _all_of(link) == b""


def _all_of(link: socket.socket) -> bytes:
    try:
        return link.recv(100)
    except ConnectionResetError:
        return b""


@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_is_no_socket_is_left_alone(
    notes: Path, workspace: Workspace, dowse: Dowse, what: str
) -> None:
    assert notes.is_dir()
    path = socket_path(locations())
    assert path is not None
    path.mkdir() if what == "folder" else path.write_text("mine", "utf-8")
    with OwnSocket(workspace.locations) as own:
        assert own.path == ""
        assert str(path) in own.why_not
        assert dowse("search", "restore").code == 0
    assert path.exists()


def test_paths_begin_at_the_folder_of_the_line(
    asked: list[bool], notes: Path, dowse: Dowse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(notes / "guides")
    done = dowse("get", "./restore.md", "--json")
    assert done.json["passages"][0]["document"] == "guides/restore.md"
    assert dowse("related", "../guides/restore.md", "--json").code == 0
    assert dowse("explain", "restore", "--doc", "./restore.md", "--json").code == 0
    assert asked == [True] * 3


def test_a_language_model_is_asked_by_the_process_that_wants_it(
    asked: list[bool], dowse: Dowse, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert dowse("answer", "restore", "--json").code == 0
    monkeypatch.setenv("DOWSE_ANSWER_ENDPOINT_MODEL", "some")
    monkeypatch.setenv("DOWSE_ANSWER_ENDPOINT_URL", "http://127.0.0.1:9/v1")
    dowse("answer", "restore", "--json")
    assert asked == [True, False]


def _is_asked_for(told: dict[str, str], token: str) -> bool:
    request = Request(f"{told['address']}api/v1/projects")  # noqa: S310
    with pytest.raises(HTTPError, match="401"):
        urlopen(request, timeout=_PATIENCE)  # noqa: S310
    request.add_header("Authorization", f"Bearer {token}")
    with urlopen(request, timeout=_PATIENCE) as answer:  # noqa: S310
        return bool(answer.status == 200)


@pytest.mark.usefixtures("indexed")
def test_a_given_token_is_written_down_nowhere(home: Path, dowse: Dowse) -> None:
    (home / "token").write_text("hunter2-hunter2\n", "utf-8")
    (home / "token").chmod(0o600)
    for option, value in (("--token-file", str(home / "token")), ("--token", "hunter2-hunter2")):
        with _serving(option, value) as (_, told):
            assert told["token"] == ""
            assert _is_asked_for(told, "hunter2-hunter2")
            seen = dowse("project", "list").out + dowse("status", "-p", "vault").out
        files = [path for path in (home / "own").rglob("*") if path.is_file()]
        assert not [path for path in files if b"hunter2" in path.read_bytes()]
        assert "hunter2" not in seen


def test_a_token_that_others_can_read_is_refused(home: Path, dowse: Dowse) -> None:
    (home / "token").write_text("hunter2\n", "utf-8")
    for mode in (0o644, 0o640, 0o604):
        (home / "token").chmod(mode)
        refused = dowse("serve", "--token-file", home / "token")
        assert refused.code == 2
        assert "chmod 600" in refused.err
        assert "hunter2" not in refused.err


@pytest.mark.parametrize("content", [b"", b"\n", b"two words", b"\xff", b"x" * 5000, b"a\nb"])
def test_a_file_that_holds_no_token_is_refused(home: Path, dowse: Dowse, content: bytes) -> None:
    (home / "token").write_bytes(content)
    (home / "token").chmod(0o600)
    assert "holds no token" in dowse("serve", "--token-file", home / "token").err
    assert dowse("serve", "--token-file", home / "nowhere").code == 2
    assert dowse("serve", "--token-file", home / "token", "--token", "x").code == 2
