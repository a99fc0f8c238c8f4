"""What answers look like as JSON: the same records from the command line, HTTP and MCP.

They are the engine's own structs, where these say all that a reader needs. Elsewhere a record adds
what only an interface knows: a rank, an absolute path, a date as ISO 8601 in UTC. Fields may be
added; none is renamed or dropped without notice. The text after a type describes the field in
docs/ and in the OpenAPI description.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import asdict, replace

from dowse._model import (
    Edge,
    Explanation,
    Finding,
    Hit,
    LinkKind,
    Neighbour,
    Passage,
    Related,
    Response,
)
from dowse._search.formats import change_hits
from dowse._search.listing import (
    Counted,
    Filter,
    LinkGraph,
    ListedDocument,
    list_fields,
    list_values,
    page_of,
)
from dowse._text.dates import iso
from dowse._text.matching import fold

if TYPE_CHECKING:
    from dowse._project.all_projects import AllProjects
    from dowse._project.engine import Engine
    from dowse._project.registry import Project
    from dowse._project.workspace import Workspace

Searched: TypeAlias = "Engine | AllProjects"
"""What was searched: one project, or all of them."""

_Record = TypeVar("_Record", bound=Struct)


def filled(kind: type[_Record], source: object, **others: object) -> _Record:
    """Make a record with the fields of `source` that have the same names, and with `others`."""
    same = {name: getattr(source, name) for name in kind.__struct_fields__ if name not in others}
    return kind(**same, **others)


# ── Where files are: a search does not look for them, and people are not shown them ──────────

_OfDocument = TypeVar("_OfDocument", "Hit", "Passage", "Explanation", "Related")


def with_path(record: _OfDocument, engine: Engine) -> _OfDocument:
    """Add where the file of a document is."""
    return replace(record, path=str(engine.path_of(record.document)))


def with_paths(response: Response, searched: Searched) -> Response:
    """Add where the files of the hits are, unless it is known."""

    def found(hit: Hit) -> Hit:
        return hit if hit.path else with_path(hit, searched.of(hit.project))

    return change_hits(response, found)


def related_with_paths(related: Related, engine: Engine) -> Related:
    """Add where the files of a document and of its neighbours are."""

    def found(neighbours: tuple[Neighbour, ...]) -> tuple[Neighbour, ...]:
        return tuple(replace(one, path=str(engine.path_of(one.id))) for one in neighbours)

    return replace(
        with_path(related, engine),
        linked=found(related.linked),
        linking=found(related.linking),
        community=found(related.community),
        similar=found(related.similar),
    )


# ── The link graph ───────────────────────────────────────────────────────────


class NodeRecord(Struct, frozen=True):
    """A document of the graph."""

    id: Annotated[str, "Path below its root."]
    title: Annotated[str, "Its title."]
    tags: Annotated[tuple[str, ...], "Without `#`."]
    community: Annotated[int | None, "Number of its community; null when it has no links."]


class EdgeRecord(Struct, frozen=True):
    """A link of the graph."""

    source: Annotated[str, "Id of the linking document."]
    target: Annotated[str | None, "Id of the document it leads to; null while it dangles."]
    written: Annotated[str, "What it points at, as written."]
    kind: Annotated[LinkKind, "How it is written."]
    label: Annotated[str, "The text shown; empty when the link names none."]
    line: Annotated[int, "Its line, from 1."]

    @classmethod
    def of(cls, edge: Edge) -> EdgeRecord:
        """Make the record of a link."""
        link = edge.link
        return cls(edge.source, edge.target, link.target, link.kind, link.label, link.line)


class GraphRecord(Struct, frozen=True):
    """What `dowse graph` exports."""

    project: Annotated[str, "Name of the project."]
    documents: Annotated[tuple[NodeRecord, ...], "By id."]
    edges: Annotated[tuple[EdgeRecord, ...], "By source and line."]

    @classmethod
    def of(cls, graph: LinkGraph, project: str) -> GraphRecord:
        """Make the record of a graph."""
        nodes = tuple(
            NodeRecord(one.id, one.fields.title, one.fields.tags, graph.communities.get(one.id))
            for one in graph.documents
        )
        return cls(project, nodes, tuple(map(EdgeRecord.of, graph.edges)))


# ── Projects, their indexes and their documents ──────────────────────────────


class DocumentRecord(Struct, frozen=True):
    """A document of a list."""

    project: Annotated[str, "Name of its project."]
    id: Annotated[str, "Path below its root."]
    short_id: Annotated[str, "Eight hex digits that `dowse get` takes too."]
    path: Annotated[str, "Where the file is, absolute."]
    title: Annotated[str, "Its title."]
    description: Annotated[str, "What it says about itself."]
    tags: Annotated[tuple[str, ...], "Without `#`."]
    keywords: Annotated[tuple[str, ...], "Its keywords."]
    aliases: Annotated[tuple[str, ...], "Other names of it."]
    author: Annotated[tuple[str, ...], "Who wrote it."]
    category: Annotated[str, "Its category."]
    created: Annotated[str | None, "What the frontmatter says."]
    modified: Annotated[str, "What the frontmatter says, otherwise the time of the file."]
    size: Annotated[int, "Bytes."]
    chunks: Annotated[int, "How many."]
    links_in: Annotated[int, "How many other documents link to it."]
    properties: Annotated[
        Mapping[str, tuple[str, ...]], "The fields of its frontmatter, by name, as texts."
    ]

    @classmethod
    def of(cls, listed: ListedDocument, searched: Searched) -> DocumentRecord:
        """Make the record of a document."""
        entry = listed.entry
        created = entry.fields.created
        fields = asdict(entry.fields) | {
            "project": listed.project,
            "path": str(searched.of(listed.project).path_of(entry.id)),
            "created": None if created is None else iso(created),
            "modified": iso(entry.modified),
            "properties": dict(entry.fields.properties),
            "links_in": listed.links_in,
        }
        return filled(cls, entry, **fields)


class DocumentsRecord(Struct, frozen=True):
    """What `dowse ls` lists."""

    project: Annotated[str, "Name of the project."]
    documents: Annotated[tuple[DocumentRecord, ...], "In the order asked for, by default by id."]
    total: Annotated[int, "How many match; `documents` may be a part of them."]


class ProjectPassage(Passage, frozen=True, kw_only=True):
    """A document, or a part of it."""

    project: Annotated[str, "Name of the project."]


class PassagesRecord(Struct, frozen=True):
    """What `dowse get` shows."""

    project: Annotated[str, "Name of the project."]
    passages: Annotated[tuple[Passage, ...], "In the order asked for."]


class SettingRecord(Struct, frozen=True, kw_only=True):
    """A setting that holds."""

    name: Annotated[str, "As in `search.top_n`."]
    value: Annotated[Any, "What holds."]
    default: Annotated[Any, "The value when it is not set."]
    origin: Annotated[str, "Where the value comes from: `default`, a file, `environment`."]
    meaning: Annotated[str, "What it decides."]


class ProjectRecord(Struct, frozen=True):
    """A project as `dowse project` shows it."""

    name: Annotated[str, "Its name."]
    roots: Annotated[tuple[str, ...], "Its folders, absolute."]
    folder: Annotated[str, "Where dowse keeps its index and its settings."]
    description: Annotated[
        str, "What is in it: as set, as its dowse.toml says, or as its README begins."
    ]
    contexts: Annotated[Mapping[str, str], "By path: what the user says of what is below it."]

    @classmethod
    def of(cls, project: Project, workspace: Workspace) -> ProjectRecord:
        """Make the record of a project."""
        roots = tuple(map(str, project.roots))
        description, contexts = workspace.description(project), dict(project.contexts)
        return cls(project.name, roots, str(project.folder), description, contexts)


class ProjectsRecord(Struct, frozen=True):
    """What `dowse project list` lists."""

    projects: Annotated[tuple[ProjectRecord, ...], "By name."]
    broken: Annotated[tuple[Finding, ...], "Projects that cannot be read."]


# ── Lists: a part of the items, and how many there are in all ────────────────


class DocumentListRecord(Struct, frozen=True):
    """Documents in an order."""

    project: Annotated[str, "Name of the project."]
    items: Annotated[tuple[DocumentRecord, ...], "In the order asked for."]
    total: Annotated[int, "How many there are; `items` may be a part of them."]


class CountedListRecord(Struct, frozen=True):
    """Values that documents have: tags, folders, or the values of another filter."""

    project: Annotated[str, "Name of the project."]
    items: Annotated[tuple[Counted, ...], "Most frequent first; folders by their path."]
    total: Annotated[int, "How many there are; `items` may be a part of them."]


class FieldRecord(Struct, frozen=True):
    """A field of the frontmatter."""

    name: Annotated[str, "As most documents write it; `where` takes it."]
    documents: Annotated[int, "How many have the field."]
    different: Annotated[int, "How many different values it has."]
    values: Annotated[tuple[Counted, ...], "The most frequent values."]


class FieldListRecord(Struct, frozen=True):
    """The fields of the frontmatter."""

    project: Annotated[str, "Name of the project."]
    items: Annotated[tuple[FieldRecord, ...], "Most frequent first."]
    total: Annotated[int, "How many there are; `items` may be a part of them."]


def document_list(
    kind: Callable[[str, tuple[DocumentRecord, ...], int], _Record],
    searched: Searched,
    listed: Sequence[ListedDocument],
    limit: int | None,
    offset: int = 0,
) -> _Record:
    """List a part of the documents that were found."""
    items = tuple(DocumentRecord.of(one, searched) for one in page_of(listed, limit, offset))
    return kind(searched.project.name, items, len(listed))


def counted_list(
    searched: Searched, name: Filter, below: Sequence[str], limit: int | None, offset: int = 0
) -> CountedListRecord:
    """List a part of the values of a filter."""
    found = list_values(searched.documents(), name, below)
    return CountedListRecord(
        searched.project.name, tuple(page_of(found, limit, offset)), len(found)
    )


def field_list(
    searched: Searched,
    name: str | None,
    below: Sequence[str],
    limit: int | None,
    offset: int = 0,
    *,
    values: int,
) -> FieldListRecord:
    """List a part of the fields, or the one of a name, with at most so many values of each."""
    found = list_fields(searched.documents(), below)
    if name is not None:
        found = [one for one in found if fold(one.name) == fold(name)]
    items = tuple(
        FieldRecord(one.name, one.documents, len(one.values), one.values[:values])
        for one in page_of(found, limit, offset)
    )
    return FieldListRecord(searched.project.name, items, len(found))
