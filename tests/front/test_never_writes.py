"""The user's documents are theirs: no command changes a byte, a name, a mode or a time of them."""

from __future__ import annotations

import hashlib
import signal
import stat
import subprocess
import threading
from pathlib import Path

from command_line import DOWSE, Dowse, with_ctrl_c


def _state(folder: Path) -> dict[str, tuple[object, ...]]:
    """Everything about a folder that a command could change."""
    found: dict[str, tuple[object, ...]] = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        status = path.lstat()
        if path.is_symlink():
            content: object = path.readlink()
        else:
            content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        times = (status.st_mtime_ns, stat.filemode(status.st_mode), status.st_size, status.st_ino)
        found[path.relative_to(folder).as_posix()] = (content, *times)
    return found


_LINES = (
    ["index", "{vault}"],
    ["index", "{vault}", "--rebuild"],
    ["index", "{vault}/guides", "--verbose"],
    ["status"],
    ["ls", "--long"],
    ["get", "Home.md", "restore:3:2", "--lines"],
    ["search", "restore", "--explain"],
    ["search", "restore", "--json"],
    ["project", "list"],
    ["project", "trust", "{vault}", "--yes"],
    ["project", "trust", "{vault}", "--revoke"],
    ["project", "rename", "vault", "renamed"],
    ["project", "rename", "renamed", "vault"],
    ["config", "show"],
    ["config", "set", "search.top_n", "3"],
    ["config", "set", "-p", "vault", "search.top_n", "4"],
    ["config", "get", "search.top_n"],
    ["config", "unset", "search.top_n"],
    ["models", "list"],
    ["doctor"],
    ["doctor", "--repair"],
    ["completion", "bash"],
    ["version"],
    ["reset", "--yes"],
    ["project", "add", "{vault}", "--name", "twice"],
    ["project", "remove", "twice", "--yes"],
    ["index", "{vault}", "-p", "vault"],
    ["project", "remove", "vault", "--yes"],
)


def _with_odd_files(vault: Path) -> None:
    (vault / "dowse.toml").write_text('[project]\nname = "vault"\n[embed]\nprovider = "none"\n')
    (vault / ".gitignore").write_text("ignored/\n")
    (vault / "ignored").mkdir()
    (vault / "ignored" / "a.md").write_text("# A\n")
    (vault / "bad.md").write_bytes(b"\x00\x01\x02" * 50)
    (vault / "link.md").symlink_to("Home.md")
    (vault / "read-only.md").write_text("# Fixed\n")
    (vault / "read-only.md").chmod(0o400)


def test_no_command_changes_the_documents(vault: Path, dowse: Dowse) -> None:
    _with_odd_files(vault)
    before = _state(vault)
    for line in _LINES:
        result = dowse(*(word.format(vault=vault) for word in line))
        assert result.code in {0, 1, 3}, (line, result)
        assert _state(vault) == before, line


def test_watching_changes_nothing_but_what_the_user_does(vault: Path) -> None:
    before = _state(vault)
    child = subprocess.Popen(
        [DOWSE, "watch", "--json"], cwd=vault, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    child.kill()
    child.communicate()
    assert subprocess.run([DOWSE, "index", vault], check=True, capture_output=True)
    line = with_ctrl_c(DOWSE, "watch", "--json")
    child = subprocess.Popen(line, cwd=vault, stdout=subprocess.PIPE)
    stuck = threading.Timer(60, child.kill)
    stuck.start()
    assert child.stdout is not None
    assert b'"unchanged":5' in child.stdout.readline()
    assert _state(vault) == before
    (vault / "new.md").write_text("# New\n", "utf-8")
    assert b'"added":1' in child.stdout.readline()
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=60) == 0
    stuck.cancel()
    child.stdout.close()
    (vault / "new.md").unlink()
    after = _state(vault)
    del before["."], after["."]  # the user's own change touched the folder itself
    assert after == before
