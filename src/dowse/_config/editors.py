"""Open a file at a line in the editor that the user likes."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path, PurePath
from urllib.parse import quote

from dowse.errors import UsageError

# The arguments after the command of an editor; any other takes the path alone.
_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("cursor", "windsurf", "positron", "code", "code-insiders", "codium"),
        ("--goto", "{path}:{line}"),
    ),
    **dict.fromkeys(("zed", "zeditor", "subl", "hx", "helix", "lapce"), ("{path}:{line}",)),
    **dict.fromkeys(
        ("idea", "pycharm", "webstorm", "goland", "rustrover", "kate"),
        ("--line", "{line}", "{path}"),
    ),
    **dict.fromkeys(("vi", "vim", "nvim", "gvim", "view", "nano"), ("+{line}", "{path}")),
    **dict.fromkeys(("emacs", "emacsclient", "kak", "micro"), ("+{line}", "{path}")),
    **dict.fromkeys(("gedit", "mcedit", "joe", "ne"), ("+{line}", "{path}")),
}
_OBSIDIAN = "obsidian://open?path={path}"
# The addresses that a browser opens editors with. The page takes the first that is installed.
_ADDRESSES: Mapping[str, str] = {
    **{
        name: f"{name}://file{{path}}:{{line}}"
        for name in ("cursor", "windsurf", "positron", "zed")
    },
    "code": "vscode://file{path}:{line}",
    "code-insiders": "vscode-insiders://file{path}:{line}",
    "codium": "vscodium://file{path}:{line}",
    **{
        name: f"{name}://open?file={{path}}&line={{line}}"
        for name in ("idea", "pycharm", "webstorm", "goland")
    },
    "obsidian": _OBSIDIAN,
}
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish", "cmd", "powershell", "pwsh"})
_SCRIPT_FOLLOWS = frozenset({"-c", "-lc", "-ic", "-lic", "-ilc", "/c", "/k", "-command"})
_CODE = re.compile(r"""[\s'"`$;&|<>(){}*?!]""")


def open_command(
    path: Path, line: int, editor: str = "", environment: Mapping[str, str] = os.environ
) -> list[str]:
    """Return the command that opens a file at a line; its program need not be installed.

    Without an editor, the program of the system opens it.
    """
    chosen = _chosen(editor, environment)
    opener = {"darwin": "open", "win32": "explorer"}.get(sys.platform, "xdg-open")
    if not chosen:
        return [opener, str(path)]
    if chosen == "obsidian":
        chosen = _OBSIDIAN
    if "://" in chosen.split("{", 1)[0]:
        return [opener, _filled(chosen, quote(str(path), safe=""), line)]
    command = _split(chosen)
    if "{path}" not in chosen:
        command += _ARGUMENTS.get(Path(command[0]).stem.lower(), ("{path}",))
    # The names of files are anybody's: in a script, `$(touch x).md` is a command.
    has_shell = any(Path(part).stem.lower() in _SHELLS for part in command)
    for before, part in pairwise(["", *command]):
        is_script = has_shell and before.lower() in _SCRIPT_FOLLOWS
        if "{path}" in part and (is_script or _CODE.search(_filled(part, "", 1))):
            raise UsageError(
                f"The editor has {{path}} inside the script {part!r}: the name of a file could run "
                "commands.",
                "Make {path} an argument of its own: myeditor +{line} {path}. In a script, use "
                """its place: sh -c 'vim "$1"' sh {path}""",
            )
    return [_filled(part, str(path), line) for part in command]


def editor_address(
    path: PurePath, editor: str = "", environment: Mapping[str, str] = os.environ
) -> str:
    """Return the address with which a browser opens a file in the editor, `{line}` for the line.

    Empty when the editor, such as one in a terminal, has none. Where none is set, it is the first
    installed editor that has one.
    """
    template = chosen = _chosen(editor, environment)
    if "://" not in chosen:
        installed = (name for name in _ADDRESSES if shutil.which(name))
        name = Path(_split(chosen)[0]).stem.lower() if chosen else next(installed, "")
        template = _ADDRESSES.get(name, "")
    if "://file" not in template:
        return template.replace("{path}", quote(str(path), safe=""))
    return template.replace("{path}", path.as_uri().removeprefix("file://"))


def obsidian_address(path: Path) -> str:
    """Return the address that opens a file in Obsidian; empty when it is in no vault."""
    in_vault = any((folder / ".obsidian").is_dir() for folder in path.parents)
    return _OBSIDIAN.replace("{path}", quote(str(path), safe="")) if in_vault else ""


def _chosen(editor: str, environment: Mapping[str, str]) -> str:
    return (editor or environment.get("VISUAL") or environment.get("EDITOR") or "").strip()


def _filled(template: str, path: str, line: int) -> str:
    return template.replace("{line}", str(line)).replace("{path}", path)


def _split(command: str) -> list[str]:
    try:
        # On Windows, a backslash is a part of paths such as C:\Tools\code.exe.
        return shlex.split(command.replace("\\", r"\\") if sys.platform == "win32" else command)
    except ValueError as error:
        raise UsageError(
            f"The editor {command!r} cannot be read: {error}.",
            "Set one with: dowse config set open.editor code",
        ) from error
