"""One value in a TOML file is changed, and all else in it stays as it is."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dowse._util.decoding import UNREADABLE, why_unreadable
from dowse._util.files import update_file
from dowse.errors import BadSettings

if TYPE_CHECKING:
    from tomlkit import TOMLDocument


def update_toml(path: Path, name: str, value: object | None) -> None:
    """Sets one value in a TOML file, or removes it, leaving all else as it is.

    Concurrent changes wait for each other; each survives a power cut once it is made.
    """
    change_toml(path, name, lambda _: value)


def change_toml(path: Path, name: str, change: Callable[[Any], object | None]) -> None:
    """Sets one value in a TOML file to what `change` makes of it; None stands for no value."""
    try:
        update_file(path, lambda before: _with_value(before or b"", name, change))
    except ValueError as error:
        raise BadSettings(f"{path} cannot be read: {error}.", "Fix or remove it.") from error
    except OSError as error:
        raise BadSettings(
            f"{path} cannot be changed: {error}.", "Check its permissions, and the disk."
        ) from error


def _with_value(data: bytes, name: str, change: Callable[[Any], object | None]) -> bytes:
    """The file with a value set; raises `ValueError` when it is not fit for that."""
    import tomlkit  # noqa: PLC0415  only changes need it: tomllib reads, and starts faster

    section, _, option = name.partition(".")
    try:
        document = _parsed(data.decode("utf-8"))
        table = document.setdefault(section, tomlkit.table())
        if not isinstance(table, MutableMapping):
            raise ValueError(f"{section} is no table")
    except UNREADABLE as error:
        raise ValueError(why_unreadable(error)) from error
    value = change(table.get(option))
    if value is None:
        table.pop(option, None)
    else:
        table[option] = value
    return tomlkit.dumps(document).encode("utf-8")


def _parsed(written: str) -> TOMLDocument:
    import tomlkit  # noqa: PLC0415  as above
    from tomlkit.exceptions import TOMLKitError  # noqa: PLC0415

    try:
        return tomlkit.parse(written)
    except TOMLKitError as error:  # not all of them are a ValueError
        raise ValueError(str(error)) from error
