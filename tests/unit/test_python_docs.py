"""The programs in the docs run as they stand."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from dowse import Dowse
from dowse._project.archive.archive import export_project
from dowse._project.workspace import Workspace
from dowse._util.files import Locations
from dowse.api import Asking, Opening
from dowse.testing import HashEmbedder

_DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_NEEDED = {"langchain": "langchain_core", "llamaindex": "llama_index"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with notes that are indexed, and an export of them."""
    for name in [name for name in os.environ if name.startswith("DOWSE_")]:
        monkeypatch.delenv(name)
    for name in ("config", "data", "cache"):
        monkeypatch.setenv(f"DOWSE_{name.upper()}_DIR", str(tmp_path / "own" / name))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOWSE_EMBED_PROVIDER", "none")  # the programs choose no model
    shutil.copytree(_DOCS.parent / "examples" / "vault", tmp_path / "notes")
    with Dowse("~/notes") as notes:
        notes.index()
    elsewhere = tmp_path / "elsewhere"
    with Dowse("~/notes", home=elsewhere, embedder=HashEmbedder()) as with_vectors:
        with_vectors.index()
        export_project(
            Workspace(Locations(elsewhere / "config", elsewhere / "data", elsewhere / "cache")),
            with_vectors.project,
            tmp_path / "notes.dowse",
        )
    return tmp_path


def _programs() -> list[Any]:
    found = []
    for page in ("python.md", "export.md"):
        for number, program in enumerate(_BLOCK.findall((_DOCS / page).read_text("utf-8")), 1):
            needed = [module for word, module in _NEEDED.items() if word in program]
            missing = [module for module in needed if importlib.util.find_spec(module) is None]
            mark = pytest.mark.skipif(bool(missing), reason=f"{missing} is not installed")
            found.append(pytest.param(program, marks=mark, id=f"{page}-{number}"))
    return found


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("program", _programs())
def test_the_program_runs(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    exec(compile(program, "docs", "exec"), names)  # noqa: S102  it is our own
    assert capsys.readouterr().out


@pytest.mark.usefixtures("home")
def test_the_first_program_has_ten_lines_and_finds_what_it_asks_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    program = _BLOCK.findall((_DOCS / "python.md").read_text("utf-8"))[0]
    assert len(program.splitlines()) == 10
    exec(compile(program, "docs", "exec"), {})  # noqa: S102  it is our own
    out = capsys.readouterr().out
    assert "guides/restore-the-database.md:" in out
    assert "every night at 03:15 UTC" in out


def test_every_keyword_and_method_is_documented() -> None:

    page = (_DOCS / "python.md").read_text("utf-8")
    methods = [name for name in vars(Dowse) if not name.startswith("_") and name != "project"]
    for name in [*Asking.__annotations__, *Opening.__annotations__, *methods]:
        assert re.search(rf"`(?:Dowse\.)?{name}[`(]", page), name
