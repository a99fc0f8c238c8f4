"""What strangers get: the name, the metadata, the archives and the files of the repository."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from pathlib import Path

import dowse

_ROOT = Path(__file__).parents[2]
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def _texts(*patterns: str) -> dict[Path, str]:
    """The text of the files that match, by path."""
    found = [path for pattern in patterns for path in _ROOT.glob(pattern)]
    assert found
    return {path: path.read_text("utf-8") for path in found}


def test_the_distribution_is_named_once_in_the_metadata_and_once_in_the_code() -> None:
    assert dowse.DISTRIBUTION == _PROJECT["name"] == "dowse-search"
    assert importlib.metadata.version(dowse.DISTRIBUTION) == dowse.__version__
    texts = _texts("src/dowse/**/*.py")
    named = [path.name for path, text in texts.items() if f'"{dowse.DISTRIBUTION}"' in text]
    assert named == ["__init__.py"]


def test_no_command_installs_the_package_of_another_project() -> None:
    texts = _texts("src/dowse/**/*.py", "docs/**/*.md", "*.md", "examples/**/*.md", "Makefile")
    taken = re.compile(r"""pip install[^\n`]*?[ "']dowse(?![-\w{])""")
    assert not {path: found for path, text in texts.items() if (found := taken.findall(text))}
    in_code = re.compile(r"pip install[^\n`]*dowse-search")
    code = {path: text for path, text in texts.items() if path.suffix == ".py"}
    # A docstring cannot take the name from a constant, so those of the integrations write it.
    written = {path.parent.name for path, text in code.items() if in_code.search(text)}
    assert written <= {"integrations"}


def test_the_changelog_begins_with_this_version_and_its_date() -> None:
    first = re.search(r"^## (.+)$", (_ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert first
    assert re.fullmatch(rf"{re.escape(dowse.__version__)} \(\d{{4}}-\d\d-\d\d\)", first[1])
