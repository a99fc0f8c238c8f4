"""What can be asked of one open project."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

from dowse.errors import NotFound, StampMismatch
from dowse.flow import (
    Explanation,
    KnownWords,
    LinkGraph,
    Related,
    Retrieved,
    explain,
    find_related,
    rank_documents,
    retrieve_only,
    run_search,
    start_search,
    whole_graph,
    with_answer,
)
from dowse.ports import Reading
from dowse.projects import Project
from dowse.read import path_of
from dowse.references import Passage, find_passage
from dowse.refine.rerank import RerankOptions
from dowse.retrieve import Filters
from dowse.search_state import SearchParts, SearchState
from dowse.settings import Settings, change_recipe
from dowse.stamp import WantedStamp, takes_vectors, wanted_stamp
from dowse.types import (
    DocumentEntry,
    Edge,
    Response,
    Stamp,
)
from dowse.wiring import Parts

NO_FILTERS = Filters()
"""Filters that let everything pass."""

NOTHING: Mapping[str, Any] = MappingProxyType({})
"""No changes to the settings."""


class Asking:
    """A project, open for questions; safe from several threads."""

    def __init__(self, project: Project, settings: Settings, parts: Parts) -> None:
        self.project = project
        self.settings = settings
        self._parts = parts
        self._words = KnownWords(settings.vocabulary.size)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of everything that is open."""
        self._parts.store.close()

    def search(
        self, query: str, *, filters: Filters = NO_FILTERS, changes: Mapping[str, Any] = NOTHING
    ) -> Response:
        """The chunks that answer a query best.

        `changes` are settings that hold for this search alone, by their full names.
        """
        with self._searching(query, filters, changes) as search:
            return run_search(search)

    def rank(
        self, query: str, *, filters: Filters = NO_FILTERS, changes: Mapping[str, Any] = NOTHING
    ) -> tuple[tuple[str, float], ...]:
        """The documents of what `search` would find, each by its best chunk and with its score.

        Snippets take longer than the ranking does: whoever needs hundreds of results asks here.
        """
        with self._searching(query, filters, changes) as search:
            return rank_documents(search)

    def answer(
        self, query: str, *, filters: Filters = NO_FILTERS, changes: Mapping[str, Any] = NOTHING
    ) -> Response:
        """The same, with what the chunks say to the question."""
        with self._searching(query, filters, changes) as search:
            response = run_search(search)
            return with_answer(search, response, self.settings.answer, self._parts.writer)

    def explain(
        self,
        query: str,
        reference: str,
        *,
        filters: Filters = NO_FILTERS,
        changes: Mapping[str, Any] = NOTHING,
        here: Path | None = None,
    ) -> Explanation:
        """Why a document stands where it does in the results, or is not there."""
        with self._searching(query, filters, changes) as search:
            document = self._passage(search.reading, reference, here).document
            run_search(search)
            return explain(search, document)

    def find(
        self, query: str, *, filters: Filters = NO_FILTERS, changes: Mapping[str, Any] = NOTHING
    ) -> Retrieved:
        """What every strategy finds, to be fused in one way or another."""
        with self._searching(query, filters, changes) as search:
            return retrieve_only(search)

    def related(self, reference: str, limit: int = 10, *, here: Path | None = None) -> Related:
        """What belongs to a document: by links, by community, by meaning."""
        with self._reading() as (reading, _):
            document = self._passage(reading, reference, here).document
            return find_related(reading, document, limit)

    def graph(self) -> LinkGraph:
        """All documents and the links between them."""
        with self._reading() as (reading, _):
            return whole_graph(reading)

    @contextmanager
    def read(self) -> Iterator[Reading]:
        """The newest generation of the index, unchanged for as long as it is held."""
        with self._reading() as (reading, _):
            yield reading

    @contextmanager
    def _reading(self) -> Iterator[tuple[Reading, bool]]:
        """A reading that can be used, and whether it has vectors."""
        with self._parts.store.read() as reading:
            yield reading, takes_vectors(self._check_readable(reading))

    @contextmanager
    def _searching(
        self, query: str, filters: Filters, changes: Mapping[str, Any]
    ) -> Iterator[SearchState]:
        recipe, parts = change_recipe(self.settings, changes), self._parts
        with self._reading() as (reading, has_vectors):
            state_parts = SearchParts(
                reading,
                parts.analyzer,
                parts.embedder if has_vectors else None,
                parts.reranker(recipe.of(RerankOptions).model),
                self._words.of,
                self.project.named_roots,
                time.time(),
            )
            search = start_search(query, recipe, state_parts, filters.conditions())
            if parts.embedder and not has_vectors:
                search.notices.append(
                    f"Ranked by words alone: the index has no vectors. {self._rebuild}"
                )
            yield search

    def _passage(self, reading: Reading, reference: str, here: Path | None) -> Passage:
        return find_passage(reading, reference, self.project.named_roots, here)

    def get(self, reference: str, *, here: Path | None = None) -> Passage:
        """A document or a part of it: `path`, `path:line:count`, `path:first-last`, or an id.

        `here` is the folder that a path begins at, by default the current one.
        """
        with self._reading() as (reading, _):
            return self._passage(reading, reference, here)

    def links(self, document_id: str) -> list[Edge]:
        """The links of a document, to others and from them."""
        with self._parts.store.read() as reading:
            return reading.links.of([document_id])

    def documents(self) -> list[DocumentEntry]:
        """All documents, by id."""
        with self._parts.store.read() as reading:
            return reading.catalogue.documents()

    def path_of(self, document_id: str) -> Path:
        """Where a document's file is."""
        return path_of(self.project.named_roots, document_id)

    # ── The stamp ────────────────────────────────────────────────────────────

    def _wanted(self) -> WantedStamp:
        settings, parts = self.settings, self._parts
        return wanted_stamp(settings.read, settings.chunk, parts.analyzer, parts.embedder)

    def _check_stamp(self, stamp: Stamp, wanted: WantedStamp) -> None:
        mismatches = wanted.mismatches(stamp)
        if mismatches:
            raise StampMismatch(
                "The index was built with other settings. " + " ".join(mismatches), self._rebuild
            )

    @property
    def _rebuild(self) -> str:
        return f"Rebuild it with: dowse index --rebuild -p {self.project.name}"

    def _check_readable(self, reading: Reading) -> Stamp:
        stamp = reading.catalogue.stamp()
        if stamp is None:
            raise NotFound(
                f"The project {self.project.name!r} has not been indexed yet.",
                f"Index it with: dowse index -p {self.project.name}",
            )
        self._check_stamp(stamp, self._wanted())
        return stamp
