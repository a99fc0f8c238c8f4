"""Where clients keep their list of servers, and how dowse is entered there."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from dowse import DISTRIBUTION
from dowse._interfaces.mcp.configurations import Form
from dowse.errors import NotFound, UsageError

NAME = "dowse"
"""The name under which clients list the server."""

FOLDERS = ("DOWSE_CONFIG_DIR", "DOWSE_DATA_DIR", "DOWSE_CACHE_DIR")
"""What an entry passes on of the environment."""

OWN = ("type", "source", "command", "cmd", "args", "url", "httpUrl", "serverUrl", "headers")
"""The fields that say how a server is reached; the rest of an entry belongs to the user."""

Scope = Literal["user", "folder"]
"""Where an entry applies: everywhere, or in the current folder."""


class Client(Struct, frozen=True):
    """A program that starts servers."""

    name: str
    title: str
    file: str  # its configuration: "~" is the user's home, "{apps}", "{config}", "{xdg}" see below
    key: str = "mcpServers"  # the object in it that holds the servers
    says: tuple[tuple[str, Any], ...] = ()  # what an entry must say in addition to the command
    then: str = "Start it again."  # what makes it read the file
    in_folder: str = ""  # the file for the current folder, where it reads one
    form: Form = "json"
    command: str = "command"  # the field of the command
    whole: bool = False  # whether this field has the arguments too
    env: str = "env"  # the field of the environment
    skill: str = ""  # its file for a skill or a rule about dowse, where it reads one
    on_windows: str = ""  # its configuration on Windows, where that has another name
    older: str = ""  # where older versions keep it; used when it is there and the newer one is not

    @property
    def path(self) -> Path:
        """Its configuration file, for this user."""
        return self.path_for("user")

    def path_for(self, scope: Scope) -> Path:
        """Its configuration file, for this user or for the current folder."""
        if scope == "folder" and not self.in_folder:
            has = ", ".join(one.name for one in CLIENTS if one.in_folder)
            raise UsageError(
                f"{self.title} has no file for one folder.",
                f"Leave --scope out. These have one: {has}.",
            )
        return _placed(self.in_folder) if scope == "folder" else self._users_own()

    def _users_own(self) -> Path:
        windows = self.on_windows if sys.platform == "win32" else ""
        path, older = _placed(windows or self.file), _placed(self.older)
        return older if self.older and older.is_file() and not path.exists() else path

    @property
    def skill_path(self) -> Path:
        """The file that its skill belongs into."""
        if not self.skill:
            raise UsageError(
                f"{self.title} reads no skill file of its own.",
                "Print the text, and put it into its rules: dowse skill install --print",
            )
        return _placed(self.skill)

    def entry(self, command: list[str]) -> dict[str, Any]:
        """What makes it start a command."""
        entry: dict[str, Any] = dict(self.says)
        entry |= {self.command: command} if self.whole else _split(self.command, command)
        # A client started from the desktop does not know what the shell was told, nor where.
        told = {name: os.environ[name] for name in FOLDERS if os.environ.get(name)}
        moved = {name: str(Path(folder).absolute()) for name, folder in told.items()}
        return entry | ({self.env: moved} if moved else {})


def _placed(file: str) -> Path:
    filled = file.format(apps=_applications(), config=_configurations(), xdg=_xdg())
    return Path(filled).expanduser().absolute()


def _split(field: str, command: list[str]) -> dict[str, Any]:
    return {field: command[0], "args": command[1:]}


_STDIO = (("type", "stdio"),)
_SHARED_SKILL = "~/.agents/skills/dowse/SKILL.md"  # where several agents look, Codex and Goose too
CLIENTS = (
    Client(
        "claude-code",
        "Claude Code",
        "~/.claude.json",
        says=_STDIO,
        then="Start claude again.",
        in_folder=".mcp.json",
        skill="~/.claude/skills/dowse/SKILL.md",
    ),
    Client("claude-desktop", "Claude Desktop", "{apps}/Claude/claude_desktop_config.json"),
    Client(
        "cursor",
        "Cursor",
        "~/.cursor/mcp.json",
        says=_STDIO,
        in_folder=".cursor/mcp.json",
        skill="~/.cursor/skills/dowse/SKILL.md",
    ),
    Client(
        "vscode",
        "Visual Studio Code",
        "{apps}/Code/User/mcp.json",
        key="servers",
        says=_STDIO,
        then="Press Start above the entry.",
        in_folder=".vscode/mcp.json",
    ),
    Client(
        "copilot",
        "GitHub Copilot CLI",
        "~/.copilot/mcp-config.json",
        says=(("type", "local"), ("tools", ["*"])),
        skill="~/.copilot/skills/dowse/SKILL.md",
    ),
    Client(
        "codex",
        "Codex",
        "~/.codex/config.toml",
        key="mcp_servers",
        form="toml",
        in_folder=".codex/config.toml",
        skill=_SHARED_SKILL,
    ),
    Client(
        "opencode",
        "opencode",
        "{xdg}/opencode/opencode.json",
        key="mcp",
        says=(("type", "local"), ("enabled", True)),
        in_folder="opencode.json",
        whole=True,
        env="environment",
        skill="{xdg}/opencode/skills/dowse/SKILL.md",
    ),
    Client(
        "cline",
        "Cline",
        "~/.cline/data/settings/cline_mcp_settings.json",
        older="{apps}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        skill="~/.cline/skills/dowse/SKILL.md",
    ),
    Client(
        "continue",
        "Continue",
        "~/.continue/mcpServers/dowse.json",
        skill="~/.continue/rules/dowse.md",
    ),
    Client(
        "goose",
        "Goose",
        "{xdg}/goose/config.yaml",
        on_windows="{apps}/Block/goose/config/config.yaml",
        key="extensions",
        says=(
            ("name", NAME),
            ("description", "Searches your notes and documents."),
            ("type", "stdio"),
            ("enabled", True),
            ("timeout", 300),
        ),
        form="yaml",
        command="cmd",
        env="envs",
        skill=_SHARED_SKILL,
    ),
    Client(
        "jetbrains",
        "JetBrains Junie",
        "~/.junie/mcp/mcp.json",
        in_folder=".junie/mcp/mcp.json",
        skill="~/.junie/skills/dowse/SKILL.md",
    ),
    Client("windsurf", "Windsurf", "~/.codeium/windsurf/mcp_config.json"),
    Client("devin", "Devin Desktop", "{config}/devin/mcp_config.json"),
    Client(
        "gemini-cli",
        "Gemini CLI",
        "~/.gemini/settings.json",
        skill="~/.gemini/skills/dowse/SKILL.md",
    ),
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
        raise NotFound(
            "The program dowse is on no path.", f"Install it with: pip install {DISTRIBUTION}"
        )
    return [str(Path(found).absolute()), "mcp", *(["-p", project] if project else [])]


def _configurations() -> Path:
    """Where programs keep settings that people edit."""
    return Path.home() / ".config" if sys.platform == "darwin" else _applications()


def _xdg() -> Path:
    """Where programs keep settings that follow the XDG rule on every system."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")


def _applications() -> Path:
    """Where programs of the desktop keep settings."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    return _xdg()
