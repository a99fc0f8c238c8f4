"""`dowse mcp install`, `dowse skill`: tell the clients and agents of dowse."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click
from msgspec import Struct

from dowse._interfaces.cli.call import Call, Command, Group, pass_call
from dowse._interfaces.mcp.clients import (
    CLIENTS,
    SKILL,
    Change,
    Client,
    Scope,
    plan_entry,
    plan_text,
    write,
)
from dowse._project.outputs import check_outside_roots
from dowse._util.files import typed_path
from dowse._util.messages import escaped
from dowse.errors import Refused, UsageError


class SkillRecord(Struct, frozen=True):
    """What `dowse skill install` did."""

    client: Annotated[str, "Name of the client."]
    path: Annotated[str, "The file, absolute."]
    written: Annotated[bool, "Whether the file was written or changed."]
    backup: Annotated[str | None, "A copy of the file as it was; null when there was none."]


class InstallRecord(SkillRecord, frozen=True):
    """What `dowse mcp install` did."""

    configuration: Annotated[str, "What belongs into the file: JSON, TOML or YAML."]


_NAMES = click.Choice([one.name for one in CLIENTS])


def _client(name: str) -> Client:
    return next(one for one in CLIENTS if one.name == name)


@click.command("install", cls=Command, record=InstallRecord)
@click.option(
    "--client", "name", required=True, type=_NAMES, help="The program that will use dowse."
)
@click.option(
    "--write",
    "writes",
    is_flag=True,
    help="Add the entry to its configuration, after making a copy.",
)
@click.option(
    "--scope",
    type=click.Choice(["user", "folder"]),
    default="user",
    show_default=True,
    help="Where the entry applies: everywhere, or only in the current folder.",
)
@click.option(
    "--file",
    "file",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Its configuration file, if that is not in the usual place.",
)
@pass_call
def install_command(call: Call, name: str, writes: bool, scope: Scope, file: Path | None) -> None:
    """Add dowse to the configuration of a client.

    Prints the entry for the client's configuration, or adds it with --write. The rest of the file
    stays as it is, and a copy is made first. Where something could be lost, as in JSON with
    comments, the entry is printed instead.
    """
    client = _client(name)
    if call.project:
        call.select()  # a name that is none would only be noticed by the client
    entry = client.entry(call.project)
    snippet = escaped(client.shown(entry))
    path = typed_path(file) if file else client.path_for(scope)
    if not writes:
        if call.json:
            call.write_json(InstallRecord(name, str(path), False, None, snippet))
            return
        call.out.write(snippet + "\n")
        call.remark(f"Add this to {path}, or let dowse add it with: --write")
        return
    try:
        change = plan_entry(path, client, entry)
        if change.needed:
            _check_place(call, change.path)
        backup = write(change, f"dowse mcp install --client {name} --write --file")
    except Refused:
        if not call.json:
            call.out.write(snippet + "\n")
        raise
    record = InstallRecord(name, str(change.path), change.needed, backup, snippet)
    call.answer(record, _said(change, backup, client.then))


def _check_place(call: Call, path: Path) -> None:
    """Raise `Refused` for a file where documents are read: dowse never writes there."""
    try:
        check_outside_roots(call.workspace, path)
    except Refused as error:
        raise Refused(error.message, "Put the entry into it by hand.") from error


def _said(change: Change, backup: str | None, then: str = "") -> str:
    if not change.needed:
        return f"{change.path} has it already."
    copy = f" The file as it was: {backup}." if backup else ""
    return f"Wrote {change.path}.{copy} {then}".rstrip()


@click.group(cls=Group)
def skill_command() -> None:
    """Teach an agent when and how to use dowse.

    Examples:
      dowse skill install --client claude-code     write it where the agent reads skills
      dowse skill install --print                  print it, for any other agent
    """


@skill_command.command("install", cls=Command, record=SkillRecord)
@click.option("--client", "name", type=_NAMES, help="The agent that will use dowse.")
@click.option("--print", "only_print", is_flag=True, help="Print the text, and write nothing.")
@pass_call
def install_skill(call: Call, name: str | None, only_print: bool) -> None:
    """Write a short skill, or a rule, about dowse where an agent reads it.

    The file is in your own settings of the agent, and applies everywhere.

    Examples:
      dowse skill install --client claude-code     write it where the agent reads skills
      dowse skill install --print                  print it, for any other agent
    """
    if only_print:
        call.out.write(SKILL)
        return
    if name is None:
        raise UsageError("No agent is named.", "Use --client NAME, or --print.")
    change = plan_text(_client(name).skill_path, SKILL)
    check_outside_roots(call.workspace, change.path)
    backup = write(change, "dowse skill install --print >")
    record = SkillRecord(name, str(change.path), change.needed, backup)
    call.answer(record, _said(change, backup))
