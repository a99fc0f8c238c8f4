"""Entering dowse into a client's configuration without losing anything that is in it."""

from __future__ import annotations

import json
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dowse.errors import Refused
from dowse.files import PRIVATE_FILE, make_private_folder, replace_file
from dowse.front.mcp.clients import FOLDERS, NAME, OWN

_INDENT = re.compile(r"^\{\s*?\n(?P<indent>[ \t]+)\"")


@dataclass(frozen=True, slots=True)
class Change:
    """What a configuration would become."""

    path: Path
    before: str | None  # None when there is no file yet
    after: str

    @property
    def needed(self) -> bool:
        """Whether anything would change."""
        return self.before != self.after


def plan(path: Path, key: str, entry: dict[str, Any]) -> Change:
    """The configuration with dowse in it; raises `Refused` when that could lose something."""
    path = Path(os.path.realpath(path))
    before = _read(path)
    whole = _parse(before, path) if before and before.strip() else {}
    servers = whole.get(key, {})
    if not isinstance(servers, dict):
        raise _refused(path, f'"{key}" in it is not an object')
    known = servers.get(NAME)
    wanted = _with_choices(entry, known) if isinstance(known, dict) else entry
    if before is not None and known == wanted:
        return Change(path, before, before)
    whole[key] = servers | {NAME: wanted}
    indent = _INDENT.match(before or "")
    after = json.dumps(whole, indent=indent["indent"] if indent else 2, ensure_ascii=False) + "\n"
    return Change(path, before, after.replace("\n", "\r\n") if "\r\n" in (before or "") else after)


def _with_choices(entry: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """The entry with what the user or the client has added to what dowse writes."""
    merged = {name: value for name, value in known.items() if name not in OWN} | entry
    others = known.get("env")
    if not isinstance(others, dict):
        return merged
    env = {name: value for name, value in others.items() if name not in FOLDERS}
    env |= entry.get("env", {})
    return merged | ({"env": env} if env else {})


def write(change: Change) -> Path | None:
    """Puts the new file into the place of the old one at once; gives the copy of the old one."""
    path = change.path
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


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise _refused(path, f"it cannot be read: {error}") from error


def _parse(text: str, path: Path) -> dict[str, Any]:
    try:
        whole = json.loads(text, object_pairs_hook=_once, parse_float=_exact)
        json.dumps(whole, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        why = "it is not plain JSON, or has comments"
        raise _refused(path, f"{why}: {error}") from error
    if not isinstance(whole, dict):
        raise _refused(path, "it is not a JSON object")
    return whole


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands in it twice")
    return found


def _exact(text: str) -> float:
    number = float(text)
    if json.dumps(number) != text:
        raise ValueError(f"{text} would not be written as it is")
    return number


def _refused(path: Path, why: str) -> Refused:
    return Refused(
        f"{path} is left as it is: {why}.",
        "Put the entry into it by hand: the command without --write prints it.",
    )


def _free(path: Path) -> Path:
    """A path where nothing is yet, so that the oldest copy is kept too."""
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free
