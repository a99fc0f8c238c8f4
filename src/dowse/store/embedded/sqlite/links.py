"""Where links lead, found anew for those that a change concerns."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection

from dowse.store.resolve import Name, choose, names_of_target
from dowse.types import Link


def resolve_links(
    connection: sqlite3.Connection, names: Collection[str], documents: Collection[str]
) -> None:
    """Finds anew where links lead: those of some documents, and those that look up some names."""
    links = connection.execute(
        "SELECT l.key, s.id, l.kind, l.target, l.anchor, l.label, l.line FROM links l"
        " JOIN documents s ON s.key = l.source WHERE l.key IN"
        " (SELECT link FROM link_names WHERE name IN (SELECT value FROM json_each(?)))"
        " OR s.id IN (SELECT value FROM json_each(?))",
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


def _bearers(connection: sqlite3.Connection, names: set[str]) -> dict[str, list[Name]]:
    """The documents that bear some names, by name."""
    found: dict[str, list[Name]] = {}
    for name, *rest in connection.execute(
        "SELECT n.name, d.id, n.kind, n.spelled FROM names n JOIN documents d"
        " ON d.key = n.document WHERE n.name IN (SELECT value FROM json_each(?))",
        (json.dumps(sorted(names)),),
    ):
        document, kind, spelled = rest
        found.setdefault(name, []).append(Name(document, name, kind, spelled))
    return found
