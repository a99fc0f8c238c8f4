"""Settings from anywhere: a value within its limits, or an error that says what to do.

`tests/torture/corpus/settings` keeps what once broke dowse, and what was meant to.
"""

from __future__ import annotations

import os
import random
import string
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from dowse._config.schema import SECTIONS, known_settings
from dowse._config.trust import read_local
from dowse._interfaces.cli.main import run
from dowse._project.registry import Project, update_toml
from dowse._project.workspace import Workspace
from dowse._util.bounds import complaint
from dowse._util.files import Locations
from dowse.errors import DowseError

_CORPUS = sorted((Path(__file__).parent / "corpus" / "settings").iterdir())
_NAMES = sorted(known_settings())
_PROJECT = '[project]\nroots = ["/nowhere"]\n'


class _Home:
    """A user with one project and documents that have a dowse.toml."""

    def __init__(self, folder: Path) -> None:
        self.workspace = Workspace(Locations(folder / "c", folder / "d", folder / "k"))
        self.vault = folder / "vault"
        self.vault.mkdir()
        self.local = self.vault / "dowse.toml"
        self.project = self.workspace.projects.add([self.vault], "vault")
        self.locations = self.workspace.locations
        self.locations.config.mkdir()

    def settle(self) -> None:
        """Uses all settings there are; what they give must be within the limits."""
        projects = self.workspace.projects
        assert len(projects.all()) + len(projects.broken()) == 1
        for project in (None, self.project):
            _check(self.workspace, project)


def _error_of(action: Callable[[], object]) -> str:
    """What dowse says about it; empty when it did it. Any other error is a bug."""
    try:
        action()
    except DowseError as error:
        return str(error)
    return ""


def _check(workspace: Workspace, project: Project | None) -> None:
    if said := _error_of(lambda: workspace.settings(project)):
        assert len(said) < 2000
        return
    settings = workspace.settings(project).settings
    for name, setting in known_settings().items():
        section, _, option = name.partition(".")
        assert not complaint(setting.declared, getattr(getattr(settings, section), option))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Home:
    for name in list(os.environ):
        if name.startswith("DOWSE_"):
            monkeypatch.delenv(name)
    return _Home(tmp_path)


def _scalar(rng: random.Random) -> str:
    text = "".join(rng.choices(string.printable + "é\u202e𝒳\\\"'", k=rng.randrange(12)))
    return rng.choice(
        [
            str(rng.randrange(-(10 ** rng.randrange(1, 25)), 10 ** rng.randrange(1, 25))),
            "9" * rng.randrange(1, 5000),
            "0x" + "f" * rng.randrange(1, 5000),
            repr(rng.uniform(-1, 1) * 10 ** rng.randrange(-300, 300)),
            rng.choice(["inf", "-inf", "nan", "true", "false", "1979-05-27", "07:32:00"]),
            '"' + "".join(f"\\u{ord(one) & 0xD7FF:04x}" for one in text) + '"',
            '"' + "x" * rng.randrange(2000) + '"',
            repr(rng.choice(["local", "endpoint", "headers", "english", "seed-a", "known"])),
        ]
    )


def _value(rng: random.Random) -> str:
    if rng.random() < 0.7:
        return _scalar(rng)
    if rng.random() < 0.5:
        return "[" + ", ".join(_scalar(rng) for _ in range(rng.randrange(6))) + "]"
    depth = rng.randrange(1, 400)
    return rng.choice(["[" * depth + "]" * depth, "{a=" * depth + "1" + "}" * depth])


def _toml(rng: random.Random) -> bytes:
    """A file of settings: mostly well formed, seldom sensible, sometimes spoilt."""
    lines = []
    for section in rng.sample([*SECTIONS, "project", "nonsense"], rng.randrange(1, 5)):
        lines.append(f"[{section}]")
        known = [name.partition(".")[2] for name in _NAMES if name.startswith(f"{section}.")]
        for option in rng.sample([*known, "name", "roots"], rng.randrange(1, 3)):
            lines.append(f"{option} = {_value(rng)}")  # noqa: PERF401  as a file is written
    data = bytearray("\n".join(lines).encode("utf-8", "replace"))
    if rng.random() < 0.3:
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(len(data)) : 0] = rng.randbytes(rng.randrange(1, 4))
    return bytes(data)


def _try_files(home: _Home, data: bytes) -> None:
    """The same bytes as every file of settings there is, one after the other."""
    for path, before in (
        (home.locations.settings_file, b""),
        (home.local, b""),
        (home.project.settings_file, _PROJECT.encode()),
    ):
        path.write_bytes(data)
        home.settle()
        if _error_of(partial(update_toml, path, "search.top_n", 3)):
            assert path.read_bytes() == data, "what cannot be read is not replaced"
        path.write_bytes(before)
    home.settle()


@pytest.mark.parametrize("path", _CORPUS, ids=lambda path: path.name)
def test_what_is_kept_breaks_nothing(home: _Home, path: Path) -> None:
    _try_files(home, path.read_bytes())
    home.locations.trust_file.write_bytes(path.read_bytes())
    home.local.write_text('[embed]\nmodel = "x"\n', "utf-8")
    local = read_local(home.local, home.workspace.trust)
    assert local.withheld
    home.workspace.trust.grant(home.local, local.digest)
    assert not read_local(home.local, home.workspace.trust).withheld


@pytest.mark.takes(7)
def test_random_files_of_settings(
    home: _Home, rounds: Callable[[int, int], int], tally: Callable[[str, object], None]
) -> None:
    count = rounds(20, 200)
    for seed in range(count):
        _try_files(home, _toml(random.Random(seed)))
    tally("files of settings fuzzed", 3 * count)


@pytest.mark.takes(17)
def test_random_values_from_the_environment_and_the_command_line(
    home: _Home,
    rounds: Callable[[int, int], int],
    tally: Callable[[str, object], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    count = rounds(80, 1000)
    rng = random.Random(10)
    for _ in range(count):
        name, text = rng.choice(_NAMES), rng.choice([_value, _scalar])(rng).strip("\"'")
        target = rng.choice([None, home.project])
        said = _error_of(partial(home.workspace.change_setting, name, text, target))
        assert len(said) < 2000
        home.settle()
        with monkeypatch.context() as one:
            one.setenv("DOWSE_" + name.replace(".", "_").upper(), text.replace("\0", ""))
            home.settle()
    tally("values of settings fuzzed", 2 * count)


@pytest.mark.parametrize("path", _CORPUS, ids=lambda path: path.name)
def test_doctor_survives_and_no_command_calls_it_a_bug(
    home: _Home, path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("config", "data", "cache"):
        monkeypatch.setenv(f"DOWSE_{name.upper()}_DIR", str(getattr(home.locations, name)))
    for file in (home.locations.settings_file, home.local, home.project.settings_file):
        before = file.read_bytes() if file.exists() else b""
        file.write_bytes(path.read_bytes())
        for line in (["doctor"], ["config", "show", "-p", "vault"], ["project", "list"]):
            assert run(line) in {0, 1, 2}, (file, line, capsys.readouterr())
        if path.suffix == ".toml" and file != home.local:
            capsys.readouterr()
            run(["doctor", "--json"])
            assert file.name in capsys.readouterr().out
        file.write_bytes(before)
