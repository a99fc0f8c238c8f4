"""Checks that nobody can skip: missing programs, hanging tests, two versions."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import dowse

_ROOT = Path(__file__).parents[2]
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))


_SKIPS = """
import pytest

@pytest.fixture
def browser():
    pytest.skip("chromium is not installed: apt-get install chromium")

def test_page(browser): pass
def test_sheet(): pytest.importorskip("no_such_package")
def test_refusal(): pytest.skip("nothing is refused to root")
"""


def _run(folder: Path, *options: str, **environment: str) -> tuple[int, str]:
    """The exit code and the output of pytest over a folder."""
    outer = {name: value for name, value in os.environ.items() if name != "CI"}
    ours = {"PYTHONPATH": str(_ROOT / "tests"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    plugins = ["-p", "gates", "-p", "pytest_timeout", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rA", *plugins, *options],
        cwd=folder,
        env=outer | ours | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def test_what_is_missing_is_a_skip_for_users_and_a_failure_in_ci(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(_SKIPS, "utf-8")
    (tmp_path / "test_whole.py").write_text(
        "import pytest\npytest.importorskip('no_such_package')\ndef test(): pass\n", "utf-8"
    )
    code, told = _run(tmp_path)
    assert (code, "4 skipped" in told) == (0, True), told
    code, told = _run(tmp_path, "--continue-on-collection-errors", CI="true")
    assert code == 1
    for name in ("test_some.py::test_page", "test_some.py::test_sheet"):
        assert re.search(rf"^(FAILED|ERROR) {name}", told, re.MULTILINE), told
    assert "ERROR test_whole.py" in told
    assert "In CI this must not be skipped" in told
    assert "1 skipped" in told


@pytest.mark.parametrize("workers", [(), ("-p", "xdist.plugin", "-n", "1")])
def test_a_run_ends_with_what_was_left_out_and_why(
    tmp_path: Path, workers: tuple[str, ...]
) -> None:
    reason = "chromium is not installed: apt-get install chromium"
    skips = _SKIPS + "def test_third(browser): pass\n"
    (tmp_path / "test_some.py").write_text(skips, "utf-8")
    _, told = _run(tmp_path, *workers)
    assert "left out: 4" in told
    assert f"\n    2  {reason}\n" in told
    assert "\n    1  nothing is refused to root\n" in told


def test_a_test_that_hangs_is_stopped_and_named(tmp_path: Path) -> None:
    program = "import threading\ndef test_waits(): threading.Event().wait()\ndef test_b(): pass\n"
    (tmp_path / "test_it.py").write_text(program, "utf-8")
    code, told = _run(tmp_path, "--timeout", "0.5")
    assert code == 1
    assert "test_it.py::test_waits - Failed: Timeout" in told
    assert "1 failed, 1 passed" in told
    assert int(_PROJECT["tool"]["pytest"]["ini_options"]["timeout"]) <= 600


def test_the_version_is_in_one_place() -> None:
    assert importlib.metadata.version(dowse.DISTRIBUTION) == dowse.__version__
    assert "version" not in _PROJECT["project"]
    assert _PROJECT["project"]["dynamic"] == ["version"]


def test_no_test_patches_the_wiring() -> None:
    patched = re.compile(r"""setattr\(\s*["']?dowse\.wiring|dowse\.wiring\.\w+ = """)
    for file in (_ROOT / "tests").rglob("*.py"):
        assert not patched.search(file.read_text("utf-8")), f"{file}: give parts instead (Given)"
