"""`make audit` does not call a run passed in which nothing could be looked up."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

_FILE = Path(__file__).parents[2] / "tools" / "audit.py"
_SPEC = importlib.util.spec_from_file_location("dowse_audit", _FILE)
assert _SPEC
assert _SPEC.loader
audit: Any = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(audit)

_FINE: dict[str, Any] = {
    "vulnerabilities.json": {"dependencies": [{"name": "a", "version": "1", "vulns": []}]},
    "licences.json": [{"Name": "a", "License": "MIT"}],
    "bom.json": {"components": [{"name": "a"}]},
}


def _judged(folder: Path, **changes: Any) -> tuple[int, str]:
    for name, content in (_FINE | {f"{key}.json": one for key, one in changes.items()}).items():
        if content is not None:
            (folder / name).write_text(json.dumps(content), "utf-8")
    code, lines = audit.judge(folder)
    return code, "\n".join(lines)


def test_all_is_fine(tmp_path: Path) -> None:
    code, told = _judged(tmp_path)
    assert (code, "1 of 1 packages looked up" in told) == (0, True)


@pytest.mark.parametrize(
    "report",
    [None, {"dependencies": []}, {"dependencies": [{"name": "a", "skip_reason": "not found"}]}],
)
def test_what_could_not_be_looked_up_has_not_passed(tmp_path: Path, report: Any) -> None:
    code, told = _judged(tmp_path, vulnerabilities=report)
    assert code == 3
    assert told.startswith("NOT AUDITED")


def test_a_vulnerability_is_a_finding(tmp_path: Path) -> None:
    found = {"id": "CVE-1", "fix_versions": ["2"]}
    report = {"dependencies": [{"name": "a", "version": "1", "vulns": [found]}]}
    assert _judged(tmp_path, vulnerabilities=report)[0] == 1


@pytest.mark.parametrize("licence", ["UNKNOWN", "", "AGPL-3.0", "MIT AND Proprietary"])
def test_an_unknown_licence_is_a_finding(tmp_path: Path, licence: str) -> None:
    code, told = _judged(tmp_path, licences=[{"Name": "a", "License": licence}])
    assert (code, "LICENCE NOT ALLOWED: a" in told) == (1, True)


@pytest.mark.parametrize(
    "licence", ["MPL-2.0 AND (Apache-2.0 OR MIT)", "BSD License; MIT License", "MIT"]
)
def test_a_combination_of_allowed_licences_is_fine(tmp_path: Path, licence: str) -> None:
    assert _judged(tmp_path, licences=[{"Name": "a", "License": licence}])[0] == 0


@pytest.mark.parametrize("missing", ["licences", "bom"])
def test_a_report_that_was_not_made_is_a_finding(tmp_path: Path, missing: str) -> None:
    assert _judged(tmp_path, **{missing: None})[0] == 1
