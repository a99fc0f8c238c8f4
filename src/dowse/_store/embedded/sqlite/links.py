"""Links: what they are, and where those lead that a change concerns."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection

from dowse._model import Edge, Link
from dowse._store.embedded.sqlite.records import EDGE_ORDER, EDGES, EdgeRow, edge
from dowse._store.embedded.sqlite.statements import Statements
from dowse._text.links import LinkName, choose, names_of_target


class SqliteLinks:
    """How the documents hang together."""

    def __init__(self, sql: Statements) -> None:
        self._sql = sql

    def all(self) -> list[Edge]:
        """All links, by source and line."""
        return self._sql.made(edge, EdgeRow, f"{EDGES} {EDGE_ORDER}")

    def of(self, document_ids: Collection[str]) -> list[Edge]:
        """The links that begin or end at any of these documents, by source and line."""
        return self._sql.made(
            edge,
            EdgeRow,
            "WITH wanted AS (SELECT key FROM documents WHERE id IN"
            f" (SELECT value FROM json_each(?))) {EDGES} WHERE l.key IN"
            " (SELECT key FROM links WHERE source IN wanted"
            f" UNION SELECT key FROM links WHERE leads IN wanted) {EDGE_ORDER}",
            json.dumps(list(document_ids)),
        )

    def communities(self) -> dict[str, int]:
        """The community of each document that has one, by id."""
        query = "SELECT d.id, c.community FROM communities c JOIN documents d ON d.key = c.document"
        return dict(self._sql.rows(tuple[str, int], query))


def resolve_links(
    connection: sqlite3.Connection, names: Collection[str], documents: Collection[str]
) -> None:
    """Finds out where links lead: those of some documents, and those that look up some names."""
    links = connection.execute(
        "SELECT l.key, s.id, l.kind, l.target, l.anchor, l.label, l.line FROM links l"
        " JOIN documents s ON s.key = l.source WHERE l.key IN"
        # With OR instead of UNION, SQLite looks at all links.
        " (SELECT link FROM link_names WHERE name IN (SELECT value FROM json_each(?))"
        " UNION SELECT key FROM links WHERE source IN"
        " (SELECT key FROM documents WHERE id IN (SELECT value FROM json_each(?))))",
        (json.dumps(sorted(names)), json.dumps(sorted(documents))),
    ).fetchall()
    wanted = {key: names_of_target(source, Link(*link)) for key, source, *link in links}
    named = _bearers(connection, {name for some in wanted.values() for name in some})
    leads = []
    for key, source, *link in links:
        bearers = [bearer for name in wanted[key] for bearer in named.get(name, ())]
        leads.append((choose(source, Link(*link), bearers), key))
    connection.executemany(
        "UPDATE links SET leads = (SELECT key FROM documents WHERE id = ?) WHERE key = ?", leads
    )


def _bearers(connection: sqlite3.Connection, names: set[str]) -> dict[str, list[LinkName]]:
    """The documents that bear some names, by name."""
    found: dict[str, list[LinkName]] = {}
    for name, *rest in connection.execute(
        "SELECT n.name, d.id, n.kind, n.spelled FROM names n JOIN documents d"
        " ON d.key = n.document WHERE n.name IN (SELECT value FROM json_each(?))",
        (json.dumps(sorted(names)),),
    ):
        document, kind, spelled = rest
        found.setdefault(name, []).append(LinkName(document, name, kind, spelled))
    return found
