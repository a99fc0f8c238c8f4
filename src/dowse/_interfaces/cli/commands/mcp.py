"""`dowse mcp`: the tools for agents, and how to tell a client of them."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
from msgspec import Struct

from dowse._interfaces.cli.call import Call, Command, Group, pass_call
from dowse._interfaces.cli.logs import start_logging, takes_logging
from dowse._interfaces.cli.screen import escaped
from dowse._interfaces.mcp.clients import (
    CLIENTS,
    Change,
    Client,
    Object,
    Scope,
    find_client,
    plan_entry,
    write,
)
from dowse._util.files import typed_path
from dowse.errors import Refused

if TYPE_CHECKING:
    from rich.text import Text

    from dowse._project.pool import EnginePool
    from dowse._util.locations import Locations

_EXAMPLES = """\
\b
Examples:
  dowse mcp                               what a client runs
  dowse mcp -p notes                      only this project
  dowse mcp --compat                      also as search, get and get_project_info
  dowse mcp install --client cursor       print what to put into its configuration
  dowse mcp install --client claude-desktop -p notes --write
  dowse mcp install --client vscode --scope folder --write
"""


class InstallRecord(Struct, frozen=True):
    """What `dowse mcp install` did."""

    client: Annotated[str, "Name of the client."]
    path: Annotated[str, "Its configuration file, absolute."]
    written: Annotated[bool, "Whether the file was changed."]
    backup: Annotated[str | None, "A copy of the file as it was; null when there was none."]
    configuration: Annotated[str, "What belongs into the file: JSON, TOML or YAML."]


@click.group(cls=Group, invoke_without_command=True, epilog=_EXAMPLES)
@click.option(
    "--compat", is_flag=True, help="Also offer the tool names search, get and get_project_info."
)
@takes_logging
@click.pass_context
def mcp_command(context: click.Context, compat: bool, log_format: str, log_level: str) -> None:
    """Serve agents over the Model Context Protocol.

    A client starts this and speaks with it over stdin and stdout. With -p the agent sees that
    project alone; otherwise it sees all of them.
    """
    if context.invoked_subcommand is None:
        start_logging(log_format, log_level)
        _serve(context.find_root().ensure_object(Call), compat=compat)


def _serve(call: Call, *, compat: bool) -> None:
    # Thousands of small objects are made while the SDK is loaded, and all of them stay.
    gc.disable()
    from dowse._interfaces.mcp.server import serve_stdio  # noqa: PLC0415  --help does not need it

    gc.freeze()
    gc.enable()

    if sys.stdin.isatty():
        call.remark(
            "This speaks with programs: a client of the Model Context Protocol starts it.",
            "Add dowse to an agent with: dowse mcp install --client NAME. Ctrl-D ends it.",
        )
    pinned = call.project or os.environ.get("DOWSE_PROJECT")
    names = _project_names(pinned)

    def open_pool() -> EnginePool:
        from dowse._project.pool import EnginePool  # noqa: PLC0415  the handshake does not wait for it

        return EnginePool(call.workspace, call.here)

    serve_stdio(open_pool, names, pinned=pinned, compat=compat)
    sys.stderr.flush()
    # After stdin is closed nobody wants to wait for threads; an index survives that.
    os._exit(0)


def _project_names(pinned: str | None) -> list[str]:
    """The projects to be named, from their folders: opening them takes longer than all the rest."""
    from dowse._util.locations import locations  # noqa: PLC0415  --help does not need it

    where = locations()
    names = sorted(file.parent.name for file in where.projects.glob("*/project.toml"))
    if pinned is None:
        return _introduced(where, names)
    if pinned not in names:
        from dowse._project.workspace import Workspace  # noqa: PLC0415  it knows best what to say

        return [Workspace(where).projects.get(pinned).name]
    return _introduced(where, [pinned])


def _introduced(where: Locations, names: list[str]) -> list[str]:
    """The projects, each with what is said of it."""
    from dowse._interfaces.mcp.replies import introduced  # noqa: PLC0415  as above
    from dowse._project.introduction import introduction_of  # noqa: PLC0415  as above

    files = {name: where.projects / name / "project.toml" for name in names}
    return introduced({name: introduction_of(file) for name, file in files.items()})


@mcp_command.command("install", cls=Command, record=InstallRecord)
@click.option(
    "--client",
    "name",
    required=True,
    type=click.Choice([one.name for one in CLIENTS]),
    help="The program that is to use dowse.",
)
@click.option(
    "--write", "writes", is_flag=True, help="Change its configuration, after making a copy."
)
@click.option(
    "--scope",
    type=click.Choice(["user", "folder"]),
    default="user",
    show_default=True,
    help="Where the entry applies: everywhere, or in the current folder alone.",
)
@click.option(
    "--file",
    "file",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Its configuration, where it is not in the usual place.",
)
@pass_call
def install_command(call: Call, name: str, writes: bool, scope: Scope, file: Path | None) -> None:
    """Add dowse to the configuration of a client.

    Prints what belongs into the client's configuration, or writes it there: what else is in the
    file stays, and a copy of it is made first. An entry that cannot be written without loss, as
    into JSON with comments, is printed.
    """
    client = find_client(name)
    if call.project:
        call.select()  # a name that is none would only be noticed by the client
    entry = client.entry(call.project)
    snippet = escaped(client.shown(entry))
    path = typed_path(file) if file else client.path_for(scope)
    if not writes:
        _print(call, InstallRecord(name, str(path), False, None, snippet))
        return
    try:
        change, backup = _written(call, client, entry, path)
    except Refused:
        if not call.json:
            call.out.write(snippet + "\n")
        raise
    kept = str(backup) if backup else None
    record = InstallRecord(name, str(change.path), change.needed, kept, snippet)
    call.answer(record, lambda width: _drawn(record, client, width))


def _print(call: Call, record: InstallRecord) -> None:
    if call.json:
        call.write_json(record)
        return
    call.out.write(record.configuration + "\n")
    call.remark(f"This belongs into {record.path}. Write it there with: --write")


def _written(call: Call, client: Client, entry: Object, path: Path) -> tuple[Change, Path | None]:
    """Write the configuration; return what became of it, and the copy of the old one."""
    change = plan_entry(path, client, entry)
    if not change.needed:
        return change, None
    _check_place(call, change.path)
    again = f"dowse mcp install --client {client.name} --write --file"
    return change, write(change, again)


def _check_place(call: Call, path: Path) -> None:
    """Raises `Refused` for a file where documents are read: dowse never writes there."""
    from dowse._project.outputs import check_outside_roots  # noqa: PLC0415  serving does not need it

    try:
        check_outside_roots(call.workspace, path)
    except Refused as error:
        raise Refused(error.message, "Put the entry into it by hand.") from error


def _drawn(record: InstallRecord, client: Client, width: int | None) -> Iterator[Text]:
    from dowse._interfaces.cli.draw import folded, line  # noqa: PLC0415  serving does not need it

    if record.written:
        copy = f" The file as it was: {record.backup}." if record.backup else ""
        said = f"Wrote {record.path}.{copy} {client.then}"
    else:
        said = f"{record.path} has it already."
    return iter(folded(line(said), width))
