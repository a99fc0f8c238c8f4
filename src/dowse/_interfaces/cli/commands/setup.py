"""`dowse models`, `doctor`, `completion`, `version`: what a machine needs, and what it has."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import click
from click.shell_completion import get_completion_class
from msgspec import Struct
from rich.text import Text

from dowse import __version__
from dowse._embed.models import KNOWN_MODELS
from dowse._embed.open import ModelRecord, models_status, pull, remove
from dowse._interfaces.cli.call import Call, Command, Group, pass_call
from dowse._interfaces.cli.draw import columns, line, sentence, table
from dowse._model import Finding
from dowse._project.doctor import (
    Check,
    check_folders,
    check_machine,
    check_models,
    check_project,
)
from dowse._util.files import real_path, short_path
from dowse._util.messages import counted, size
from dowse.errors import BadSettings


class ModelsRecord(Struct, frozen=True):
    """What `dowse models list` lists."""

    models: Annotated[tuple[ModelRecord, ...], "The default one first."]


class RemovedModelRecord(Struct, frozen=True):
    """What `dowse models remove` did."""

    removed: Annotated[str, "Name of the model whose weights are gone."]


def _known_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in KNOWN_MODELS if name.startswith(incomplete)]


@click.group(cls=Group)
def models_command() -> None:
    """List, fetch and remove model weights.

    Weights are fetched when they are first needed, and kept in the user's cache.

    Examples:
      dowse models list
      dowse models pull                            the model that the settings name
      dowse models pull bge-small-en-v1.5          another one, from the model hub
      dowse models pull BAAI/bge-small-en-v1.5 --from ~/Downloads/bge-small
    """


@models_command.command("list", cls=Command, record=ModelsRecord)
@pass_call
def list_models(call: Call) -> None:
    """List the models that are here, and the default one."""
    found = models_status(call.workspace.locations.cache)
    rows = []
    for one in found:
        state = ("damaged", "red") if one.damaged else ("here", "green")
        if not one.here:
            state = ("not here", "yellow")
        weight = size(one.bytes) if one.here else ""
        rows.append(((one.name, "bold"), state, weight, one.origin))
    call.answer(ModelsRecord(tuple(found)), lambda width: table(rows, width, right=(2,)))


@models_command.command("pull", cls=Command, record=ModelRecord)
@click.argument("model", required=False, shell_complete=_known_names)
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Take the model from this folder, not from the network.",
)
@pass_call
def pull_model(call: Call, model: str | None, source: Path | None) -> None:
    """Fetch the weights of a model, unless they are here and intact.

    MODEL is a known name, or owner/name on the model hub. By default it is the model in the
    settings, with -p in those of a project.
    """
    project = call.workspace.projects.get(call.project) if call.project else None
    name = model or call.workspace.settings(project).settings.embed.model
    where = real_path(source) if source else None
    with call.progress() as announce:
        status = pull(name, call.workspace.locations.cache, announce, where)
    if not call.quiet or call.json:
        place = short_path(Path(status.path))
        call.answer(status, f"{status.name} is here: {place} ({size(status.bytes)})")


@models_command.command("remove", cls=Command, record=RemovedModelRecord)
@click.argument("model", shell_complete=_known_names)
@pass_call
def remove_model(call: Call, model: str) -> None:
    """Remove the weights of a model; they can be fetched again."""
    remove(model, call.workspace.locations.cache)
    call.answer(RemovedModelRecord(model), f"Removed {model}.")


class DoctorRecord(Struct, frozen=True):
    """What `dowse doctor` found."""

    checks: Annotated[tuple[Check, ...], "What was looked at, each with its findings."]
    findings: Annotated[tuple[Finding, ...], "All findings, each with the command that fixes it."]


@click.command(cls=Command, record=DoctorRecord)
@click.option("--repair", is_flag=True, help="Rebuild what is damaged; remove what is left over.")
@pass_call
def doctor_command(call: Call, repair: bool) -> int:
    """Find what is wrong, and say how to fix it.

    Looks at Python and its packages, dowse's folders, the settings, the model weights, the terminal
    and the index of every project. Exits with 1 when there is a problem.

    Examples:
      dowse doctor                 look at everything
      dowse doctor -p work         and of the projects only at this one
      dowse doctor --repair        rebuild what is damaged, remove what is left over
    """
    checks = tuple(_checks(call, repair))
    findings = tuple(finding for check in checks for finding in check.findings)
    call.answer(DoctorRecord(checks, findings), lambda width: _draw_checks(checks, width))
    return 1 if findings else 0


def _checks(call: Call, repair: bool) -> Iterator[Check]:
    yield from check_machine()
    encoding = (sys.stdout.encoding or "none").lower()
    limits = Finding(f"{encoding} cannot show every character.", "export PYTHONIOENCODING=utf-8")
    shown = f"{encoding}, {shutil.get_terminal_size().columns} columns"
    yield Check("Terminal", shown, () if encoding.replace("-", "") == "utf8" else (limits,))
    workspace, projects = call.workspace, call.workspace.projects
    yield from check_folders(workspace, repair=repair)
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


def _draw_checks(checks: tuple[Check, ...], width: int | None) -> Iterator[Text]:
    rows = [
        (("!", "bold red") if one.findings else ("✓", "green"), one.about, one.found)
        for one in checks
    ]
    for check, drawn in zip(checks, columns(rows, width), strict=True):
        yield from drawn
        for finding in check.findings:
            yield from sentence(width, (finding.what, "yellow"), indent=4)
            yield from sentence(width, ("Fix: ", "dim"), (finding.repair, "bold"), indent=6)
    count = sum(len(check.findings) for check in checks)
    yield Text()
    yield line((counted(count, "problem") + ".", "yellow") if count else ("All is well.", "green"))


VARIABLE = "_DOWSE_COMPLETE"
"""The variable by which a shell asks for completions."""

_INSTALL = """\
\b
To install it:
  dowse completion bash > ~/.local/share/bash-completion/completions/dowse
  dowse completion zsh > ~/.zfunc/_dowse
  dowse completion fish > ~/.config/fish/completions/dowse.fish
  dowse completion powershell >> $PROFILE

Make the folder first where it is missing. For zsh, write "fpath+=~/.zfunc" into ~/.zshrc, before
"autoload -Uz compinit; compinit". Then open a new shell.
"""


class CompletionRecord(Struct, frozen=True):
    """What `dowse completion` prints."""

    shell: Annotated[str, "Name of the shell."]
    script: Annotated[str, "What the shell must run."]


@click.command(cls=Command, record=CompletionRecord, epilog=_INSTALL)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish", "powershell"]))
@click.pass_context
@pass_call
def completion_command(call: Call, context: click.Context, shell: str) -> None:
    """Print the completion script for a shell."""
    kind: Any = get_completion_class(shell)  # click has one for each of these
    complete = kind(context.find_root().command, {}, "dowse", VARIABLE)
    script = complete.source_template % complete.source_vars()  # `source` would also run the shell
    if call.json:
        call.out.write_json(CompletionRecord(shell, script))
    else:
        call.out.write(script.strip("\n") + "\n")


class VersionRecord(Struct, frozen=True):
    """What `dowse version` says."""

    version: Annotated[str, "Of dowse."]


@click.command(cls=Command, record=VersionRecord)
@pass_call
def version_command(call: Call) -> None:
    """Show the version of dowse."""
    call.answer(VersionRecord(__version__), f"dowse {__version__}")
