"""What answers look like as JSON: the same records from the command line, HTTP and MCP.

They are the engine's own structs, where these say all that a reader needs. Elsewhere a record adds
what only an interface knows: a rank, an absolute path, a date as ISO 8601 in UTC. Fields may be
added; none is renamed or dropped without notice. The text after a type describes the field in
docs/ and in the OpenAPI description.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import asdict

from dowse._model import (
    Answer,
    Counts,
    Finding,
    Freshness,
    LeftOut,
    LinkKind,
    Match,
    OtherPassage,
    Place,
    Step,
    StrategyRank,
)
from dowse._search.listing import Counted, page_of
from dowse._text.dates import iso

if TYPE_CHECKING:
    from dowse._model import Edge, Hit, IndexReport, Passage, Response
    from dowse._project.all_projects import AllProjects
    from dowse._project.engine import Engine, Status
    from dowse._project.registry import Project
    from dowse._project.workspace import Workspace
    from dowse._search.explain import ChunkOutcome, Explanation
    from dowse._search.listing import FieldValues, LinkGraph, ListedDocument, Neighbour, Related

Searched: TypeAlias = "Engine | AllProjects"
"""What was searched: one project, or all of them."""

_Record = TypeVar("_Record", bound=Struct)


def filled(kind: type[_Record], source: object, **others: object) -> _Record:
    """Make a record with the fields of `source` that have the same names, and with `others`."""
    same = {name: getattr(source, name) for name in kind.__struct_fields__ if name not in others}
    return kind(**same, **others)


# ── Searches ─────────────────────────────────────────────────────────────────


class HitRecord(Struct, frozen=True):
    """A result of `dowse search`."""

    rank: Annotated[int, "From 1."]
    match: Annotated[Match, "How well it fits the query."]
    reason: Annotated[str, "Why, in plain words."]
    score: Annotated[float, "The confidence behind `match`, 0 to 1."]
    id: Annotated[str, "Of the best chunk, or section; `dowse get` takes its first digits too."]
    section: Annotated[str, "Id of its section."]
    document: Annotated[str, "Id of the document."]
    project: Annotated[str, "Name of its project."]
    path: Annotated[str, "Where the file is, absolute."]
    title: Annotated[str, "Title of the document."]
    header_path: Annotated[tuple[str, ...], "The headings above `line`."]
    line: Annotated[int, "Where the match is, from 1."]
    page: Annotated[int | None, "Page of a PDF where the match is, from 1; null for others."]
    place: Annotated[str, "Where the match is, for people: `a.md:12`, `manual.pdf p. 12`."]
    first_line: Annotated[int, "Of `text`, from 1."]
    last_line: Annotated[int, "The last line of `text`."]
    modified: Annotated[str, "Of the document."]
    stale: Annotated[bool, "The file has changed since it was indexed."]
    tags: Annotated[tuple[str, ...], "Of the document, without `#`."]
    links_out: Annotated[tuple[str, ...], "Ids of the documents that its document links to."]
    links_in: Annotated[tuple[str, ...], "Ids of the documents that link to its document."]
    snippet: Annotated[str, "The part that answers best, matched words between ** and **."]
    text: Annotated[
        str,
        "The best passage with those next to it that match, or the section; with `--max-tokens`,"
        " what fits of it.",
    ]
    more: Annotated[
        tuple[OtherPassage, ...], "Other places of the document that match, best first."
    ]
    places: Annotated[tuple[Place, ...], "Where each strategy put it, and what that gave it."]
    steps: Annotated[tuple[Step, ...], "What each stage did to its score."]

    @classmethod
    def of(cls, rank: int, hit: Hit, searched: Searched) -> HitRecord:
        """Make the record of a hit."""
        engine = searched.of(hit.project)
        return filled(
            cls,
            hit,
            rank=rank,
            project=engine.project.name,
            path=str(engine.path_of(hit.document)),
            modified=iso(hit.modified),
            places=hit.trace.places,
            steps=hit.trace.steps,
        )


class ResponseRecord(Struct, frozen=True):
    """What `dowse search` and `dowse answer` found."""

    project: Annotated[str, "Name of the project; `all` when all were searched."]
    query: Annotated[str, "As it was asked."]
    no_good_match: Annotated[bool, "Even the best of the hits hardly fits the query."]
    hits: Annotated[tuple[HitRecord, ...], "Best first."]
    offset: Annotated[int, "How many results before `hits` were passed over."]
    total: Annotated[
        int, "Documents (or passages) in the whole list; at least so many where it is not exact."
    ]
    total_is_exact: Annotated[
        bool, "Whether `total` counts all. A ranking by meaning never ends: it is not counted."
    ]
    answer: Annotated[Answer | None, "Of `dowse answer`, when there is a good match."]
    nearest: Annotated[
        tuple[HitRecord, ...], "When nothing was found: the best below the threshold, as `hits`."
    ]
    removed: Annotated[
        Mapping[str, int],
        "When nothing was found, or a good match is among them: chunks that each condition kept"
        " out.",
    ]
    merged: Annotated[int, "Results that replace others with the same meaning."]
    counts: Annotated[Mapping[str, int], "Candidates left after each stage, in order."]
    seconds: Annotated[Mapping[str, float], "Time by stage."]
    calibration: Annotated[str, "What the scores are, in a few words."]
    notices: Annotated[tuple[str, ...], "What could not be done, and how to change that."]

    @classmethod
    def of(cls, response: Response, searched: Searched) -> ResponseRecord:
        """Make the record of a response."""
        return filled(
            cls,
            response,
            project=searched.project.name,
            hits=hit_records(response.hits, searched, response.offset),
            nearest=hit_records(response.nearest, searched),
        )


def hit_records(hits: Iterable[Hit], searched: Searched, offset: int = 0) -> tuple[HitRecord, ...]:
    """Make the records of hits, ranked from 1, or from the first after `offset`."""
    return tuple(HitRecord.of(rank, hit, searched) for rank, hit in enumerate(hits, offset + 1))


class ChunkOutcomeRecord(Struct, frozen=True):
    """The outcome of a chunk."""

    id: Annotated[str, "Of the chunk."]
    header_path: Annotated[tuple[str, ...], "The headings above it."]
    first_line: Annotated[int, "From 1."]
    last_line: Annotated[int, "The last line of the chunk."]
    rank: Annotated[int | None, "Its place among the results; null when it is not there."]
    score: Annotated[float | None, "The last it had; null when no strategy handed it over."]
    standing: Annotated[
        tuple[StrategyRank, ...],
        "Its rank in each strategy among all chunks, without the conditions.",
    ]
    places: Annotated[tuple[Place, ...], "Where each strategy put it, and what that gave it."]
    steps: Annotated[tuple[Step, ...], "What each stage did to it; `dropped` says why it went."]

    @classmethod
    def of(cls, outcome: ChunkOutcome) -> ChunkOutcomeRecord:
        """Make the record of an outcome."""
        return filled(cls, outcome, places=outcome.trace.places, steps=outcome.trace.steps)


class ExplanationRecord(Struct, frozen=True):
    """What `dowse explain` says."""

    project: Annotated[str, "Name of the project."]
    query: Annotated[str, "As it was asked."]
    document: Annotated[str, "Id of the document."]
    path: Annotated[str, "Where the file is, absolute."]
    title: Annotated[str, "Title of the document."]
    found: Annotated[bool, "Whether it is among the results."]
    why: Annotated[str, "The reason, in a sentence."]
    top_k: Annotated[int, "Candidates that each strategy hands over."]
    top_n: Annotated[int, "Results at most."]
    failed: Annotated[tuple[str, ...], "Conditions, as written, that no chunk of it fulfils."]
    chunks: Annotated[
        tuple[ChunkOutcomeRecord, ...], "All of it, the one that came furthest first."
    ]
    notices: Annotated[tuple[str, ...], "What could not be done, and how to change that."]

    @classmethod
    def of(cls, explanation: Explanation, engine: Engine) -> ExplanationRecord:
        """Make the record of an explanation."""
        best = explanation.best
        return filled(
            cls,
            explanation,
            project=engine.project.name,
            path=str(engine.path_of(explanation.document)),
            found=best is not None and best.rank is not None,
            chunks=tuple(map(ChunkOutcomeRecord.of, explanation.chunks)),
        )


# ── Links ────────────────────────────────────────────────────────────────────


class NeighbourRecord(Struct, frozen=True):
    """A document that belongs to another one."""

    document: Annotated[str, "Its id."]
    path: Annotated[str, "Where the file is, absolute."]
    title: Annotated[str, "Its title."]
    score: Annotated[float | None, "Cosine of the two, for what is similar."]


class RelatedRecord(Struct, frozen=True):
    """What `dowse related` finds."""

    project: Annotated[str, "Name of the project."]
    document: Annotated[str, "Id of the document."]
    path: Annotated[str, "Where the file is, absolute."]
    title: Annotated[str, "Title of the document."]
    links_to: Annotated[tuple[NeighbourRecord, ...], "It links there, in the order of its text."]
    linked_from: Annotated[tuple[NeighbourRecord, ...], "They link here; fields as in `links_to`."]
    community: Annotated[
        tuple[NeighbourRecord, ...],
        "In its community, though not linked with it; as in `links_to`.",
    ]
    similar: Annotated[tuple[NeighbourRecord, ...], "By meaning, best first; as in `links_to`."]
    dangling: Annotated[tuple[str, ...], "Links that lead nowhere yet, as written."]

    @classmethod
    def of(cls, related: Related, engine: Engine) -> RelatedRecord:
        """Make the record of what belongs to a document."""

        def records(neighbours: Sequence[Neighbour]) -> tuple[NeighbourRecord, ...]:
            return tuple(
                NeighbourRecord(one.id, str(engine.path_of(one.id)), one.title, one.score)
                for one in neighbours
            )

        return filled(
            cls,
            related,
            project=engine.project.name,
            path=str(engine.path_of(related.document)),
            links_to=records(related.linked),
            linked_from=records(related.linking),
            community=records(related.community),
            similar=records(related.similar),
        )


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


class PassageRecord(Struct, frozen=True):
    """A passage that `dowse get` shows."""

    document: Annotated[str, "Id of the document."]
    path: Annotated[str, "Where the file is, absolute."]
    title: Annotated[str, "Title of the document."]
    first_line: Annotated[int, "From 1."]
    last_line: Annotated[int, "The last line of the passage."]
    total_lines: Annotated[int, "Of the document."]
    text: Annotated[str, "As the index has it."]

    @classmethod
    def of(cls, passage: Passage, engine: Engine) -> PassageRecord:
        """Make the record of a passage."""
        return filled(cls, passage, path=str(engine.path_of(passage.document)))


class PassagesRecord(Struct, frozen=True):
    """What `dowse get` shows."""

    project: Annotated[str, "Name of the project."]
    passages: Annotated[tuple[PassageRecord, ...], "In the order asked for."]


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
