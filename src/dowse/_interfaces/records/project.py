"""What --json prints: records that stay the same from version to version.

Times are ISO 8601 in UTC. Fields may be added; none is renamed or dropped without notice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Struct
from msgspec.structs import asdict

from dowse._index.report import IndexReport
from dowse._model import Counts, Finding, LeftOut
from dowse._project.engine import Engine, Freshness, Status
from dowse._project.registry import Project
from dowse._project.workspace import Workspace
from dowse._search.listing import ListedDocument
from dowse._text.dates import iso

if TYPE_CHECKING:
    from dowse._search.references import Passage


class IndexShape(Struct, frozen=True):
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
    unreadable: Annotated[int, "Texts in a script that the model cannot read; words find them."]
    left_out: Annotated[tuple[LeftOut, ...], "Files, or parts of them (`whole: false`), left out."]
    notices: Annotated[tuple[str, ...], "What could not be done, and how to change that."]
    complete: Annotated[bool, "False: something is missing, and the exit code is 3."]
    counts: Annotated[Mapping[str, int], "What each stage worked on: files, documents, chunks…"]
    seconds: Annotated[Mapping[str, float], "Time by stage."]

    @classmethod
    def of(cls, project: Project, report: IndexReport) -> IndexShape:
        """The shape of a report."""
        roots = tuple(str(root) for root in project.roots)
        known = {name: getattr(report, name) for name in report.__struct_fields__}
        return cls(project.name, roots, complete=report.complete, **known)


class StatusShape(Struct, frozen=True):
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
    def of(cls, status: Status) -> StatusShape:
        """The shape of a status."""
        changes = status.freshness
        return cls(
            project=status.project,
            roots=status.roots,
            folder=status.folder,
            bytes=status.bytes,
            indexed=status.stamp is not None,
            up_to_date=not (changes.new or changes.changed or changes.deleted),
            freshness=changes,
            counts=status.counts,
            stamp=status.stamp,
            notices=status.notices,
            run=status.run,
            unread=status.unread,
            imported=status.imported,
        )


class DocumentShape(Struct, frozen=True):
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
    def of(cls, listed: ListedDocument, engine: Engine) -> DocumentShape:
        """The shape of a document."""
        entry = listed.entry
        fields = asdict(entry.fields) | {
            "created": None if entry.fields.created is None else iso(entry.fields.created),
            "modified": iso(entry.modified),
            "properties": dict(entry.fields.properties),
        }
        fields |= {"size": entry.size, "chunks": entry.chunks, "links_in": listed.links_in}
        return cls(entry.id, entry.short_id, str(engine.path_of(entry.id)), **fields)


class DocumentsShape(Struct, frozen=True):
    """What `dowse ls` lists."""

    project: Annotated[str, "Name of the project."]
    documents: Annotated[tuple[DocumentShape, ...], "In the order asked for, by default by id."]
    total: Annotated[int, "How many match; `documents` may be a part of them."]


class PassageShape(Struct, frozen=True):
    """A passage that `dowse get` shows."""

    document: Annotated[str, "Id of the document."]
    path: Annotated[str, "Where the file is, absolute."]
    title: Annotated[str, "Title of the document."]
    first_line: Annotated[int, "From 1."]
    last_line: Annotated[int, "The last line of the passage."]
    total_lines: Annotated[int, "Of the document."]
    text: Annotated[str, "As the index has it."]

    @classmethod
    def of(cls, passage: Passage, engine: Engine) -> PassageShape:
        """The shape of a passage."""
        return cls(path=str(engine.path_of(passage.document)), **asdict(passage))


class PassagesShape(Struct, frozen=True):
    """What `dowse get` shows."""

    project: Annotated[str, "Name of the project."]
    passages: Annotated[tuple[PassageShape, ...], "In the order asked for."]


class ProjectShape(Struct, frozen=True):
    """A project as `dowse project` shows it."""

    name: Annotated[str, "Its name."]
    roots: Annotated[tuple[str, ...], "Its folders, absolute."]
    folder: Annotated[str, "Where dowse keeps its index and its settings."]
    description: Annotated[
        str, "What is in it: as set, as its dowse.toml says, or as its README begins."
    ]

    @classmethod
    def of(cls, project: Project, workspace: Workspace) -> ProjectShape:
        """The shape of a project."""
        roots = tuple(str(root) for root in project.roots)
        return cls(project.name, roots, str(project.folder), workspace.description(project))


class ProjectsShape(Struct, frozen=True):
    """What `dowse project list` lists."""

    projects: Annotated[tuple[ProjectShape, ...], "By name."]
    broken: Annotated[tuple[Finding, ...], "Projects that cannot be read."]
