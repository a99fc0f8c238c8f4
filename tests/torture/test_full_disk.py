"""A command that writes runs out of disk space at each page in turn; nothing is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from torture.children import Ended, ForkServer, fork_server
from vaults import write_vault

_ENOUGH = "64m"
_PAGE = 4096  # bytes; what a disk in memory grants at once
_LINES = {
    "index": "index {home}/vault -p new",
    "update": "index -p vault",
    "rebuild": "index -p vault --rebuild",
    "import": "import {home}/vault.dowse -p theirs",
    "set": "config set search.top_n 7",
}


class Disk:
    """A user's dowse on a disk whose size the test chooses."""

    def __init__(self, home: Path, server: ForkServer) -> None:
        self.home = home
        self._own = home / "own"
        self._saved = home / "saved"
        self._server = server
        self.fresh = ""  # what an index holds that is built over the edited vault

    def prepare(self) -> None:
        """Indexes a vault, keeps a copy of dowse's files, and edits the vault afterwards."""
        self._own.mkdir(parents=True)
        self._server.shell("mount", "-t", "tmpfs", "-o", f"size={_ENOUGH}", "tmpfs", self._own)
        write_vault(self.home / "vault", 10)
        assert self.run("index {home}/vault").code == 0
        assert self.run("export -p vault {home}/vault.dowse").code == 0
        self._server.shell("cp", "-a", self._own, self._saved)
        for path in sorted((self.home / "vault").rglob("*.md"))[:5]:
            path.write_text(path.read_text("utf-8") + "\n## Added\n\nA lighthouse.\n", "utf-8")
        assert self.run("index {home}/vault -p fresh").code == 0
        self.fresh = self.content("fresh")

    def restore(self, spare: int) -> None:
        """Puts dowse's files back to how they were, on a disk with so many pages more."""
        self.resize(_ENOUGH)
        self._server.shell("find", self._own, "-mindepth", "1", "-delete")
        self._server.shell("cp", "-a", f"{self._saved}/.", self._own)
        self.resize(self._used() + spare * _PAGE)

    def resize(self, size: str | int) -> None:
        """Gives the disk another size."""
        self._server.shell("mount", "-o", f"remount,size={size}", self._own)

    def _used(self) -> int:
        """The bytes that are in use."""
        return int(self._server.shell("df", "--output=used", "-B1", self._own).split()[-1])

    def run(self, line: str) -> Ended:
        """Runs a command."""
        return self._server.dowse(*line.format(home=self.home).split(), here=self.home)

    def content(self, name: str) -> str:
        """Everything that an index holds."""
        return self._server.content(name, self.home)


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Disk]:
    if shutil.which("unshare") is None and not os.environ.get("CI"):
        pytest.skip("a disk of a chosen size needs unshare, of util-linux")
    own_mounts = ["unshare", "-m" if os.getuid() == 0 else "-Urm", "true"]
    if subprocess.run(own_mounts, check=False, capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount a disk of a chosen size")
    home = tmp_path_factory.mktemp("disk")
    own = home / "own"
    folders = {f"DOWSE_{name.upper()}_DIR": str(own / name) for name in ("config", "data", "cache")}
    with fork_server({**folders, "HOME": str(home)}, own_mounts=True) as server:
        disk = Disk(home, server)
        disk.prepare()
        yield disk


@pytest.mark.takes(18)
@pytest.mark.parametrize("name", _LINES)
def test_a_full_disk_loses_nothing(
    name: str,
    disk: Disk,
    rounds: Callable[[int, int], int],
    tally: Callable[[str, object], None],
) -> None:
    line = _LINES[name]
    needed = rounds(1, 0) or _pages_needed(disk, line)  # the short one: a disk with no room at all
    tries = min(rounds(1, 20), needed)
    for step in range(tries):
        disk.restore(spare=step * needed // tries)
        ended = disk.run(line)
        assert ended.code not in {70, -11}, ended
        assert "Traceback" not in ended.out
        assert ended.code != 0
        _check_reading(disk, name)
        disk.resize(_ENOUGH)
        _check_afterwards(disk, line)
    tally(f"full disks survived by {name}", f"{tries}, of {needed} that differ by a page")


def _pages_needed(disk: Disk, line: str) -> int:
    """The pages that must be free for a command to succeed; with one less, it fails."""
    fails, succeeds = -1, 1024
    while succeeds - fails > 1:
        pages = (fails + succeeds) // 2
        disk.restore(spare=pages)
        fails, succeeds = (fails, pages) if disk.run(line).code == 0 else (pages, succeeds)
    return succeeds


def _check_reading(disk: Disk, name: str) -> None:
    """What was indexed before can still be searched while the disk is full."""
    found = disk.run("search gateway --json -p vault")
    assert found.code == 0, found
    assert found.json["hits"] or name == "rebuild"  # which empties the index first


def _check_afterwards(disk: Disk, line: str) -> None:
    """With space again, the command succeeds, or was done; and the index equals a fresh one."""
    assert disk.run(line).code in {0, 2}
    for project in disk.run("project list --json").json["projects"]:
        if disk.run(f"status --json -p {project['name']}").json["roots"] == [f"{disk.home}/vault"]:
            assert disk.run(f"index -p {project['name']}").code == 0
            assert disk.content(project["name"]) == disk.fresh
    findings = disk.run("doctor --json").json["findings"]
    assert not [one for one in findings if "weights" not in str(one) and "free" not in str(one)]
