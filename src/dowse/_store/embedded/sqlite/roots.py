"""Which folders an index was made of, for a project whose own file is lost."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

ROOTS = "roots"
"""The row of the table `meta` that lists them, as JSON."""


def noted_roots(database: Path) -> list[str]:
    """What a database knows of the roots of its index; nothing when it cannot be read.

    The replicas are left alone: opening them needs settings, which are lost with the file.
    """
    try:
        if not database.is_file():
            return []
        with closing(sqlite3.connect(database, timeout=5)) as connection:
            row = connection.execute("SELECT value FROM meta WHERE name = ?", (ROOTS,)).fetchone()
            return decoded(row[0] if row else None)
    except (sqlite3.Error, OSError):  # or the folder cannot be entered
        return []


def decoded(value: str | None) -> list[str]:
    """The roots in a row; nothing when it holds anything else."""
    try:
        found = json.loads(value or "[]")
    except ValueError:
        return []
    fits = isinstance(found, list) and all(isinstance(root, str) for root in found)
    return found if fits else []
