"""How the documents hang together.

Where a link leads is found when it is asked for, from the names that documents have at that time.
So no document has to be rewritten when another one comes, goes or changes its name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from dowse._model import Edge
from dowse._store.remote.documents import Entry, read_entry
from dowse._store.remote.rows import AllOf, HasAny
from dowse._store.remote.tokens import OVERFLOW, token
from dowse._store.remote.view import View
from dowse._text.links import LinkName, choose, names_of_target

if TYPE_CHECKING:
    from dowse._store.remote.catalogue import Viewing

_AT_ONCE = 200  # names that are looked up in one call

Bearers = dict[str, list[LinkName]]
"""The documents that have a name, by name."""


class RemoteLinks:
    """The links between documents."""

    def __init__(self, of: Viewing) -> None:
        self._of = of

    def all(self) -> list[Edge]:
        """All links, by source and line."""
        return all_edges(self._of.view)

    def of(self, document_ids: Collection[str]) -> list[Edge]:
        """The links that begin or end at any of these documents, by source and line."""
        view, wanted = self._of.view, set(document_ids)
        own = list(view.named(wanted).values())
        names = {name.name for entry in own for name in entry.names}
        linking = _looking_up(view, "target", names) if names else []
        sources = {entry.key: entry for entry in [*own, *linking]}
        edges = _resolved(view, list(sources.values()), None)
        return [edge for edge in edges if edge.source in wanted or edge.target in wanted]

    def communities(self) -> dict[str, int]:
        """The community of each document that has one, by id."""
        entries = self._of.view.entries().values()
        return {entry.id: entry.community for entry in entries if entry.community >= 0}


def all_edges(view: View) -> list[Edge]:
    """All links of an index, by source and line."""
    entries = list(view.entries().values())
    return _resolved(view, entries, _bearers(entries))


def _resolved(view: View, sources: Sequence[Entry], bearers: Bearers | None) -> list[Edge]:
    """The links of some documents with where they lead, by source and line."""
    written = [
        (entry.id, link)
        for entry in sorted(sources, key=lambda entry: entry.id)
        for link in sorted(view.links(entry), key=lambda link: link.line)
    ]
    looked_up = [names_of_target(source, link) for source, link in written]
    if bearers is None:
        names = {name for some in looked_up for name in some}
        bearers = _bearers(_looking_up(view, "name", names))
    edges = []
    for (source, link), names_ in zip(written, looked_up, strict=True):
        named = [name for one in names_ for name in bearers.get(one, ())]
        edges.append(Edge(source, link, choose(source, link, named)))
    return [edge for edge in edges if edge.target or edge.link.kind != "related"]


def _bearers(entries: Iterable[Entry]) -> Bearers:
    found: Bearers = {}
    for entry in entries:
        for name in entry.names:
            found.setdefault(name.name, []).append(name)
    return found


def _looking_up(view: View, kind: str, names: Collection[str]) -> list[Entry]:
    """The documents that have some names, or whose links look them up."""
    return view.met(_scanned(view, sorted(token(kind, name) for name in names)))


def _scanned(view: View, tokens: Sequence[int]) -> Iterator[Entry]:
    seen: set[str] = set()
    for start in range(0, 0 if view.is_new else len(tokens), _AT_ONCE):
        where = AllOf([view.kind("entry"), HasAny([OVERFLOW, *tokens[start : start + _AT_ONCE]])])
        for row in view.rows.scan(view.records, where, ["data"]):
            if row["key"] not in seen:
                seen.add(row["key"])
                yield read_entry(row)
