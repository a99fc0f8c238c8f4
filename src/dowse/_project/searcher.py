"""What can be asked of one open project."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dowse._config.request import NO_FILTERS, NOTHING
from dowse._config.schema import (
    MANY_WORDS,
    built_otherwise,
    change_answer,
    change_recipe,
)
from dowse._index.source.roots import path_of
from dowse._model import (
    DocumentEntry,
    Edge,
    Response,
)
from dowse._model.ports import IndexReader
from dowse._project.open_index import OpenIndex
from dowse._search.answering import with_answer, with_written_answer
from dowse._search.confidence.model_fit import read_fit
from dowse._search.listing import list_documents, list_fields, list_values
from dowse._search.pipeline import rank_documents, run_search, start_search
from dowse._search.query.filters import Filters, moment_said
from dowse._search.related import find_related, whole_graph
from dowse._search.replay import retrieve_only
from dowse._search.stages.readable import trust_as_far_as_embedded
from dowse._search.stages.rerank import RerankOptions
from dowse._search.state import SearchParts, SearchState
from dowse._search.words import KnownWords

if TYPE_CHECKING:
    from dowse._search.explain import Explanation
    from dowse._search.listing import Counted, FieldValues, Filter, ListedDocument, Sort
    from dowse._search.references import Passage
    from dowse._search.related import LinkGraph, Related
    from dowse._search.replay import Retrieved


class Searcher:
    """What can be asked of one open project; safe from several threads."""

    def __init__(self, index: OpenIndex) -> None:
        self._index = index
        self._words = KnownWords(index.settings.learned_words or MANY_WORDS)

    def search(
        self,
        query: str,
        *,
        filters: Filters = NO_FILTERS,
        changes: Mapping[str, Any] = NOTHING,
        offset: int = 0,
    ) -> Response:
        """The chunks that answer a query best, after the first `offset` of them.

        `changes` are settings that hold for this search alone, by their full names.
        """
        with self._index.parts.turn, self._searching(query, filters, changes) as search:
            search.offset = offset
            return run_search(search)

    def rank(
        self, query: str, *, filters: Filters = NO_FILTERS, changes: Mapping[str, Any] = NOTHING
    ) -> tuple[tuple[str, float], ...]:
        """The documents of what `search` would find, each by its best chunk and with its score.

        Snippets take longer than the ranking does: callers that need hundreds of results ask here.
        """
        with self._searching(query, filters, changes) as search:
            return rank_documents(search)

    def answer(
        self,
        query: str,
        *,
        filters: Filters = NO_FILTERS,
        changes: Mapping[str, Any] = NOTHING,
        written: bool = True,
    ) -> Response:
        """The same, with what the chunks say to the question.

        Without `written`, in the documents' own sentences, also where a model could write it.
        """
        options, others = change_answer(self._index.settings.answer, changes)
        writer = self._index.parts.writer if written else None
        with self._searching(query, filters, others) as search:
            return with_answer(search, run_search(search), options, writer)

    def write_answer(
        self, response: Response, question: str, changes: Mapping[str, Any] = NOTHING
    ) -> Response:
        """A response of any projects with an answer that this project's model writes, if any."""
        writer = self._index.parts.writer
        if writer is None or not response.hits:
            return response
        options, _ = change_answer(self._index.settings.answer, changes)
        return with_written_answer(question, response, options, writer)

    def explain(
        self,
        query: str,
        reference: str,
        *,
        filters: Filters = NO_FILTERS,
        changes: Mapping[str, Any] = NOTHING,
        here: Path | None = None,
    ) -> Explanation:
        """Why a document has its rank in the results, or is not in them."""
        from dowse._search.explain import explain  # noqa: PLC0415  most calls explain nothing

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
        with self._index.read_usable() as (reading, _):
            document = self._passage(reading, reference, here).document
            return find_related(reading, document, limit)

    def graph(self) -> LinkGraph:
        """All documents and the links between them."""
        with self._index.read_usable() as (reading, _):
            return whole_graph(reading)

    @contextmanager
    def read(self) -> Iterator[IndexReader]:
        """The newest generation of the index, unchanged for as long as it is held."""
        with self._index.read_usable() as (reading, _):
            yield reading

    @contextmanager
    def _searching(
        self, query: str, filters: Filters, changes: Mapping[str, Any]
    ) -> Iterator[SearchState]:
        index = self._index
        recipe = change_recipe(index.settings, changes)
        parts = index.parts
        with self._index.read_usable() as (reading, has_vectors):
            state_parts = SearchParts(
                reading,
                parts.analyzer,
                parts.embedder if has_vectors else None,
                parts.reranker(recipe.of(RerankOptions).model),
                self._words.of,
                index.roots,
                time.time(),
                read_fit(index.project.folder) if has_vectors else None,
            )
            search = start_search(query, recipe, state_parts, filters.conditions(state_parts.now))
            if unfinished := index.unfinished(reading):
                search.notices.append(unfinished)
                trust_as_far_as_embedded(search)
            search.notices += self._notices_of_preset(changes) + index.closed()
            if parts.embedder and not has_vectors:
                search.notices.append(
                    f"Ranked by words alone: the index has no vectors. {index.rebuild}"
                )
            yield search

    def _notices_of_preset(self, changes: Mapping[str, Any]) -> list[str]:
        """Says that only half of a preset can apply, where the index was built otherwise."""
        different = built_otherwise(self._index.settings, changes)
        if not different:
            return []
        preset, typed = changes["search.preset"], self._index.project.typed
        notice = (
            f"The preset {preset} changes only the search: the index was built with other values"
            f" of {', '.join(different)}. To use all of it: dowse config set search.preset {preset}"
            f" -p {typed}, then dowse index --rebuild -p {typed}"
        )
        return [notice]

    def _passage(self, reading: IndexReader, reference: str, here: Path | None) -> Passage:
        from dowse._search.references import find_passage  # noqa: PLC0415  it brings the parsers

        return find_passage(reading, reference, self._index.roots, here)

    def get(self, reference: str, *, here: Path | None = None) -> Passage:
        """A document or a part of it: `path`, `path:line:count`, `path:first-last`, or an id.

        `here` is the folder that a path begins at, by default the current one.
        """
        with self._index.read_usable() as (reading, _):
            return self._passage(reading, reference, here)

    def links(self, document_id: str) -> list[Edge]:
        """The links of a document, to others and from them."""
        with self._index.read() as reading:
            return reading.links.of([document_id])

    def documents(self) -> list[DocumentEntry]:
        """All documents, by id."""
        with self._index.read() as reading:
            return reading.catalogue.documents()

    def listed(
        self, sort: Sort = "path", since: str = "", path: Sequence[str] = ()
    ) -> list[ListedDocument]:
        """The documents in an order, with how many others link to each.

        `since` is a date, also one such as `7d`: only what changed then or later. With `path`, only
        documents whose path begins with one of these.
        """
        moment = moment_said(since, time.time()) if since else None
        with self._index.read() as reading:
            return list_documents(reading, sort, moment, path)

    def values_of(self, name: Filter, path: Sequence[str] = ()) -> list[Counted]:
        """The values of a filter, each with the number of documents that have it."""
        with self._index.read() as reading:
            return list_values(reading, name, path)

    def fields(self, path: Sequence[str] = ()) -> list[FieldValues]:
        """The fields of the frontmatter with their values, each with a number of documents."""
        with self._index.read() as reading:
            return list_fields(reading, path)

    def path_of(self, document_id: str) -> Path:
        """Where a document's file is."""
        return path_of(self._index.roots, document_id)
