"""`dowse mcp`: the tools for agents."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

import click

from dowse._interfaces.cli.call import Call, LazyGroup
from dowse._interfaces.cli.logs import start_logging, takes_logging
from dowse._project.introduction import introduction_of
from dowse._util.locations import locations

if TYPE_CHECKING:
    from dowse._project.pool import EnginePool

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


@click.group(
    cls=LazyGroup,
    topics={"Commands": {"install": "Add dowse to the configuration of a client."}},
    invoke_without_command=True,
    epilog=_EXAMPLES,
)
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
    if context.invoked_subcommand is not None:
        return
    call = context.find_root().ensure_object(Call)
    start_logging(log_format, log_level)
    # Thousands of small objects are made while the SDK is loaded, and all of them stay.
    gc.disable()
    from dowse._interfaces.mcp.server import serve_stdio  # noqa: PLC0415  install does not need it

    gc.freeze()
    gc.enable()

    if sys.stdin.isatty():
        call.remark(
            "This speaks with programs: a client of the Model Context Protocol starts it.",
            "Add dowse to an agent with: dowse mcp install --client NAME. Ctrl-D ends it.",
        )
    pinned = call.project or os.environ.get("DOWSE_PROJECT")

    def open_pool() -> EnginePool:
        from dowse._project.pool import EnginePool  # noqa: PLC0415  the handshake does not wait for it

        return EnginePool(call.workspace, call.here, pinned)

    serve_stdio(open_pool, _described(call, pinned), pinned, compat=compat)
    sys.stderr.flush()
    # After stdin is closed nobody wants to wait for threads; an index survives that.
    os._exit(0)


def _described(call: Call, pinned: str | None) -> dict[str, str]:
    """Describe the projects by their files: opening them takes longer than all the rest."""
    files = {one.parent.name: one for one in sorted(locations().projects.glob("*/project.toml"))}
    if pinned is not None and pinned not in files:
        return {call.workspace.projects.get(pinned).name: ""}  # that says best what is wrong
    return {name: introduction_of(file) for name, file in files.items() if pinned in {None, name}}
