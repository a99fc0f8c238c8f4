"""What belongs to a document: by its links, by its community, by its meaning."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from dowse._model import DocumentEntry, Edge
from dowse._model.ports import IndexReader
from dowse._search.stages.strategies import one_per_document
from dowse._util.arrays import np


class Neighbour(Struct, frozen=True):
    """A document that belongs to another one."""

    id: str
    title: str
    score: float | None = None  # the cosine, for what is similar


class Related(Struct, frozen=True):
    """What belongs to a document, by each of four reasons."""

    document: str
    title: str
    linked: tuple[Neighbour, ...]  # it links there, in the order of its text
    linking: tuple[Neighbour, ...]  # they link here
    dangling: tuple[str, ...]  # links that lead nowhere yet, as written
    community: tuple[Neighbour, ...]  # in its community, though not linked with it
    similar: tuple[Neighbour, ...]  # by meaning, best first


class LinkGraph(Struct, frozen=True):
    """All documents and the links between them."""

    documents: tuple[DocumentEntry, ...]
    communities: dict[str, int]  # by document; those without links have none
    edges: tuple[Edge, ...]  # also those that lead nowhere yet


def find_related(reading: IndexReader, document_id: str, limit: int) -> Related:
    """Find what belongs to a document, at most `limit` for each reason."""
    entries = {entry.id: entry for entry in reading.catalogue.documents()}
    edges = reading.links.of([document_id])
    linked = _distinct(edge.target for edge in edges if edge.source == document_id)
    linking = _distinct(edge.source for edge in edges if edge.target == document_id)
    communities = reading.links.communities()
    group = communities.get(document_id)
    near = {*linked, *linking, document_id}
    together = sorted(
        name for name, one in communities.items() if one == group and name not in near
    )

    def named(names: Iterable[str]) -> tuple[Neighbour, ...]:
        kept = [name for name in names if name != document_id][:limit]
        return tuple(Neighbour(name, entries[name].fields.title) for name in kept)

    return Related(
        document_id,
        entries[document_id].fields.title,
        named(linked),
        named(linking),
        tuple(_distinct(edge.link.target for edge in edges if edge.target is None))[:limit],
        named(together if group is not None else []),
        _similar(reading, document_id, entries, limit),
    )


def _similar(
    reading: IndexReader, document_id: str, entries: dict[str, DocumentEntry], limit: int
) -> tuple[Neighbour, ...]:
    own = reading.catalogue.keys_of([document_id]).tolist()
    vectors = reading.vectors.of(own)
    if not vectors:
        return ()
    middle = np.mean([vectors[key] for key in sorted(vectors)], axis=0)
    length = float(np.linalg.norm(middle))
    if length == 0:
        return ()
    # Its own chunks come first, and a document may have many.
    found = reading.vectors.nearest((middle / length).astype(np.float32), len(own) + 20 * limit)
    others = [(key, score) for key, score in found if key not in vectors]
    best = one_per_document(reading, others, limit)
    scores = dict(best)
    return tuple(
        Neighbour(one.document.id, entries[one.document.id].fields.title, scores[one.key])
        for one in reading.catalogue.chunks(list(scores))
    )


def whole_graph(reading: IndexReader) -> LinkGraph:
    """Return all documents and the links between them."""
    return LinkGraph(
        tuple(reading.catalogue.documents()),
        reading.links.communities(),
        tuple(reading.links.all()),
    )


def _distinct(names: Iterable[str | None]) -> list[str]:
    return list(dict.fromkeys(name for name in names if name is not None))
