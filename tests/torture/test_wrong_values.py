"""Values of another kind in a column of the database are damage that doctor finds and repairs."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from dowse._project.archive.archive import export_project
from dowse._project.engine import Engine
from dowse._project.workspace import Given, Workspace
from dowse._search.request import Filters, SearchRequest
from dowse._util.files import Locations
from dowse.errors import Damaged, DowseError, NotFound, StampMismatch
from dowse.testing import HashEmbedder
from front.conftest import NOTES

_WRONG = {
    "text": "'twelve'",
    "nothing": "NULL",
    "bytes": "x'0102FF'",
    "a fraction": "1e300",
    "broken JSON": "'{\"a\": ['",
}
_LEFT_ALONE = {"journal", "link_names", "names"}  # only writers read them


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A project whose index is whole, and a copy of it."""
    home = tmp_path_factory.mktemp("wrong")
    for name, text in NOTES.items():
        path = home / "notes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    where = Locations(home / "config", home / "data", home / "cache")
    workspace = Workspace(where, given=Given(HashEmbedder()))
    workspace.change_setting("vocabulary.size", "50", None)
    project = workspace.projects.add([home / "notes"], "notes")
    with workspace.open(project) as engine:
        engine.index()
    shutil.copytree(project.folder, home / "whole")
    return workspace


def _restore(workspace: Workspace) -> Path:
    """Puts the whole index back, and gives its database."""
    folder = workspace.projects.get("notes").folder
    shutil.rmtree(folder)
    shutil.copytree(folder.parents[2] / "whole", folder)
    return folder / "index/index.db"


def _columns(database: Path) -> list[tuple[str, str]]:
    """Every column that a reader reads, but keys, which SQLite itself keeps to be numbers."""
    with closing(sqlite3.connect(database)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        names = {name for (name,) in tables if not name.startswith("sqlite")} - _LEFT_ALONE
        return [
            (table, column)
            for table in sorted(names)
            for _, column, kind, _, _, key in connection.execute(f"PRAGMA table_info({table})")
            if not (key and kind == "INTEGER")
        ]


def _harm(database: Path, table: str, column: str, value: str) -> None:
    """Writes a value that SQLite would refuse, as a flipped bit can."""
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        defined = "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL"
        before = connection.execute(defined).fetchall()
        lax = "UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '')"
        connection.execute(f"{lax} WHERE name = ?", [table])
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        change = f'UPDATE OR IGNORE "{table}" SET "{column}" = {value}'  # noqa: S608  our own names
        connection.execute(change)
        connection.execute("PRAGMA writable_schema = ON")
        connection.executemany(
            "UPDATE sqlite_schema SET sql = ? WHERE name = ?", [(sql, name) for name, sql in before]
        )


def _readers(workspace: Workspace, engine: Engine) -> dict[str, Callable[[], Any]]:
    """Everything that reads an index."""
    chosen = Filters(tag=("database",), language=("bash",), path=("guides/",), after="2020-01-01")
    every = {"expand.enabled": True, "community.enabled": True, "recency.bias": 0.5}
    aside = engine.project.folder.parents[2] / "out.dowse"
    return {
        "search": lambda: engine.search(SearchRequest("restore the databse", changes=every)),
        "filtered": lambda: engine.search(SearchRequest("restore", filters=chosen)),
        "name": lambda: engine.search(SearchRequest("Restore a backup")),
        "parents": lambda: engine.search(
            SearchRequest("barometer", changes={"parents.enabled": True})
        ),
        "answer": lambda: engine.answer(SearchRequest("how is a backup restored")),
        "get": lambda: [engine.get(one) for one in ("guides/restore.md", "long.md#part-3")],
        "abbreviated": lambda: engine.get("0" * 8),
        "related": lambda: engine.related("guides/restore.md"),
        "graph": engine.graph,
        "links": lambda: engine.links("guides/restore.md"),
        "documents": engine.documents,
        "status": engine.status,
        "export": lambda: export_project(workspace, engine.project, aside, overwrite=True),
    }


def _complaints(workspace: Workspace) -> dict[str, Exception]:
    """What each reader raises, but that something is not found: an id may be the wrong value."""
    raised: dict[str, Exception] = {}
    with workspace.open(workspace.projects.get("notes")) as engine:
        for name, read in _readers(workspace, engine).items():
            try:
                read()
            except NotFound:
                continue
            except Exception as error:  # noqa: BLE001  the test compares them
                raised[name] = error
    return raised


@pytest.mark.takes(40)
def test_a_wrong_value_is_damage_that_doctor_finds_and_a_rebuild_repairs(
    workspace: Workspace,
    rounds: Callable[[int, int], int],
    tally: Callable[[str, object], None],
) -> None:
    wrong, tried = cycle(_WRONG.items()), 0
    failed: dict[tuple[str, str, str], object] = {}
    for table, column in _columns(_restore(workspace)):
        for _ in range(rounds(1, len(_WRONG))):
            kind, value = next(wrong)
            _harm(_restore(workspace), table, column, value)
            said = _complaints(workspace)
            tried += 1
            with workspace.open(workspace.projects.get("notes")) as engine:
                unseen = said and not engine.check()
            if unseen or [one for one in said.values() if not isinstance(one, DowseError)]:
                failed[kind, table, column] = said
    tally("values of another kind in the database", tried)
    assert failed == {}


@pytest.mark.parametrize("column", ["documents.size", "chunks.start", "links.line", "meta.value"])
def test_the_rebuild_that_doctor_names_repairs_a_wrong_value(
    workspace: Workspace, column: str
) -> None:
    table, _, name = column.partition(".")
    _harm(_restore(workspace), table, name, "'twelve'")
    assert {type(one) for one in _complaints(workspace).values()} <= {Damaged, StampMismatch}
    with workspace.open(workspace.projects.get("notes")) as engine:
        assert {finding.repair for finding in engine.check()} == {"dowse index --rebuild"}
        engine.index(rebuild=True)
        assert engine.check() == []
    assert _complaints(workspace) == {}
