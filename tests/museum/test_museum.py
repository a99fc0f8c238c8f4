"""What older versions wrote still opens, or is refused with the command that rebuilds it.

When a change makes a file need a rebuild, raise the number in `versions.py`, move the file's name
from OPENS to NEEDS_REBUILD, and add a file of the new version with `make.py`.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import Result
from dowse._interfaces.cli.main import run
from dowse._project.workspace import Given
from dowse.testing import HashEmbedder

_MUSEUM = Path(__file__).parent
OPENS = ("0.2-languages",)
NEEDS_REBUILD = ("0.1", "0.2-dev", "0.2-fields")
OTHER_VECTORS = ("0.1", "0.2-dev")
"""Those whose vectors were made of other texts."""
PROJECTS = ("words", "vectors")
FOUND = {
    "rain gauge": "journal/day.txt",
    "restore a backup": "guides/restore.md",
    "station_by_id": "stations.md",
    "点検": "winter.md",
}
"""By query: the first document that a user of the old version found."""

Dowse = Callable[..., Result]


@pytest.fixture(params=PROJECTS)
def project(request: pytest.FixtureRequest) -> str:
    """The name of a project."""
    return str(request.param)


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Unpacks a file of the museum, and makes its user the current one."""

    def unpack(version: str) -> Path:
        with zipfile.ZipFile(_MUSEUM / f"{version}.zip") as file:
            file.extractall(tmp_path)
        former = (tmp_path / "place.txt").read_text("utf-8")
        for settings in (tmp_path / "data").rglob("*.toml"):
            text = settings.read_text("utf-8")
            settings.write_text(text.replace(former, str(tmp_path)), "utf-8")
        for name in [name for name in os.environ if name.startswith("DOWSE_")]:
            monkeypatch.delenv(name)
        for name in ("config", "data", "cache"):
            monkeypatch.setenv(f"DOWSE_{name.upper()}_DIR", str(tmp_path / name))
        monkeypatch.setenv("DOWSE_EMBED_PROVIDER", "none")
        monkeypatch.chdir(tmp_path)
        return tmp_path

    return unpack


@pytest.fixture
def dowse(capsys: pytest.CaptureFixture[str]) -> Dowse:
    """Runs a line for a project."""

    def call(project: str, *arguments: object) -> Result:
        capsys.readouterr()
        given = Given(HashEmbedder() if project == "vectors" else None)
        code = run([*map(str, arguments), "-p", project], given)
        seen = capsys.readouterr()
        return Result(code, seen.out, seen.err)

    return call


def _finds_everything(dowse: Dowse, project: str) -> None:
    for query, document in FOUND.items():
        result = dowse(project, "search", query, "--json")
        assert result.code == 0, result.err
        assert result.json["hits"][0]["document"] == document, query
        assert result.json["notices"] == []


def test_every_file_of_the_museum_is_shown() -> None:
    assert sorted(file.stem for file in _MUSEUM.glob("*.zip")) == sorted(OPENS + NEEDS_REBUILD)


@pytest.mark.parametrize("version", OPENS)
def test_an_index_opens_as_it_is(
    opened: Callable[[str], Path], dowse: Dowse, version: str, project: str
) -> None:
    opened(version)
    _finds_everything(dowse, project)
    report = dowse(project, "index", "--json").json
    assert (report["added"], report["removed"], report["embedded"]) == (0, 0, 0)


@pytest.mark.parametrize("version", NEEDS_REBUILD)
def test_an_index_is_refused_with_the_command_that_rebuilds_it(
    opened: Callable[[str], Path], dowse: Dowse, version: str, project: str
) -> None:
    opened(version)
    for line in (["search", "rain"], ["index"], ["get", "stations.md"]):
        refused = dowse(project, *line)
        assert refused.code == 4, line
        assert f"dowse index --rebuild -p {project}" in refused.err
    assert "stations.md" in dowse(project, "ls").out
    assert dowse(project, "status").code == 0
    assert dowse(project, "index", "--rebuild").code == 0
    _finds_everything(dowse, project)


@pytest.mark.parametrize("version", OPENS + NEEDS_REBUILD)
def test_an_export_can_be_imported(
    opened: Callable[[str], Path], dowse: Dowse, version: str
) -> None:
    folder = opened(version)
    assert dowse("vectors", "project", "remove", "vectors", "--yes").code == 0
    done = dowse("vectors", "import", folder / "notes.dowse", "--json")
    assert done.code == 0, done.err
    _finds_everything(dowse, "vectors")
    # The vectors of an older version were made of other texts, so they are made again.
    if version in OTHER_VECTORS:
        assert "dowse index -p vectors" in done.json["notices"][0]
        dowse("vectors", "index")
    counts = dowse("vectors", "status", "--json").json["counts"]
    assert counts["embedded"] == counts["chunks"] == 4


@pytest.mark.parametrize("version", OPENS + NEEDS_REBUILD)
def test_settings_files_hold(opened: Callable[[str], Path], dowse: Dowse, version: str) -> None:
    opened(version)
    shown = dowse("vectors", "config", "show").out
    for setting, file in (
        ("top_n = 7", "config.toml"),
        ("title = 5.0", "config.toml"),
        ("top_k = 40", "dowse.toml"),
        ('mode = "hybrid"', "project.toml"),
    ):
        line = next(line for line in shown.splitlines() if line.startswith(setting))
        assert line.endswith(file)
