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
from typing import Annotated
from urllib.parse import quote

from dowse._util.bounds import ALWAYS, NAME, Options
from dowse.errors import UsageError

_GOTO = ("--goto", "{path}:{line}")
_PLUS = ("+{line}", "{path}")
_COLON = ("{path}:{line}",)
_LINE = ("--line", "{line}", "{path}")
_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("code", "code-insiders", "codium", "cursor", "windsurf", "positron"), _GOTO),
    **dict.fromkeys(("vi", "vim", "nvim", "gvim", "view", "nano", "emacs", "emacsclient"), _PLUS),
    **dict.fromkeys(("kak", "micro", "gedit", "mcedit", "joe", "ne"), _PLUS),
    **dict.fromkeys(("subl", "zed", "zeditor", "hx", "helix", "lapce"), _COLON),
    **dict.fromkeys(("idea", "pycharm", "webstorm", "goland", "rustrover", "kate"), _LINE),
}
_ADDRESSES = {"obsidian": "obsidian://open?path={path}"}
_FILE = "{scheme}://file{path}:{line}"
_IDEA = "{scheme}://open?file={path}&line={line}"
_LINKS: Mapping[str, str] = {
    **{name: _FILE.replace("{scheme}", name) for name in ("cursor", "windsurf", "positron", "zed")},
    "code": _FILE.replace("{scheme}", "vscode"),
    "code-insiders": _FILE.replace("{scheme}", "vscode-insiders"),
    "codium": _FILE.replace("{scheme}", "vscodium"),
    **{name: _IDEA.replace("{scheme}", name) for name in ("idea", "pycharm", "webstorm", "goland")},
    **_ADDRESSES,
}
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish", "cmd", "powershell", "pwsh"})
_SCRIPT_FOLLOWS = frozenset({"-c", "-lc", "-ic", "-lic", "-ilc", "/c", "/k", "-command"})
_CODE = re.compile(r"""[\s'"`$;&|<>(){}*?!]""")
_OPENERS = {"darwin": "open", "win32": "explorer"}
_SET_ONE = "Set one with: dowse config set open.editor code"

KNOWN = tuple(sorted({*_ARGUMENTS, *_ADDRESSES}))
"""Editors that can be named without a template."""


class OpenOptions(Options, frozen=True):
    """What `dowse open` opens files with."""

    editor: Annotated[
        str,
        NAME,
        ALWAYS,
        "The editor: its command, such as code, cursor, vim or obsidian, or a template with {path} "
        "and {line}. No shell reads it: {path} is an argument, never a part of a script. "
        "Empty: $VISUAL or $EDITOR.",
    ] = ""


def open_command(
    path: Path, line: int, editor: str = "", environment: Mapping[str, str] = os.environ
) -> list[str]:
    """Return the command that opens a file at a line; its program need not be installed."""
    chosen = editor or environment.get("VISUAL") or environment.get("EDITOR") or ""
    if not chosen.strip():
        return [_opener(), str(path)]
    chosen = _ADDRESSES.get(chosen.strip(), chosen)
    if "://" in chosen.split("{", 1)[0]:
        return [_opener(), _filled(chosen, quote(str(path), safe=""), line)]
    command = _split(chosen)
    if "{path}" in chosen:
        _check_no_script(command)
        return [_filled(part, str(path), line) for part in command]
    own = _ARGUMENTS.get(Path(command[0]).stem.lower(), ("{path}",))
    return [*command, *(_filled(part, str(path), line) for part in own)]


def editor_address(
    path: PurePath, editor: str = "", environment: Mapping[str, str] = os.environ
) -> str:
    """Return the address with which a browser opens a file in the editor, `{line}` for the line.

    Empty when the editor, such as one in a terminal, has none. Where none is set, it is the first
    installed editor that has one.
    """
    chosen = (editor or environment.get("VISUAL") or environment.get("EDITOR") or "").strip()
    if "://" in chosen:
        template = chosen
    elif chosen:
        template = _LINKS.get(Path(_split(chosen)[0]).stem.lower(), "")
    else:
        template = next((link for name, link in _LINKS.items() if shutil.which(name)), "")
    if "://file" not in template:
        return template.replace("{path}", quote(str(path), safe=""))
    return template.replace("{path}", path.as_uri().removeprefix("file://"))


def obsidian_address(path: Path) -> str:
    """Return the address that opens a file in Obsidian; empty when it is in no vault."""
    in_vault = any((folder / ".obsidian").is_dir() for folder in path.parents)
    return _ADDRESSES["obsidian"].replace("{path}", quote(str(path), safe="")) if in_vault else ""


def viewer_command(path: Path) -> list[str]:
    """Return the command that shows a file which no editor can show, such as a PDF."""
    return [_opener(), str(path)]


def _check_no_script(command: list[str]) -> None:
    """Raise `UsageError` when a program would read the path as a part of a script.

    The names of files are anybody's: in a script, `$(touch x).md` is a command.
    """
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


def _filled(template: str, path: str, line: int) -> str:
    return template.replace("{line}", str(line)).replace("{path}", path)


def _split(command: str) -> list[str]:
    words = shlex.shlex(command, posix=True)
    words.whitespace_split, words.commenters = True, ""
    if sys.platform == "win32":
        words.escape = ""  # a part of paths such as C:\Tools\code.exe
    try:
        parts = list(words)
    except ValueError as error:
        raise UsageError(f"The editor {command!r} cannot be read: {error}.", _SET_ONE) from error
    if not parts:
        raise UsageError("The editor is empty.", _SET_ONE)
    return parts


def _opener() -> str:
    """Return the program of the system that opens files with what belongs to them."""
    return _OPENERS.get(sys.platform, "xdg-open")
