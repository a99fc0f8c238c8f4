"""One open project: a searcher, an indexer and a caretaker over one index."""

from __future__ import annotations

from typing import Self

from dowse._config.schema import Settings
from dowse._project.caretaker import Caretaker
from dowse._project.indexer import Indexer
from dowse._project.open_index import OpenIndex
from dowse._project.registry import Project
from dowse._project.searcher import Searcher
from dowse._project.wiring import Parts


class Engine:
    """A project, open; safe from several threads."""

    def __init__(self, project: Project, settings: Settings, parts: Parts) -> None:
        index = OpenIndex(project, settings, parts)
        searcher, indexer, caretaker = Searcher(index), Indexer(index), Caretaker(index)
        self.project, self.settings, self.parts = project, settings, parts
        self.hold, self.read = index.hold, searcher.read
        self.search, self.answer, self.explain = searcher.search, searcher.answer, searcher.explain
        self.write_answer = searcher.write_answer
        self.rank, self.find = searcher.rank, searcher.find
        self.get, self.documents, self.path_of = searcher.get, searcher.documents, searcher.path_of
        self.listed, self.values_of = searcher.listed, searcher.values_of
        self.fields = searcher.fields
        self.related, self.links, self.graph = searcher.related, searcher.links, searcher.graph
        self.index, self.watch, self.reset = indexer.index, indexer.watch, indexer.reset
        self.fit_confidence = indexer.fit_confidence
        self.status, self.built_with = caretaker.status, caretaker.built_with
        self.check, self.repair = caretaker.check, caretaker.repair
        self.writer, self.mismatches = caretaker.writer, caretaker.mismatches

    def of(self, _: str) -> Self:
        """The engine of the project that a hit is from: `AllProjects` has several."""
        return self

    @property
    def writes_answers(self) -> bool:
        """Whether a language model writes the answers."""
        return self.parts.writer is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the store."""
        self.parts.store.close()
