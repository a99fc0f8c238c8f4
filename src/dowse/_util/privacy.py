"""What is nobody else's business: which of dowse's files must be private, and whether they are.

The index, the settings, the consents and the socket are for the user alone. Model weights are
public, so a cache folder that exists keeps its rights: several users may share one. The copies of
collections in it are private all the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from dowse._util.files import close_tree, open_paths
from dowse._util.locations import Locations

_HAS_RIGHTS = os.name == "posix"  # elsewhere, a user's own folders are private by their place
_NAMES = ("config.toml", "trusted.json", "projects", "serve.sock", "import-", "trash-")


def secure(where: Locations) -> None:
    """Closes to others what an older version, or the user, has left open."""
    for tree in _private(where) if _HAS_RIGHTS else ():
        close_tree(tree)


def open_to_others(where: Locations) -> list[Path]:
    """What other users of the machine can reach of what should be private."""
    trees = _private(where) if _HAS_RIGHTS else ()
    return [path for tree in trees if _is_reachable(tree) for path in open_paths(tree)]


def _private(where: Locations) -> Iterator[Path]:
    """The folders that are dowse's alone; of one that the user also uses, what is dowse's in it."""
    for folder in (where.config, where.data):
        content = list(folder.iterdir()) if folder.is_dir() else []
        own = [path for path in content if path.name.lstrip(".").startswith(_NAMES)]
        yield from [folder] if own == content else own
    yield where.evaluations


def _is_reachable(path: Path) -> bool:
    """Whether others may enter every folder above."""
    return all(folder.stat().st_mode & 0o011 for folder in path.parents if folder.exists())
