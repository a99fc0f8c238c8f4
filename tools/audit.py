"""Judges what `make audit` has gathered: known vulnerabilities, licences, a bill of materials.

pip-audit calls a run without any answer from the vulnerability service a success. Here a package
that nobody could look up has not been audited, and the run has not passed.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ALLOWED = frozenset(
    {
        *("0BSD", "3-Clause BSD License", "BSD License", "BSD-2-Clause", "BSD-3-Clause"),
        *("Apache Software License", "Apache-2.0", "CC0-1.0", "CNRI-Python", "ISC", "MIT"),
        *("MIT License", "DFSG approved", "MIT-0", "MIT-CMU", "ISC License ISCL", "Zlib"),
        *("PSF-2.0", "Python Software Foundation License", "Academic Free License AFL"),
        # A weak copyleft: it concerns changes to the files of the package itself.
        *("MPL-2.0", "Mozilla Public License 2.0 MPL 2.0"),
    }
)
"""Licences that dowse can be used and passed on with."""

EXCEPTIONS = {
    "pypdfium2": "BSD-3-Clause and Apache-2.0, with those of the parts of PDFium in its wheel",
    "tiktoken": "MIT: its metadata holds the text of the licence instead of its name",
}
"""Packages that are judged by hand, each with the reason."""

_BETWEEN = re.compile(r"\s+(?:AND|OR|WITH)\s+|[;,]")


def vulnerabilities(report: dict[str, Any]) -> list[str]:
    """The known vulnerabilities in a report of pip-audit."""
    return [
        f"{package['name']} {package['version']}: {one['id']}, fixed in {one['fix_versions']}"
        for package in report["dependencies"]
        for one in package.get("vulns", ())
    ]


def not_audited(report: dict[str, Any]) -> list[str]:
    """The packages that the vulnerability service said nothing about."""
    return [one["name"] for one in report["dependencies"] if "skip_reason" in one]


def unknown_licences(packages: list[dict[str, str]]) -> list[str]:
    """The packages with a licence that is neither allowed nor excused."""
    return [
        f"{one['Name']}: {one['License'][:80]}"
        for one in packages
        if one["Name"] not in EXCEPTIONS and not _parts(one["License"]) <= ALLOWED
    ]


def _parts(licence: str) -> set[str]:
    """The single licences of an expression; all of them must be allowed."""
    parts = _BETWEEN.split(re.sub(r"[()]", "", licence))
    return {part.strip() for part in parts if part.strip()} or {"none named"}


def judge(folder: Path) -> tuple[int, list[str]]:
    """The exit code and the lines to print: 1 for findings, 3 when something was not audited."""
    lines, code = [], 0
    report = _read(folder / "vulnerabilities.json") or {"dependencies": []}
    packages = report["dependencies"]
    missing = not_audited(report)
    if missing or not packages:
        code = 3
        lines.append(
            f"NOT AUDITED: the vulnerability service gave no answer for {len(missing)} of "
            f"{len(packages)} packages. Run `make audit` where pypi.org can be reached."
        )
    findings = [f"VULNERABLE: {one}" for one in vulnerabilities(report)]
    licences = _read(folder / "licences.json") or []
    findings += [f"LICENCE NOT ALLOWED: {one}" for one in unknown_licences(licences)]
    bill = _read(folder / "bom.json") or {}
    if not licences or not bill.get("components"):
        findings.append("MISSING: the list of licences or the bill of materials was not made.")
    checked = len(packages) - len(missing)
    lines.append(f"{checked} of {len(packages)} packages looked up for vulnerabilities,")
    lines.append(f"{len(licences)} licences checked, {len(EXCEPTIONS)} exceptions with a reason,")
    lines.append(f"{len(bill.get('components', ()))} components listed in {folder / 'bom.json'}.")
    return (1 if findings else code), [*findings, *lines]


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None


if __name__ == "__main__":
    exit_code, told = judge(Path(sys.argv[1]))
    sys.stdout.write("\n".join(told) + "\n")
    sys.exit(exit_code)
