"""Where dowse keeps its own files, which of them are private, and whether they are.

None is among the user's documents. The index, the settings, the consents and the socket are for the
user alone. Model weights are public, so a cache folder that exists keeps its rights: several users
may share one. The copies of collections in it are private all the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import platformdirs
from msgspec import Struct

from dowse._util.files import close_tree, open_paths


class Locations(Struct, frozen=True):
    """The three folders of a user's dowse."""

    config: Path  # settings that the user has chosen
    data: Path  # projects and their indexes
    cache: Path  # model weights: whatever can be fetched again

    @property
    def settings_file(self) -> Path:
        """The user's own settings."""
        return self.config / "config.toml"

    @property
    def trust_file(self) -> Path:
        """Which checked-in settings the user has agreed to."""
        return self.config / "trusted.json"

    @property
    def projects(self) -> Path:
        """One folder per project."""
        return self.data / "projects"

    @property
    def evaluations(self) -> Path:
        """Copies of collections, each with an index."""
        return self.cache / "evaluations"


def locations() -> Locations:
    """Return the folders that DOWSE_*_DIR name, otherwise those of the XDG base directories."""
    return Locations(
        config=_folder("DOWSE_CONFIG_DIR", platformdirs.user_config_dir("dowse")),
        data=_folder("DOWSE_DATA_DIR", platformdirs.user_data_dir("dowse")),
        cache=_folder("DOWSE_CACHE_DIR", platformdirs.user_cache_dir("dowse")),
    )


def _folder(variable: str, default: str) -> Path:
    return Path(os.environ.get(variable) or default).expanduser().absolute()


def short_path(path: str | Path) -> str:
    """Write a path with ~ for the user's own folder."""
    try:
        below = Path(path).relative_to(Path.home()).as_posix()
        return "~" if below == "." else f"~/{below}"
    except (ValueError, RuntimeError):
        return str(path)


# ── Privacy ──────────────────────────────────────────────────────────────────


_HAS_RIGHTS = os.name == "posix"  # elsewhere, a user's own folders are private by their place
_NAMES = ("config.toml", "trusted.json", "projects", "serve.sock", "import-", "trash-")


def secure(where: Locations) -> None:
    """Close to others what an older version, or the user, has left open."""
    for tree in _private(where) if _HAS_RIGHTS else ():
        close_tree(tree)


def open_to_others(where: Locations) -> list[Path]:
    """List what other users of the machine can reach of what should be private."""
    trees = _private(where) if _HAS_RIGHTS else ()
    return [path for tree in trees if _is_reachable(tree) for path in open_paths(tree)]


def _private(where: Locations) -> Iterator[Path]:
    """List the folders that are dowse's alone; of one that is shared, what is dowse's in it."""
    for folder in (where.config, where.data):
        content = list(folder.iterdir()) if folder.is_dir() else []
        own = [path for path in content if path.name.lstrip(".").startswith(_NAMES)]
        yield from [folder] if own == content else own
    yield where.evaluations


def _is_reachable(path: Path) -> bool:
    """Tell whether others may enter every folder above."""
    return all(folder.stat().st_mode & 0o011 for folder in path.parents if folder.exists())
