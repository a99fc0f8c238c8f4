"""What a user installs stays small."""

from __future__ import annotations

import re
from pathlib import Path

_LOCK = Path(__file__).parents[2] / "requirements.lock"
_PACKAGES = 66  # a new one needs a reason: to replace another, or a feature that is on by default
_LARGE = {"onnx", "scipy", "torch", "transformers", "faiss-cpu", "pandas", "scikit-learn", "sympy"}


def _locked() -> set[str]:
    lines = _LOCK.read_text("utf-8").splitlines()
    return {found[1].lower() for line in lines if (found := re.match(r"([\w.-]+)==", line))}


def test_users_install_no_more_packages_than_are_known() -> None:
    assert 30 < len(_locked()) <= _PACKAGES


def test_users_install_no_large_package_for_a_small_need() -> None:
    assert not _locked() & _LARGE
