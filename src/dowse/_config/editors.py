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

_GOTO = ("--goto", "{path}:{line}")
_PLUS = ("+{line}", "{path}")
_COLON = ("{path}:{line}",)
_LINE = ("--line", "{line}", "{path}")
_FILE = "{editor}://file{path}:{line}"
_OBSIDIAN = "obsidian://open?path={path}"

# The arguments after the command of an editor, and the address that a browser opens it with. The
# page takes the first one that is installed.
_EDITORS: Mapping[str, tuple[tuple[str, ...], str]] = {
    **dict.fromkeys(("cursor", "windsurf", "positron"), (_GOTO, _FILE)),
    "zed": (_COLON, _FILE),
    "code": (_GOTO, "vscode://file{path}:{line}"),
    "code-insiders": (_GOTO, "vscode-insiders://file{path}:{line}"),
    "codium": (_GOTO, "vscodium://file{path}:{line}"),
    **dict.fromkeys(
        ("idea", "pycharm", "webstorm", "goland"),
        (_LINE, "{editor}://open?file={path}&line={line}"),
    ),
    "obsidian": (("{path}",), _OBSIDIAN),
    **dict.fromkeys(("rustrover", "kate"), (_LINE, "")),
    **dict.fromkeys(("subl", "zeditor", "hx", "helix", "lapce"), (_COLON, "")),
    **dict.fromkeys(("vi", "vim", "nvim", "gvim", "view", "nano"), (_PLUS, "")),
    **dict.fromkeys(("emacs", "emacsclient", "kak", "micro"), (_PLUS, "")),
    **dict.fromkeys(("gedit", "mcedit", "joe", "ne"), (_PLUS, "")),
}
_ANY_OTHER = (("{path}",), "")
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
        arguments, _ = _EDITORS.get(Path(command[0]).stem.lower(), _ANY_OTHER)
        return [*command, *(_filled(part, str(path), line) for part in arguments)]
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
        installed = (name for name, (_, link) in _EDITORS.items() if link and shutil.which(name))
        name = Path(_split(chosen)[0]).stem.lower() if chosen else next(installed, "")
        template = _EDITORS.get(name, _ANY_OTHER)[1].replace("{editor}", name)
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
    words = shlex.shlex(command, posix=True)
    words.whitespace_split = True
    words.commenters = ""
    if sys.platform == "win32":
        words.escape = ""  # a part of paths such as C:\Tools\code.exe
    try:
        return list(words)
    except ValueError as error:
        raise UsageError(
            f"The editor {command!r} cannot be read: {error}.",
            "Set one with: dowse config set open.editor code",
        ) from error
