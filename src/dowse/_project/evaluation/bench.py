"""A collection as a project of its own: indexed in the cache, never among the user's projects."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from dowse._config.schema import of_an_index
from dowse._model import Announce, IndexReport, silent
from dowse._project.engine import Engine
from dowse._project.evaluation.corpus import lay_out
from dowse._project.evaluation.records import Collection, Run
from dowse._project.evaluation.runs import search_run
from dowse._project.registry import Project
from dowse._project.stamp import takes_vectors
from dowse._project.workspace import Workspace
from dowse._search.request import Filters
from dowse.errors import NotFound, StampMismatch, UsageError


class Bench(Struct, frozen=True):
    """A collection that is indexed and can be searched."""

    collection: Collection
    engine: Engine
    names: Mapping[str, str]  # what judgments call a document, where it is not its id
    indexed: IndexReport
    filters: Mapping[str, Filters] = field(default_factory=dict)  # by query, where it has some
    withheld: tuple[str, ...] = ()  # what a dowse.toml asks for without the user's consent

    @property
    def documents(self) -> int:
        """How many there are."""
        return len(self.engine.documents())

    @property
    def has_vectors(self) -> bool:
        """Whether it can be searched by meaning."""
        stamp = self.engine.built_with()
        return stamp is not None and takes_vectors(stamp)

    def run(self, name: str, changes: Mapping[str, Any], announce: Announce = silent) -> Run:
        """Asks all queries of the collection with these changes to the settings."""
        return search_run(
            name,
            self.engine,
            self.collection.queries,
            changes,
            names=self.names,
            filters=self.filters,
            announce=announce,
        )

    def unknown(self) -> tuple[str, ...]:
        """The documents that judgments name and that are not in the index.

        Raises `UsageError` when that is all of them: then names differ, and no figure would mean
        anything.
        """
        here = {self.names.get(entry.id, entry.id) for entry in self.engine.documents()}
        judged = {name for query in self.collection.queries for name in query.relevant}
        if here and judged and not here & judged:
            raise UsageError(
                f"No judged document is in {self.collection.name}: judgments name {min(judged)!r},"
                f" documents are called {min(here)!r}.",
                "Judge documents by their path below docs/, or by their _id in corpus.jsonl.",
            )
        return tuple(sorted(judged - here))


@contextmanager
def open_bench(
    workspace: Workspace,
    collection: Collection,
    overrides: Mapping[str, Any] | None = None,
    announce: Announce = silent,
) -> Iterator[Bench]:
    """Updates the index of a collection, and opens it.

    `overrides` are settings by their full names; with other settings of the index, also those of a
    preset, an index of its own is kept.
    """
    if collection.documents is None:
        raise NotFound(
            f"{collection.name} has no documents to search.",
            "Put them into docs/ or corpus.jsonl, or judge a run file: --run FILE",
        )
    if not all(query.text for query in collection.queries):
        raise NotFound(
            f"{collection.name} has no queries to ask.",
            "Put them into queries.jsonl, or judge a run file: --run FILE",
        )
    chosen = dict(overrides or {})
    folder = evaluation_folder(workspace, collection.documents, chosen)
    documents, names = _documents(collection.documents, folder)
    project = Project(collection.name, folder, (documents,))
    here = {"store.url": "", **chosen}  # a copy is of no use to other machines
    with workspace.open(project, here, announce, fetch=True) as engine:
        withheld = workspace.settings(project).withheld
        report = _brought_level(engine, announce)
        yield Bench(collection, engine, names, report, withheld=withheld)


def evaluation_folder(workspace: Workspace, documents: Path, overrides: Mapping[str, Any]) -> Path:
    """Where the index over these documents is kept, apart for other settings of the index."""
    of_index = of_an_index(overrides)
    key = json.dumps([str(documents.resolve()), sorted(of_index.items())], default=str)
    digest = hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:12]
    return workspace.locations.evaluations / digest


def _documents(documents: Path, folder: Path) -> tuple[Path, dict[str, str]]:
    if documents.is_dir():
        return documents.resolve(), {}
    laid_out = folder / "docs"
    return laid_out, lay_out(documents, laid_out)


def _brought_level(engine: Engine, announce: Announce) -> IndexReport:
    try:
        return engine.index(announce=announce)
    except StampMismatch:  # the user's settings have changed; nothing here is worth a question
        return engine.index(rebuild=True, announce=announce)
