"""Every command that writes is killed, at chosen lines and at random moments; nothing is lost."""

from __future__ import annotations

import json
import random
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from torture.children import Ended, ForkServer, fork_server
from vaults import write_vault

_NOTES = 12
_LEFTOVERS = ("import-*", "trash-*", "*.new", ".*.toml-*", ".*.json-*", "writer.json")
"""Names that only a command at work uses: none may stay for good."""


@dataclass(frozen=True)
class Scenario:
    """A command that writes, and what must have happened before it."""

    line: str
    before: tuple[str, ...] = ()
    edited: bool = False  # notes were edited, removed and added since
    damaged: bool = False  # a replica has lost its manifest

    @property
    def start(self) -> tuple[tuple[str, ...], bool, bool]:
        """What the home is like before the command; several commands start from the same."""
        return self.before, self.edited, self.damaged


_INDEXED = ("index {vault}",)
_SCENARIOS = {
    "index": Scenario("index {vault}"),
    "update": Scenario("index {vault}", _INDEXED, edited=True),
    "rebuild": Scenario("index {vault} --rebuild", _INDEXED),
    "watch": Scenario("watch -p vault", _INDEXED, edited=True),
    "reset": Scenario("reset --yes -p vault", _INDEXED),
    "export": Scenario("export -p vault {home}/out.dowse --force", _INDEXED),
    "import": Scenario(
        "import {home}/out.dowse -p theirs", (*_INDEXED, "export -p vault {home}/out.dowse")
    ),
    "replace": Scenario(
        "import {home}/out.dowse --replace", (*_INDEXED, "export -p vault {home}/out.dowse")
    ),
    "repair": Scenario("doctor --repair", _INDEXED, damaged=True),
    "set": Scenario("config set search.top_n 7", (*_INDEXED, "config set search.top_k 30")),
    "set-project": Scenario("config set -p vault search.top_n 7", _INDEXED),
    "add": Scenario("project add {vault} --name other", _INDEXED),
    "rename": Scenario("project rename vault other", _INDEXED),
    "remove": Scenario("project remove vault --yes", _INDEXED),
}


class Home:
    """A user's home that can be put back to how it was before a command."""

    def __init__(self, folder: Path, server: ForkServer) -> None:
        self.folder = folder
        self.vault = folder / "vault"
        self._server = server
        self._fresh: dict[object, str] = {}

    def prepare(self, scenario: Scenario) -> None:
        """Makes the home as it is before the command, the first time for real."""
        shutil.rmtree(self.folder, ignore_errors=True)
        saved = self.folder.with_name(f"saved-{hash(scenario.start)}")
        if not saved.exists():
            write_vault(self.vault, _NOTES)
            for line in scenario.before:
                assert self.run(line).code == 0, line
            if scenario.edited:
                _edit(self.vault)
            if scenario.damaged:
                (self.folder / "own/data/projects/vault/index/keyword.json").unlink()
            shutil.copytree(self.folder, saved)
        else:
            shutil.copytree(saved, self.folder)

    def run(self, line: str, *, die_at: int | None = None, after: float | None = None) -> Ended:
        """Runs a command in this home."""
        words = line.format(vault=self.vault, home=self.folder).split()
        return self._server.dowse(*words, here=self.folder, die_at=die_at, after=after)

    def projects(self) -> list[str]:
        """The names of the projects."""
        return sorted(one["name"] for one in self.run("project list --json").json["projects"])

    def content(self, name: str) -> str:
        """Everything that an index holds."""
        return self._server.content(name, self.folder)

    def fresh_content(self, scenario: Scenario) -> str:
        """What an index holds that is built now, over the documents of a scenario."""
        if scenario.start not in self._fresh:  # no command changes the documents, as is checked
            assert self.run("index {vault} -p fresh").code == 0
            self._fresh[scenario.start] = self.content("fresh")
            assert self.run("project remove fresh --yes").code == 0
        return self._fresh[scenario.start]

    def leftovers(self) -> list[str]:
        """The files of commands that are no longer running."""
        found = [path for name in _LEFTOVERS for path in (self.folder / "own").rglob(name)]
        return [str(path.relative_to(self.folder)) for path in found]


def _edit(vault: Path) -> None:
    notes = sorted(vault.rglob("*.md"))
    notes[0].unlink()
    notes[1].rename(notes[1].with_name("renamed.md"))
    notes[2].write_text(notes[2].read_text("utf-8") + "\n## Added\n\nA new lighthouse.\n", "utf-8")
    (vault / "new.md").write_text("# New\n\nSee [[renamed]].\n", "utf-8")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    own = tmp_path_factory.mktemp("kills") / "home" / "own"
    folders = {f"DOWSE_{name.upper()}_DIR": str(own / name) for name in ("config", "data", "cache")}
    with fork_server({**folders, "HOME": str(own.parent)}) as started:
        yield started


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, server: ForkServer) -> Home:
    return Home(tmp_path_factory.getbasetemp() / "kills0" / "home", server)


@pytest.mark.takes(11)
@pytest.mark.parametrize("name", _SCENARIOS)
def test_a_killed_command_loses_nothing_and_can_be_run_again(
    name: str,
    home: Home,
    rounds: Callable[[int, int], int],
    tally: Callable[[str, object], None],
) -> None:
    scenario = _SCENARIOS[name]
    moments = random.Random(name)
    home.prepare(scenario)
    # A watch never ends by itself, so its lines are those it runs in a second.
    whole = home.run(scenario.line, die_at=0, after=2.0 if name == "watch" else None)
    assert name == "watch" or whole.code in {0, 1}, whole
    lines = whole.lines or 3000
    killed = 0
    for _ in range(rounds(1, 10)):  # with those of tests/crash: 210 in all
        home.prepare(scenario)
        documents = _digest(home.vault)
        ended = home.run(scenario.line, die_at=moments.randrange(1, lines), after=10.0)
        killed += ended.code == -signal.SIGKILL
        _check_usable(home)
        _check_finished(home, scenario, name)
        assert _digest(home.vault) == documents
    assert killed
    tally(f"kills survived by {name}", killed)


def _check_usable(home: Home) -> None:
    """Right after the kill, before anything is run again, every question gets an answer."""
    for line in ("project list --json", "doctor --json", "search gateway --json", "status --json"):
        ended = home.run(line)
        assert ended.code not in {70, 4, 5}, (line, ended)
        assert "Traceback" not in ended.out


def _check_finished(home: Home, scenario: Scenario, name: str) -> None:
    """The same command succeeds, or says that it was done; then nothing is missing or left over."""
    if name != "watch":
        assert home.run(scenario.line).code in {0, 1, 2}
    for project in home.projects():
        if "vault" in str(home.run(f"status --json -p {project}").json["roots"]):
            assert home.run(f"index -p {project}").code == 0
            assert home.content(project) == home.fresh_content(scenario)
    home.run("doctor --repair")  # removes what killed imports and removals left
    findings = home.run("doctor --json").json["findings"]
    assert not [one for one in findings if "weights" not in json.dumps(one)]
    assert home.leftovers() == []


def _digest(vault: Path) -> list[tuple[str, bytes, int]]:
    return [
        (str(path), path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(vault.rglob("*"))
        if path.is_file()
    ]
