"""What --json prints of links: what belongs to a document, and the whole graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Struct

from dowse._model import Edge, LinkKind
from dowse._project.engine import Engine
from dowse._search.related import LinkGraph, Neighbour, Related


class NeighbourShape(Struct, frozen=True):
    """A document that belongs to another one."""

    document: Annotated[str, "Its id."]
    path: Annotated[str, "Where the file is, absolute."]
    title: Annotated[str, "Its title."]
    score: Annotated[float | None, "Cosine of the two, for what is similar."]


class RelatedShape(Struct, frozen=True):
    """What `dowse related` finds."""

    project: Annotated[str, "Name of the project."]
    document: Annotated[str, "Id of the document."]
    path: Annotated[str, "Where the file is, absolute."]
    title: Annotated[str, "Title of the document."]
    links_to: Annotated[tuple[NeighbourShape, ...], "It links there, in the order of its text."]
    linked_from: Annotated[tuple[NeighbourShape, ...], "They link here; fields as in `links_to`."]
    community: Annotated[
        tuple[NeighbourShape, ...], "In its community, though not linked with it; as in `links_to`."
    ]
    similar: Annotated[tuple[NeighbourShape, ...], "By meaning, best first; as in `links_to`."]
    dangling: Annotated[tuple[str, ...], "Links that lead nowhere yet, as written."]

    @classmethod
    def of(cls, related: Related, engine: Engine) -> RelatedShape:
        """The shape of what belongs to a document."""

        def shapes(neighbours: Sequence[Neighbour]) -> tuple[NeighbourShape, ...]:
            return tuple(
                NeighbourShape(one.id, str(engine.path_of(one.id)), one.title, one.score)
                for one in neighbours
            )

        return cls(
            engine.project.name,
            related.document,
            str(engine.path_of(related.document)),
            related.title,
            shapes(related.linked),
            shapes(related.linking),
            shapes(related.community),
            shapes(related.similar),
            related.dangling,
        )


class NodeShape(Struct, frozen=True):
    """A document of the graph."""

    id: Annotated[str, "Path below its root."]
    title: Annotated[str, "Its title."]
    tags: Annotated[tuple[str, ...], "Without `#`."]
    community: Annotated[int | None, "Number of its community; null when it has no links."]


class EdgeShape(Struct, frozen=True):
    """A link of the graph."""

    source: Annotated[str, "Id of the linking document."]
    target: Annotated[str | None, "Id of the document it leads to; null while it dangles."]
    written: Annotated[str, "What it points at, as written."]
    kind: Annotated[LinkKind, "How it is written."]
    label: Annotated[str, "The text shown; empty when the link names none."]
    line: Annotated[int, "Its line, from 1."]

    @classmethod
    def of(cls, edge: Edge) -> EdgeShape:
        """The shape of a link."""
        link = edge.link
        return cls(edge.source, edge.target, link.target, link.kind, link.label, link.line)


class GraphShape(Struct, frozen=True):
    """What `dowse graph` exports."""

    project: Annotated[str, "Name of the project."]
    documents: Annotated[tuple[NodeShape, ...], "By id."]
    edges: Annotated[tuple[EdgeShape, ...], "By source and line."]

    @classmethod
    def of(cls, graph: LinkGraph, project: str) -> GraphShape:
        """The shape of a graph."""
        nodes = tuple(
            NodeShape(one.id, one.fields.title, one.fields.tags, graph.communities.get(one.id))
            for one in graph.documents
        )
        return cls(project, nodes, tuple(EdgeShape.of(edge) for edge in graph.edges))
