"""`dowse doctor`: find what is wrong, and say how to fix it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from typing import Annotated

import click
from msgspec import Struct
from rich.text import Text

from dowse._interfaces.cli.call import Call, Command, pass_call
from dowse._interfaces.cli.draw.text import columns, folded, line
from dowse._model import Finding
from dowse._project.doctor import (
    Check,
    check_folders,
    check_leftovers,
    check_machine,
    check_models,
    check_project,
    check_telemetry,
)
from dowse._text.amounts import counted
from dowse.errors import BadSettings

_EXAMPLES = """\
\b
Examples:
  dowse doctor                 look at everything
  dowse doctor -p work         and of the projects only at this one
  dowse doctor --repair        rebuild what is damaged, remove what is left over
"""


class DoctorRecord(Struct, frozen=True):
    """What `dowse doctor` found."""

    checks: Annotated[tuple[Check, ...], "What was looked at, each with its findings."]
    findings: Annotated[tuple[Finding, ...], "All findings, each with the command that fixes it."]


@click.command(cls=Command, shape=DoctorRecord, epilog=_EXAMPLES)
@click.option("--repair", is_flag=True, help="Rebuild what is damaged; remove what is left over.")
@pass_call
def command(call: Call, repair: bool) -> int:
    """Find what is wrong, and say how to fix it.

    Looks at Python and its packages, dowse's folders, the settings, the model weights, the terminal
    and the index of every project. Exits with 1 when there is a problem.
    """
    checks = tuple(_checks(call, repair))
    findings = tuple(finding for check in checks for finding in check.findings)
    call.answer(DoctorRecord(checks, findings), lambda width: _draw(checks, width))
    return 1 if findings else 0


def _checks(call: Call, repair: bool) -> Iterator[Check]:
    yield from check_machine()
    yield _check_terminal()
    workspace = call.workspace
    yield from check_folders(workspace, repair=repair)
    yield from check_leftovers(workspace, repair=repair)
    yield check_telemetry(repair=repair)
    projects = workspace.projects
    try:
        chosen = [projects.get(call.project)] if call.project else projects.all()
    except BadSettings as error:
        yield Check("Projects", "cannot be read", (Finding(error.message, error.hint),))
        return
    yield from check_models(workspace, chosen)
    for project in chosen:
        with call.progress() as announce:
            check = check_project(workspace, project, announce, repair=repair)
        yield check
    if not call.project:
        yield from (Check("Project", "cannot be read", (one,)) for one in projects.broken())


def _check_terminal() -> Check:
    encoding = (sys.stdout.encoding or "none").lower()
    found = f"{encoding}, {shutil.get_terminal_size().columns} columns"
    if encoding.replace("-", "") == "utf8":
        return Check("Terminal", found)
    what = f"{encoding} cannot show every character."
    return Check("Terminal", found, (Finding(what, "export PYTHONIOENCODING=utf-8"),))


def _draw(checks: tuple[Check, ...], width: int | None) -> Iterator[Text]:
    rows = [
        (("!", "bold red") if one.findings else ("✓", "green"), one.about, one.found)
        for one in checks
    ]
    for check, drawn in zip(checks, columns(rows, width), strict=True):
        yield from drawn
        for finding in check.findings:
            yield from folded(line((finding.what, "yellow")), width, 4)
            yield from folded(line(("Fix: ", "dim"), (finding.repair, "bold")), width, 6)
    count = sum(len(check.findings) for check in checks)
    yield Text()
    yield line((counted(count, "problem") + ".", "yellow") if count else ("All is well.", "green"))
