"""What a user installs stays small."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement

_LOCK = Path(__file__).parents[2] / "requirements.lock"
_PACKAGES = 63  # a new one needs a reason: to replace another, or a feature that is on by default
_LARGE = {"onnx", "scipy", "torch", "transformers", "faiss-cpu", "pandas", "scikit-learn", "sympy"}
# Of graspologic-native, only 1.3 installs there, and 1.3 asks for scipy. dowse never imports it.
_FOR_NEW_PYTHON = {"scipy"}


def _installed(python: str) -> set[str]:
    """The packages that users of this Python install, on all systems together."""
    locked = re.findall(r"^([\w.-]+==[^\\\n]+)", _LOCK.read_text("utf-8"), re.MULTILINE)
    packages = [Requirement(line) for line in locked]
    return {
        one.name
        for one in packages
        for system in ("linux", "darwin", "win32")
        if one.marker is None
        or one.marker.evaluate({"python_full_version": f"{python}.0", "sys_platform": system})
    }


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_users_install_few_packages_and_no_large_one(python: str) -> None:
    found = _installed(python)
    assert 30 < len(found) <= _PACKAGES
    assert not found & _LARGE


def test_users_of_the_newest_python_install_one_large_package_more() -> None:
    assert _installed("3.14") - _installed("3.13") == _FOR_NEW_PYTHON
    assert _installed("3.14") & _LARGE == _FOR_NEW_PYTHON
