"""Where dowse keeps its own files: never among the user's documents."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs
from msgspec import Struct


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
    """The folders that DOWSE_*_DIR name, else those of the XDG base directories."""
    return Locations(
        config=_folder("DOWSE_CONFIG_DIR", platformdirs.user_config_dir("dowse")),
        data=_folder("DOWSE_DATA_DIR", platformdirs.user_data_dir("dowse")),
        cache=_folder("DOWSE_CACHE_DIR", platformdirs.user_cache_dir("dowse")),
    )


def _folder(variable: str, default: str) -> Path:
    return Path(os.environ.get(variable) or default).expanduser().absolute()


def short_path(path: str | Path) -> str:
    """A path with ~ for the user's own folder."""
    try:
        below = Path(path).relative_to(Path.home()).as_posix()
        return "~" if below == "." else f"~/{below}"
    except (ValueError, RuntimeError):
        return str(path)
