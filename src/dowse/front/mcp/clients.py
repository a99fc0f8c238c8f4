"""Where clients keep their list of servers, and how dowse is entered there."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dowse.errors import NotFound

NAME = "dowse"
"""The name under which clients list the server."""

FOLDERS = ("DOWSE_CONFIG_DIR", "DOWSE_DATA_DIR", "DOWSE_CACHE_DIR")
"""What an entry passes on of the environment."""

OWN = ("type", "source", "command", "args", "env", "url", "httpUrl", "serverUrl", "headers")
"""What tells how a server is reached; the rest of an entry belongs to the user."""


@dataclass(frozen=True, slots=True)
class Client:
    """A program that starts servers."""

    name: str
    title: str
    file: str  # its configuration: "~" is the user's home, "{apps}" and "{config}" see below
    key: str = "mcpServers"  # the object in it that holds the servers
    says: tuple[tuple[str, str], ...] = ()  # what an entry must say in addition to the command
    then: str = "Start it again."  # what makes it read the file

    @property
    def path(self) -> Path:
        """Its configuration file, for this user or for the current folder."""
        file = self.file.format(apps=_applications(), config=_configurations())
        return Path(file).expanduser().absolute()

    def entry(self, command: list[str]) -> dict[str, Any]:
        """What tells it to start a command."""
        entry: dict[str, Any] = {**dict(self.says), "command": command[0], "args": command[1:]}
        # A client started from the desktop does not know what the shell was told, nor where.
        told = {name: os.environ[name] for name in FOLDERS if os.environ.get(name)}
        moved = {name: str(Path(folder).absolute()) for name, folder in told.items()}
        return entry | ({"env": moved} if moved else {})


_STDIO = (("type", "stdio"),)
CLIENTS = (
    Client(
        "claude-code",
        "Claude Code",
        ".mcp.json",
        says=_STDIO,
        then="It holds for this folder; start claude there.",
    ),
    Client("claude-desktop", "Claude Desktop", "{apps}/Claude/claude_desktop_config.json"),
    Client("cursor", "Cursor", "~/.cursor/mcp.json", says=_STDIO),
    Client(
        "vscode",
        "Visual Studio Code",
        ".vscode/mcp.json",
        key="servers",
        says=_STDIO,
        then="It holds for this folder; press Start above the entry.",
    ),
    Client("windsurf", "Windsurf", "~/.codeium/windsurf/mcp_config.json"),
    Client("gemini-cli", "Gemini CLI", "~/.gemini/settings.json"),
    Client("lm-studio", "LM Studio", "~/.lmstudio/mcp.json"),
    Client(
        "zed",
        "Zed",
        "{config}/zed/settings.json",
        key="context_servers",
        says=(("source", "custom"),),  # newer versions do not need it, older ones refuse without
        then="It reads the file at once.",
    ),
)
"""The clients whose configuration is known."""


def find_client(name: str) -> Client:
    """The client of that name."""
    for client in CLIENTS:
        if client.name == name:
            return client
    known = ", ".join(client.name for client in CLIENTS)
    raise NotFound(f"{name!r} is not a client that dowse knows.", f"Use one of: {known}.")


def start_command(project: str | None) -> list[str]:
    """The line that starts the server, by its full path: clients search no folders."""
    folder = str(Path(sys.executable).parent)
    found = shutil.which("dowse", path=folder) or shutil.which("dowse")
    if found is None:
        raise NotFound("The program dowse is on no path.", "Install it with: pip install dowse")
    return [str(Path(found).absolute()), "mcp", *(["-p", project] if project else [])]


def _configurations() -> Path:
    """Where programs keep settings that people edit."""
    return Path.home() / ".config" if sys.platform == "darwin" else _applications()


def _applications() -> Path:
    """Where programs of the desktop keep settings."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
