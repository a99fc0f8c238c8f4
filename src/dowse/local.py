"""A dowse.toml that lies with the documents: useful, but not to be trusted blindly.

Whoever can change the documents can change it. It may say what is read inside its own folder and
how it is cut and ranked. What would read elsewhere, load other models or send text away waits for
the user's consent, which covers the file as it is and ends when it changes.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dowse.errors import BadSettings
from dowse.settings import Layer, read_file

_NEEDS_CONSENT = "embed."  # which model reads the documents, and where it runs


@dataclass(frozen=True, slots=True)
class LocalFile:
    """What a dowse.toml asks for, and what of that is withheld."""

    path: Path
    name: str | None  # of the project
    roots: tuple[Path, ...]  # absolute, below its own folder; that folder when it names none
    outside: tuple[Path, ...]  # further roots, outside its folder, that the user has agreed to
    layer: Layer
    withheld: tuple[str, ...]  # what waits for the user's consent, for people


def read_local(path: Path, trust: Trust) -> LocalFile:
    """A dowse.toml, without what the user has not agreed to."""
    layer = read_file(path, ignored=("project",))
    table = _project_table(path)
    roots = [(path.parent / root).resolve() for root in table.get("roots", ["."])]
    outside = [root for root in roots if not root.is_relative_to(path.parent.resolve())]
    sensitive = {name: v for name, v in layer.values.items() if name.startswith(_NEEDS_CONSENT)}
    withheld = [f"read {root}" for root in outside]
    withheld += [f"set {name} = {value!r}" for name, value in sensitive.items()]
    inside = tuple(root for root in roots if root not in outside) or (path.parent.resolve(),)
    if trust.covers(path):
        return LocalFile(path, table.get("name"), inside, tuple(outside), layer, ())
    values = {name: value for name, value in layer.values.items() if name not in sensitive}
    allowed = Layer(layer.origin, values)
    return LocalFile(path, table.get("name"), inside, (), allowed, tuple(withheld))


def _project_table(path: Path) -> dict[str, Any]:
    table: Any = tomllib.loads(path.read_text("utf-8")).get("project", {})
    fits = isinstance(table, dict) and table.keys() <= {"name", "roots"}
    if fits and isinstance(table.get("name", ""), str):
        roots = table.get("roots", [])
        if isinstance(roots, list) and all(isinstance(root, str) for root in roots):
            return dict(table)
    raise BadSettings(
        f"{path}: the table [project] does not fit.", 'It takes name = "…" and roots = ["…"].'
    )


class Trust:
    """Which dowse.toml files, as they stand, the user has agreed to."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def covers(self, path: Path) -> bool:
        """Whether the user has agreed to this file as it is now."""
        return self._known().get(str(path.resolve())) == _digest(path)

    def grant(self, path: Path) -> None:
        """Notes the user's consent to this file as it is now."""
        self._save({**self._known(), str(path.resolve()): _digest(path)})

    def revoke(self, path: Path) -> None:
        """Takes the consent back."""
        known = self._known()
        known.pop(str(path.resolve()), None)
        self._save(known)

    def _known(self) -> dict[str, str]:
        try:
            known = json.loads(self._file.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}

    def _save(self, known: dict[str, str]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._file.with_suffix(".new")
        temporary.write_text(json.dumps(known, indent=1, sort_keys=True), "utf-8")
        temporary.replace(self._file)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
