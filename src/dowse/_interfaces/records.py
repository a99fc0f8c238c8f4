"""What answers look like as JSON: the same records from the command line, HTTP and MCP.

They are the engine's own structs, where these say all that a reader needs. Elsewhere a record adds
what only an interface knows: a rank, an absolute path, a date as ISO 8601 in UTC. Fields may be
added; none is renamed or dropped without notice. The text after a type describes the field in
docs/ and in the OpenAPI description.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import asdict, replace

from dowse._model import Counts, Finding, Freshness, LeftOut, LinkKind, Passage
from dowse._search.listing import Counted, page_of
from dowse._text.dates import iso

if TYPE_CHECKING:
    from dowse._model import Edge, Explanation, Hit, IndexReport, Neighbour, Related, Response
    from dowse._project.all_projects import AllProjects
    from dowse._project.engine import Engine, Status
    from dowse._project.registry import Project
    from dowse._project.workspace import Workspace
    from dowse._search.listing import FieldValues, LinkGraph, ListedDocument

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

    def found(hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
        return tuple(one if one.path else with_path(one, searched.of(one.project)) for one in hits)

    return replace(response, hits=found(response.hits), nearest=found(response.nearest))


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


class IndexRecord(Struct, frozen=True):
    """What `dowse index` did."""

    project: Annotated[str, "Name of the project."]
    roots: Annotated[tuple[str, ...], "Its folders, absolute."]
    added: Annotated[int, "New documents."]
    changed: Annotated[int, "Documents that had changed."]
    removed: Annotated[int, "Documents whose file is gone."]
    unchanged: Annotated[int, "Documents that were as the index has them."]
    chunks: Annotated[int, "Chunks written."]
    embedded: Annotated[int, "Texts that the embedding model had to read."]
    secrets: Annotated[int, "Secrets that were left out of what was added or changed."]
    unreadable: Annotated[int, "Texts in a script that the model does not support."]
    left_out: Annotated[tuple[LeftOut, ...], "Files, or parts of them (`whole: false`), left out."]
    notices: Annotated[tuple[str, ...], "What could not be done, and how to change that."]
    complete: Annotated[bool, "False: something is missing, and the exit code is 3."]
    counts: Annotated[Mapping[str, int], "What each stage worked on: files, documents, chunks…"]
    seconds: Annotated[Mapping[str, float], "Time by stage."]

    @classmethod
    def of(cls, project: Project, report: IndexReport) -> IndexRecord:
        """Make the record of a report."""
        roots = tuple(map(str, project.roots))
        return filled(cls, report, project=project.name, roots=roots)


class StatusRecord(Struct, frozen=True):
    """What `dowse status` says."""

    project: Annotated[str, "Name of the project."]
    roots: Annotated[tuple[str, ...], "Its folders, absolute."]
    folder: Annotated[str, "Where the index is."]
    bytes: Annotated[int, "What the index takes on disk."]
    indexed: Annotated[bool, "Whether it has been indexed yet."]
    up_to_date: Annotated[bool, "Whether the index matches the folder."]
    freshness: Annotated[Freshness, "Files that are new, changed or deleted since."]
    counts: Annotated[Counts, "How much the index holds."]
    stamp: Annotated[Mapping[str, Any] | None, "What the index was built with."]
    notices: Annotated[tuple[str, ...], "Why the index or a folder cannot be used, and what to do."]
    run: Annotated[str, "An indexing run that has not come to its end; empty: none."]
    unread: Annotated[int, "Files that could not be read, and have not changed since."]
    imported: Annotated[
        tuple[str, ...],
        "Those of `roots` that are not on this machine: their text comes from an import.",
    ]

    @classmethod
    def of(cls, status: Status) -> StatusRecord:
        """Make the record of a status."""
        changes = status.freshness
        return filled(
            cls,
            status,
            indexed=status.stamp is not None,
            up_to_date=not (changes.new or changes.changed or changes.deleted),
        )


class DocumentRecord(Struct, frozen=True):
    """A document of a list."""

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
    modified: Annotated[str, "What the frontmatter says, else the time of the file."]
    size: Annotated[int, "Bytes."]
    chunks: Annotated[int, "How many."]
    links_in: Annotated[int, "How many other documents link to it."]
    properties: Annotated[
        Mapping[str, tuple[str, ...]], "The fields of its frontmatter, by name, as texts."
    ]

    @classmethod
    def of(cls, listed: ListedDocument, engine: Engine) -> DocumentRecord:
        """Make the record of a document."""
        entry = listed.entry
        created = entry.fields.created
        fields = asdict(entry.fields) | {
            "path": str(engine.path_of(entry.id)),
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


class PassagesRecord(Struct, frozen=True):
    """What `dowse get` shows."""

    project: Annotated[str, "Name of the project."]
    passages: Annotated[tuple[Passage, ...], "In the order asked for."]


class ProjectRecord(Struct, frozen=True):
    """A project as `dowse project` shows it."""

    name: Annotated[str, "Its name."]
    roots: Annotated[tuple[str, ...], "Its folders, absolute."]
    folder: Annotated[str, "Where dowse keeps its index and its settings."]
    description: Annotated[
        str, "What is in it: as set, as its dowse.toml says, or as its README begins."
    ]

    @classmethod
    def of(cls, project: Project, workspace: Workspace) -> ProjectRecord:
        """Make the record of a project."""
        roots = tuple(map(str, project.roots))
        return cls(project.name, roots, str(project.folder), workspace.description(project))


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

    @classmethod
    def of(
        cls, listed: Sequence[ListedDocument], engine: Engine, limit: int | None, offset: int = 0
    ) -> DocumentListRecord:
        """Make the record of a part of a list."""
        shown = page_of(listed, limit, offset)
        items = tuple(DocumentRecord.of(one, engine) for one in shown)
        return cls(engine.project.name, items, len(listed))


class CountedListRecord(Struct, frozen=True):
    """Values that documents have: tags, folders, or the values of another filter."""

    project: Annotated[str, "Name of the project."]
    items: Annotated[tuple[Counted, ...], "Most frequent first; folders by their path."]
    total: Annotated[int, "How many there are; `items` may be a part of them."]

    @classmethod
    def of(
        cls, counted: Sequence[Counted], engine: Engine, limit: int | None, offset: int = 0
    ) -> CountedListRecord:
        """Make the record of a part of a list."""
        return cls(engine.project.name, tuple(page_of(counted, limit, offset)), len(counted))


class FieldRecord(Struct, frozen=True):
    """A field of the frontmatter."""

    name: Annotated[str, "As most documents write it; `where` takes it."]
    documents: Annotated[int, "How many have the field."]
    different: Annotated[int, "How many different values it has."]
    values: Annotated[tuple[Counted, ...], "The most frequent values."]

    @classmethod
    def of(cls, field: FieldValues, most: int) -> FieldRecord:
        """Make the record of a field, with its most frequent values."""
        return cls(field.name, field.documents, len(field.values), field.values[:most])


class FieldListRecord(Struct, frozen=True):
    """The fields of the frontmatter."""

    project: Annotated[str, "Name of the project."]
    items: Annotated[tuple[FieldRecord, ...], "Most frequent first."]
    total: Annotated[int, "How many there are; `items` may be a part of them."]

    @classmethod
    def of(
        cls,
        fields: Sequence[FieldValues],
        engine: Engine,
        limit: int | None,
        offset: int = 0,
        *,
        values: int,
    ) -> FieldListRecord:
        """Make the record of a part of a list, with at most so many values of each field."""
        shown = page_of(fields, limit, offset)
        items = tuple(FieldRecord.of(one, values) for one in shown)
        return cls(engine.project.name, items, len(fields))
