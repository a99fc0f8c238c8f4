from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from command_line import Dowse, Result
from dowse._interfaces.cli.main import run
from dowse._project.workspace import Given, Workspace
from dowse.testing import HashEmbedder


def _part(number: int) -> str:
    words = " ".join(f"word{number}x{place}" for place in range(40))
    return f"## Part {number}\n\nThe barometer of part {number} is read. {words}."


NOTES = {
    "guides/restore.md": (
        "---\ntitle: Restore a backup\ntags: [database, ops/backup]\ncategory: guide\n"
        "author: Ada Byron\nmodified: 2025-03-09\n---\n# Restore a backup\n\n"
        "Stop the writer before you restore the database. See [[stations]].\n\n## Steps\n\n"
        "Run the restore command and wait for the database to answer.\n\n"
        "```bash\npg_restore --clean stations.dump\n```\n"
    ),
    "guides/copy.md": (
        "---\ntitle: A copy\nmodified: 2024-01-02\n---\n# Restore a backup\n\n"
        "Stop the writer before you restore the database. See [[stations]].\n"
    ),
    "reference/stations.md": (
        "---\ntitle: Stations\ntags: [reference]\ncategory: reference\nauthor: Grace\n"
        "modified: 2023-05-01\n---\n# Stations\n\nEvery station sends a frame to the database.\n\n"
        "```python\ndef getStationById(number):\n    return number\n```\n\n"
        "See [[restore]], [[nowhere at all]] and [the log](../journal/day.txt).\n"
    ),
    "journal/day.txt": "Field day\n\nThe rain gauge was calibrated with a bottle of water.\n",
    "long.md": "---\nmodified: 2021-01-01\n---\n# Long\n\n"
    + "\n\n".join(_part(number) for number in range(16)),
    "lonely.md": "---\nmodified: 2022-01-01\n---\n# Lonely\n\nNobody links to the lighthouse.\n",
}
"""The notes, by path: links, tags, authors, code, a copy, and one that belongs to nobody."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user who has never used dowse, and wants no vectors."""
    for name in list(os.environ):
        if name.startswith(("DOWSE_", "CLICOLOR", "FORCE_COLOR", "NO_COLOR", "COLUMNS")):
            monkeypatch.delenv(name)
    for name in ("config", "data", "cache"):
        monkeypatch.setenv(f"DOWSE_{name.upper()}_DIR", str(tmp_path / "own" / name))
    monkeypatch.setenv("DOWSE_EMBED_PROVIDER", "none")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def vault(home: Path) -> Path:
    """A few notes: links, code, other scripts, a broken frontmatter."""
    notes = {
        "Home.md": "# Home\n\nSee [[restore]] and [[nobody has written this]]. #start\n",
        "guides/restore.md": (
            "---\ntitle: Restore a backup\ntags: [database, backup]\nmodified: 2026-03-09\n---\n"
            "# Restore a backup\n\nStop the writer first.\n\n## Steps\n\n"
            "Run the restore command and wait for the database to answer.\n\n"
            "```bash\npg_restore --clean stations.dump\n```\n"
        ),
        "guides/winter-ja.md": "# 冬の点検\n\n雨量計のヒーターを点検します。データベース。\n",
        "journal/emoji.md": "# Field day 🌧️\n\nRain gauge calibrated 👩‍🔬 with a bottle.\n",
        "broken.md": "---\ntitle: [oops\n---\n# Broken header\n\nIts body is found all the same.\n",
    }
    for name, text in notes.items():
        path = home / "vault" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return home / "vault"


@pytest.fixture
def given(request: pytest.FixtureRequest) -> Given:
    """What the projects of a test are opened with, at every door."""
    return Given(HashEmbedder() if "by_meaning" in request.fixturenames else None)


@pytest.fixture
def workspace(home: Path, given: Given) -> Workspace:  # noqa: ARG001  the user must be there first
    """The user's projects and settings."""
    return Workspace(given=given)


@pytest.fixture
def dowse(
    home: Path,  # noqa: ARG001  the user must be there first
    given: Given,
    capsys: pytest.CaptureFixture[str],
) -> Dowse:
    """Runs a line in this process."""

    def call(*arguments: object, given: Given = given) -> Result:
        capsys.readouterr()
        code = run([str(one) for one in arguments], given)
        seen = capsys.readouterr()
        return Result(code, seen.out, seen.err)

    return call


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where homes are kept whose documents are indexed, for tests to copy."""
    return tmp_path_factory.mktemp("prepared")


def _index(documents: Path, prepared: Path, dowse: Dowse) -> Path:
    """Indexes a folder of a home: the first time for real, then as a copy of that."""
    home, chosen = documents.parent, [documents.name]
    chosen += [f"{name}={os.environ[name]}" for name in sorted(os.environ) if _decides(name)]
    saved = prepared / " ".join(chosen)
    if not saved.exists():
        assert dowse("index", documents).code == 0
        for name in ("own", documents.name):
            shutil.copytree(home / name, saved / name)
    else:
        for name in ("own", documents.name):  # files with their times, which the index knows
            shutil.copytree(saved / name, home / name, dirs_exist_ok=True)
        _set_root(home / "own/data/projects" / documents.name, documents)
    return documents


def _decides(variable: str) -> bool:
    return variable.startswith("DOWSE_") and not variable.endswith("_DIR")


def _set_root(project: Path, root: Path) -> None:
    """Names the folder of a copied project, in both places that know it."""
    (project / "project.toml").write_text(f'[project]\nroots = ["{root}"]\n', "utf-8")
    with closing(sqlite3.connect(project / "index/index.db", isolation_level=None)) as database:
        roots = json.dumps([str(root)])
        database.execute("UPDATE meta SET value = ? WHERE name = 'roots'", [roots])


@pytest.fixture
def index_once(prepared: Path, dowse: Dowse) -> Callable[[Path], Path]:
    """Indexes a folder of the home whose name always means the same documents."""
    return lambda documents: _index(documents, prepared, dowse)


@pytest.fixture
def indexed(vault: Path, prepared: Path, dowse: Dowse) -> Path:
    """The vault, indexed."""
    return _index(vault, prepared, dowse)


@pytest.fixture
def by_meaning(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001  as above
    """Vectors, made in this process without weights."""
    monkeypatch.setenv("DOWSE_EMBED_PROVIDER", "local")


@pytest.fixture
def notes(home: Path, by_meaning: None, prepared: Path, dowse: Dowse) -> Path:  # noqa: ARG001  as above
    """The notes, indexed with vectors."""
    for name, text in NOTES.items():
        path = home / "notes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return _index(home / "notes", prepared, dowse)
