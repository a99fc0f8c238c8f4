"""`dowse serve`, `mcp`: the page, the API and the tools for agents; and what they log."""

from __future__ import annotations

import gc
import os
import socket
import stat
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
from click.core import ParameterSource
from msgspec import Struct

from dowse._interfaces.cli.call import Call, Command, LazyGroup, pass_call
from dowse._interfaces.cli.log import start_logging, takes_logging
from dowse._project.introduction import introduction_of
from dowse._util.files import locations, real_path
from dowse._util.process import cores
from dowse.errors import Refused, UsageError

if TYPE_CHECKING:
    from dowse._project.pool import EnginePool

# ── The server ───────────────────────────────────────────────────────────────


class ServeRecord(Struct, frozen=True):
    """What `dowse serve` prints when it is ready."""

    address: Annotated[str, "Where the page is; the API is at api/v1/ below it, MCP at mcp."]
    token: Annotated[
        str,
        "The token that dowse made. Empty when a token was given or none is needed.",
    ]
    socket: Annotated[str, "Where the shell asks this process; empty: nowhere."]


@click.command(cls=Command, record=ServeRecord)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="HOST",
    help="The address to listen on. An address that other machines can reach needs a token.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=7333,
    show_default=True,
    metavar="PORT",
    help="The port to listen on; 0 picks a free one.",
)
@click.option(
    "--token",
    envvar="DOWSE_TOKEN",
    metavar="TEXT",
    help="The bearer token that requests must send. Other users of this machine can see it in the"
    " list of processes; use --token-file or DOWSE_TOKEN to hide it. Where a token is needed and"
    " none is given, dowse makes one.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="A file with the token, which only you can read.",
)
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="NAME",
    help="Another host name that requests may use, for example behind a proxy. Can be repeated.",
)
@click.option(
    "--cors",
    "origins",
    multiple=True,
    metavar="ORIGIN",
    help="A site whose pages may use the API, such as https://app.example.org. Can be repeated.",
)
@click.option("--no-watch", is_flag=True, help="Do not update the indexes when documents change.")
@click.option(
    "--compat", is_flag=True, help="Also offer the MCP tool names search, get and get_project_info."
)
@takes_logging
@pass_call
def serve_command(  # noqa: PLR0917  click passes them by name
    call: Call,
    host: str,
    port: int,
    token: str | None,
    token_file: Path | None,
    names: tuple[str, ...],
    origins: tuple[str, ...],
    no_watch: bool,
    compat: bool,
    log_format: str,
    log_level: str,
) -> None:
    """Serve the web page, the JSON API and MCP, with indexes and model loaded.

    Every index is updated when its folder changes. While it runs, search, answer, explain, related
    and get use it, so they answer at once. It runs until Ctrl-C. With --json, it prints one JSON
    document when it is ready. With -p, the page, the API and MCP show only that project.

    Examples:
      dowse serve                             the page is at http://127.0.0.1:7333
      dowse serve --port 0 --json             a free port, printed as JSON
      dowse serve --host 0.0.0.0              for other machines, with a token
      dowse serve --token-file ~/.dowse-token a token that nobody else can see
      dowse serve --cors http://localhost:3000  a page of yours may use the API
    """
    from dowse._interfaces.http.server import OwnSocket, access_for, bind, server_for  # noqa: PLC0415  --help does not need it

    start_logging(log_format, log_level)
    if token_file is not None:  # a file is stronger than the environment
        source = click.get_current_context().get_parameter_source("token")
        if source is ParameterSource.COMMANDLINE:
            raise UsageError("--token and --token-file contradict each other.", "Use one.")
        token = _read_token(real_path(token_file))
    access = access_for(host, token, names, origins)
    workspace = call.workspace
    project = workspace.projects.get(call.project) if call.project else None
    server = server_for(
        workspace,
        project.roots[0] if project else call.here,
        call.project,
        access,
        watch=not no_watch,
        compat=compat,
        workers=workspace.settings(project).settings.serve.workers or cores(),
        begin=partial(start_logging, log_format, log_level),
    )
    with bind(host, port) as listening, OwnSocket(workspace.locations) as own:
        port = listening.getsockname()[1]
        made = "" if token else access.token  # one that was given must not get into a log
        record = ServeRecord(_address(host, port), made, own.path)
        if call.json:
            call.out.write_json(record, line=True)
        else:
            call.out.write(f"dowse is at {record.address}\n")
            if made:
                everywhere = host.strip("[]") in {"0.0.0.0", "::"}  # noqa: S104  nothing is bound here
                address = _address(socket.gethostname() if everywhere else host, port)
                call.out.write(f"Token: {made}\nThe page, with its token: {address}#token={made}\n")
            call.out.flush()
            if not call.quiet:
                call.aside.write("Stop with Ctrl-C.\n")
        if own.why_not:
            call.remark(f"Commands cannot ask this server: {own.why_not}.")
        server.run(sockets=[listening, *own.sockets])
    if call.aside.is_terminal and not call.quiet:
        call.aside.write("\rStopped serving.\n")


def _address(host: str, port: int) -> str:
    named = f"[{host.strip('[]')}]" if ":" in host else host
    return f"http://{named}:{port}/"


_MOST_BYTES = 4096
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def _read_token(path: Path) -> str:
    """Read the token in a file; raise `Refused` if others can read it.

    A warning would be too late: a token that others could read must be taken for known.
    """
    try:
        with path.open("rb") as file:
            if os.name == "posix" and stat.S_IMODE(os.fstat(file.fileno()).st_mode) & _OTHERS:
                raise Refused(
                    f"Others can read {path}.",
                    f"Make it yours alone: chmod 600 {path}. A token that others could read"
                    " should be replaced.",
                )
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", "Name a file.") from error
    token = data.decode("utf-8", "replace").strip()
    is_text = token.isprintable() and not {" ", "\N{REPLACEMENT CHARACTER}"} & set(token)
    if not token or not is_text or len(data) > _MOST_BYTES:
        raise UsageError(
            f"{path} holds no token.", "Put one line of letters, digits and signs into it."
        )
    return token


# ── Agents ──────────────────────────────────────────────────────────────────


@click.group(
    cls=LazyGroup,
    topics={"Commands": {"install": "Add dowse to the configuration of a client."}},
    invoke_without_command=True,
)
@click.option(
    "--compat", is_flag=True, help="Also offer the tool names search, get and get_project_info."
)
@takes_logging
@click.pass_context
def mcp_command(context: click.Context, compat: bool, log_format: str, log_level: str) -> None:
    """Serve agents over the Model Context Protocol.

    A client starts this and talks to it over stdin and stdout. With -p, the agent sees only that
    project; otherwise it sees all of them.

    Examples:
      dowse mcp                               what a client runs
      dowse mcp -p notes                      only this project
      dowse mcp --compat                      also as search, get and get_project_info
      dowse mcp install --client cursor       print the entry for its configuration
      dowse mcp install --client claude-desktop -p notes --write
      dowse mcp install --client vscode --scope folder --write
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
            "This is for programs: a client of the Model Context Protocol starts it.",
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
