"""Entering dowse into a client's configuration without losing anything that is in it."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from shlex import quote

from msgspec import Struct

from dowse._interfaces.mcp.clients import FOLDERS, NAME, OWN, Client
from dowse._interfaces.mcp.configurations import Object, parsed, put
from dowse._util.files import PRIVATE_FILE, make_private_folder, replace_file
from dowse.errors import Refused


class Change(Struct, frozen=True):
    """What a configuration would become."""

    path: Path
    before: str | None  # None when there is no file yet
    after: str

    @property
    def needed(self) -> bool:
        """Whether anything would change."""
        return self.before != self.after


def plan(path: Path, client: Client, entry: Object) -> Change:
    """The configuration with dowse in it; raises `Refused` when that could lose something."""
    before = _read(path)
    try:
        after = _after(before or "", client, entry)
    except (ValueError, RecursionError) as error:
        why = f"it is not plain {client.form.upper()}, or could lose something"
        raise _refused(path, f"{why}: {error}") from error
    return Change(path, before, after.replace("\n", "\r\n") if "\r\n" in (before or "") else after)


def plan_text(path: Path, text: str) -> Change:
    """A file that becomes a text."""
    return Change(path, _read(path), text)


def _after(text: str, client: Client, entry: Object) -> str:
    whole = parsed(text, client.form)
    servers = whole.get(client.key)
    servers = {} if servers is None else servers
    if not isinstance(servers, dict):
        raise ValueError(f'"{client.key}" in it is not an object')
    known = servers.get(NAME)
    wanted = _with_choices(entry, known, client.env) if isinstance(known, dict) else entry
    if text and known == wanted:
        return text.replace("\r\n", "\n")
    whole[client.key] = servers | {NAME: wanted}
    return put(text.replace("\r\n", "\n"), whole, (client.key, NAME), client.form)


def _with_choices(entry: Object, known: Object, env: str) -> Object:
    """The entry with what the user or the client has added to what dowse writes."""
    kept = {name: value for name, value in known.items() if name not in {*OWN, env}}
    merged = kept | {name: one for name, one in entry.items() if name not in kept}
    others = known.get(env)
    if not isinstance(others, dict):
        return merged
    variables = {name: value for name, value in others.items() if name not in FOLDERS}
    variables |= entry.get(env, {})
    return merged | ({env: variables} if variables else {})


def write(change: Change, command: str) -> Path | None:
    """Puts the new file into the place of the old one at once; gives the copy of the old one.

    Raises `Refused` when a link leads it elsewhere: `command` and a path write to that path.
    """
    path = change.path
    _check_no_link(path, command)
    make_private_folder(path.parent)
    backup, mode = None, PRIVATE_FILE
    if change.before is not None:
        if _read(path) != change.before:
            raise Refused(f"{path} has changed meanwhile.", "Try again.")
        backup = _free(path.with_name(f"{path.name}.before-dowse"))
        mode = stat.S_IMODE(path.stat().st_mode)
        replace_file(backup, path.read_bytes(), mode=mode)
    replace_file(path, change.after.encode("utf-8"), mode=mode)
    return backup


def _check_no_link(path: Path, command: str) -> None:
    """Raises `Refused` when the file, or a folder on the way to it, is a link.

    A cloned folder can have links to any file of the user's. The way begins at the home or at the
    current folder: links above these are the system's.
    """
    bases = [base for base in (Path.home(), Path.cwd()) if path.is_relative_to(base)]
    base = max(bases, key=lambda one: len(one.parts), default=path.parent)
    real = os.path.realpath(path)
    if real != str(Path(os.path.realpath(base), path.relative_to(base))):
        raise Refused(
            f"{path} leads to {real} by a symbolic link. dowse does not write through links.",
            f"If that file is yours, write to it with: {command} {quote(real)}",
        )


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise _refused(path, f"it cannot be read: {error}") from error


def _refused(path: Path, why: str) -> Refused:
    return Refused(
        f"{path} is left as it is: {why}.",
        "Put the entry into it by hand.",
    )


def _free(path: Path) -> Path:
    """A path where nothing is yet, so that the oldest copy is kept too."""
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free
