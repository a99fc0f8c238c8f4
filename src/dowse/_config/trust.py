"""A dowse.toml among the documents: useful, but not to be trusted blindly.

People who can change the documents can change it. It may say what is read inside its own folder and
how it is cut and ranked. What would read more than the user's own settings do, load other models
or send text away waits for the user's consent, which covers the file as it is and ends when it
changes. Which settings that concerns is declared with each of them, see `dowse._util.bounds`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from dowse._config.schema import (
    Layer,
    check_value,
    combine,
    find_setting,
    layer_of,
    read_toml,
)
from dowse._util.bounds import ALWAYS, FOR_FILES, consent
from dowse._util.files import UNREADABLE, read_small, shown, update_file
from dowse._util.messages import hide_secrets
from dowse.errors import BadSettings


class _ProjectTable(Struct, frozen=True, forbid_unknown_fields=True):
    """What the table [project] of a dowse.toml can say."""

    name: str | None = None
    description: str = ""
    roots: Annotated[
        tuple[Annotated[str, Meta(max_length=4096, pattern=r"\A[^\x00]*\Z")], ...],
        Meta(max_length=1000),
    ] = (".",)


class LocalFile(Struct, frozen=True):
    """What a dowse.toml asks for, and what of that is withheld."""

    path: Path
    name: str | None  # of the project
    roots: tuple[Path, ...]  # absolute, below its own folder; that folder when it names none
    outside: tuple[Path, ...]  # further roots, outside its folder or ignored, with consent to them
    layer: Layer
    withheld: tuple[str, ...]  # what waits for the user's consent, for people
    narrows: tuple[str, ...]  # settings that hold only as far as they let fewer files in
    digest: str  # what consent is given to: its bytes, its owner, and where links in it lead
    strange: str = ""  # why nothing of it holds without consent, for people


def read_local(
    path: Path, trust: Trust, present: Mapping[str, Any] = MappingProxyType({})
) -> LocalFile:
    """Read a dowse.toml, without what the user has not agreed to.

    `present` are the user's own settings for all projects, which the file may not widen.
    """
    data, tables = read_toml(path)
    layer = layer_of(path, tables, ignored=("project",))
    try:
        table = msgspec.convert(tables.get("project", {}), _ProjectTable)
    except msgspec.ValidationError as error:
        raise BadSettings(
            f"{path}: the table [project] does not fit.",
            'It takes name = "…", description = "…" and roots = ["…"].',
        ) from error
    home = Path(os.path.realpath(path.parent))
    roots = [Path(os.path.realpath(home / root)) for root in table.roots]
    outside = [root for root in roots if not root.is_relative_to(home)]
    strange = _why_strange(path)
    # A link can lead elsewhere while the file does not change.
    leads_to = "\0".join([*map(str, outside), *filter(None, [strange])])
    digest = sha256(data + b"\0" + leads_to.encode("utf-8", "surrogateescape")).hexdigest()
    outside += _left_out(home, [root for root in roots if root not in {home, *outside}], present)
    inside = tuple(root for root in roots if root not in outside) or (home,)
    if trust.covers(path, digest):
        return LocalFile(path, table.name, inside, tuple(outside), layer, (), (), digest)
    wishes = {
        name: f"set {name} = {hide_secrets(shown(value))}" for name, value in layer.values.items()
    }
    if strange:
        named = [f"name the project {shown(table.name)}"] if table.name is not None else []
        withheld = (*named, *(f"read {root}" for root in roots if root != home), *wishes.values())
        return LocalFile(
            path, None, (home,), (), Layer(layer.origin, {}), withheld, (), digest, strange
        )
    sensitive = [name for name in wishes if _is_sensitive(layer, name, present)]
    withheld = (*(f"read {root}" for root in outside), *(wishes[name] for name in sensitive))
    narrows = tuple(wishes[n] for n in wishes if consent(find_setting(n).declared) is FOR_FILES)
    allowed = Layer(layer.origin, {n: v for n, v in layer.values.items() if n not in sensitive})
    return LocalFile(path, table.name, inside, (), allowed, withheld, narrows, digest)


def _why_strange(path: Path) -> str:
    """Say why somebody else than the owner of the documents may have written the file."""
    if path.is_symlink():
        return f"it is a link to {os.path.realpath(path)}"
    owner = path.stat().st_uid
    is_own = sys.platform == "win32" or owner == os.geteuid()
    return "" if is_own else f"it belongs to another user (uid {owner})"


def _left_out(home: Path, roots: list[Path], present: Mapping[str, Any]) -> list[Path]:
    """Return the roots that the user's own settings leave out of the folder of the file."""
    if not roots:
        return []
    from dowse._index.source.rules import Gate  # noqa: PLC0415  few files name roots

    gate = Gate(str(home), combine([Layer("config.toml", present)])[0].read)
    return [
        root
        for root in roots
        if not gate.reaches(root.relative_to(home).as_posix(), is_folder=not root.is_file())
    ]


def _is_sensitive(layer: Layer, name: str, present: Mapping[str, Any]) -> bool:
    """Tell whether a value waits for consent, as the declaration of the setting says."""
    setting = find_setting(name, f"{layer.origin}: ")
    rule = consent(setting.declared)
    if rule is None or rule is ALWAYS:
        return rule is not None
    value = check_value(name, layer.values[name], layer.origin)
    return rule.needed(value, check_value(name, present.get(name, setting.default), "config.toml"))


class Trust:
    """Which dowse.toml files, as they are, the user has agreed to."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def covers(self, path: Path, digest: str) -> bool:
        """Tell whether the user has agreed to this file with this digest."""
        try:
            return _consents(read_small(self._file)).get(_key(path)) == digest
        except OSError:
            return False

    def grant(self, path: Path, digest: str | None) -> None:
        """Note the user's consent to this file for as long as it has this digest; None: none."""

        def changed(before: bytes | None) -> bytes:
            known = _consents(before or b"") | {_key(path): digest}
            left = {name: value for name, value in known.items() if value is not None}
            return json.dumps(left, indent=1, sort_keys=True).encode()

        update_file(self._file, changed)

    def revoke(self, path: Path) -> None:
        """Take the consent back."""
        self.grant(path, None)


def _key(path: Path) -> str:
    """Return where a file is; a file that is a link is another one than what it leads to."""
    return str(Path(os.path.realpath(path.parent), path.name))


def _consents(data: bytes) -> dict[str, str | None]:
    try:
        known = json.loads(data)
    except UNREADABLE:
        return {}
    return known if isinstance(known, dict) else {}
