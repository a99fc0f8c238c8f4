"""An open project: search it, read it, index it, and see how its index is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Self

from msgspec import Struct
from msgspec.structs import asdict, replace

from dowse._config.schema import MANY_WORDS, Settings, built_otherwise, change_answer, change_search
from dowse._index.source.roots import path_of
from dowse._model import (
    CHUNK_VERSION,
    EMBEDDING_TEXT_VERSION,
    PARSE_VERSION,
    Announce,
    Counts,
    DocumentEntry,
    Edge,
    Explanation,
    Finding,
    Freshness,
    Hit,
    IndexReport,
    Passage,
    Related,
    Response,
    Shard,
    Stamp,
    silent,
)
from dowse._model.ports import Analyzer, Embedder, IndexReader, Reranker, Store, Writer
from dowse._project.registry import Project
from dowse._project.state import unfinished_run, unread_of
from dowse._search.answer import with_answer, with_written_answer
from dowse._search.confidence import read_fit
from dowse._search.hits import explain
from dowse._search.listing import (
    LinkGraph,
    ListedDocument,
    Sort,
    find_related,
    list_documents,
    whole_graph,
)
from dowse._search.pipeline import rank_documents, run_search
from dowse._search.request import SearchRequest, moment_said
from dowse._search.state import SearchParts, SearchState
from dowse._search.understand import KnownWords
from dowse.errors import (
    Damaged,
    DowseError,
    EmbedError,
    NotFound,
    StampMismatch,
)


class Status(Struct, frozen=True):
    """What `dowse status` says."""

    project: Annotated[str, "Name of the project."]
    roots: Annotated[tuple[str, ...], "Its folders, absolute."]
    folder: Annotated[str, "Where the index is."]
    bytes: Annotated[int, "What the index takes on disk."]
    indexed: Annotated[bool, "Whether it has been indexed yet."]
    up_to_date: Annotated[bool, "Whether the index matches the folder, with every vector."]
    freshness: Annotated[Freshness, "Files that are new, changed or deleted since."]
    counts: Annotated[Counts, "How much the index holds."]
    stamp: Annotated[Stamp | None, "What the index was built with."]
    notices: Annotated[tuple[str, ...], "Why the index or a folder cannot be used, and what to do."]
    run: Annotated[str, "An indexing run that has not come to its end; empty: none."]
    unread: Annotated[int, "Files that could not be read, and have not changed since."]
    imported: Annotated[
        tuple[str, ...],
        "Those of `roots` that are not on this machine: their text comes from an import.",
    ]


class Parts(Struct, frozen=True):
    """The parts of an engine."""

    store: Store
    analyzer: Analyzer
    embedder: Embedder | None  # None: the user wants no vectors
    # By model how it is opened; None: there is none.
    reranker: Callable[[str], Callable[[], Reranker] | None] = lambda _: None
    writer: Writer | None = None  # None: answers are the documents' own sentences
    default: Callable[[], Embedder | None] = lambda: None  # opens the model that ships
    turn: AbstractContextManager[object] = nullcontext()  # what a search holds while it computes


# ── What an index is built with: old and new are never mixed ────────────────────

NO_MODEL: Stamp = {"model": "none", "dimensions": 0}


class ExpectedStamp(Struct, frozen=True):
    """The stamp that the settings ask for."""

    text: Stamp  # how documents are understood, cut and analysed
    model: Stamp  # which model makes the vectors; empty when it cannot be had
    why_no_model: str  # the reason, when there ought to be one

    @property
    def whole(self) -> Stamp:
        """Return the stamp of a new index."""
        return NO_MODEL | self.model | self.text

    def mismatches(self, stamp: Stamp) -> list[str]:
        """Say where an index differs, in sentences.

        A model that cannot be had makes no vectors that could be mixed, so it is no difference.
        """
        # Older indexes do not say what is embedded before the text of a chunk, or in a window.
        known = {"chunk.context": "title", "chunk.frontmatter": False} | dict(_flat(stamp))
        return [
            f"{name}: the index has {known.get(name)!r}, the settings say {value!r}."
            for name, value in _flat(self.model | self.text)
            if known.get(name) != value
        ]


def takes_vectors(stamp: Stamp) -> bool:
    """Tell whether an index was built to hold vectors."""
    return bool(stamp["model"] != NO_MODEL["model"])


def _flat(stamp: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """List the values of a stamp by their full names, as a message can show them."""
    for name, value in stamp.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


# ── An open project ─────────────────────────────────────────────────────────────


class Engine(AbstractContextManager["Engine"]):
    """An open project; safe from several threads."""

    def __init__(self, project: Project, settings: Settings, parts: Parts) -> None:
        self.project, self.settings, self.parts = project, settings, parts
        self.roots = project.named_roots
        self._words = KnownWords(settings.learned_words or MANY_WORDS)
        self._held = threading.local()
        self._fitting: Stamp | None = None  # the last stamp that was found to fit

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store."""
        self.parts.store.close()

    def of(self, _: str) -> Self:
        """Return the engine of the project that a hit is from: `AllProjects` has several."""
        return self

    @property
    def names(self) -> list[str]:
        """List the names of the projects that are searched: this one."""
        return [self.project.name]

    def having(self, *_: object) -> Self:
        """Return the engine of the project that has a document: `AllProjects` looks for it."""
        return self

    @property
    def writes_answers(self) -> bool:
        """Tell whether a language model writes the answers."""
        return self.parts.writer is not None

    # ── Opening the index ────────────────────────────────────────────────────

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Open one generation of the index for everything that this thread reads inside."""
        with self.read(fitting=False) as reader:
            before = getattr(self._held, "reader", None)
            self._held.reader = reader
            try:
                yield
            finally:
                self._held.reader = before

    @contextmanager
    def read(self, *, fitting: bool = True) -> Iterator[IndexReader]:
        """Open the newest generation, or the held one; raise unless it fits the settings.

        Without `fitting`, whatever settings it was built with, and also when it is empty.
        """
        held: IndexReader | None = getattr(self._held, "reader", None)
        with nullcontext(held) if held else self.parts.store.read() as reader:
            stamp = reader.catalogue.stamp() if fitting else None
            if fitting and stamp is None:
                raise NotFound(
                    f"The project {self.project.name!r} has not been indexed yet.",
                    f"Index it with: dowse index -p {self.project.typed}",
                )
            if stamp and stamp != self._fitting:
                expected = self.expected_stamp()
                self.check_stamp(stamp, expected)
                # A model that cannot be had yet may turn out to be another one.
                self._fitting = None if expected.why_no_model else stamp
            yield reader

    def expected_stamp(self) -> ExpectedStamp:
        """Return what the index must have been built with for these settings."""
        text: Stamp = {
            "chunk": {"version": CHUNK_VERSION, **asdict(self.settings.chunk)},
            "keyword": dict(self.parts.analyzer.stamp),
            "parse": {"version": PARSE_VERSION},
            "read": {"redact": sorted(set(self.settings.read.redact))},
        }
        if self.parts.embedder is None:
            return ExpectedStamp(text, NO_MODEL, "")
        try:
            model = self.parts.embedder.model
        except EmbedError as error:
            return ExpectedStamp(text, {}, str(error))
        made_by: Stamp = {
            "model": model.key,
            "dimensions": model.dimensions,
            "embedding_text": EMBEDDING_TEXT_VERSION,
        }
        return ExpectedStamp(text, made_by, "")

    def check_stamp(self, stamp: Stamp, expected: ExpectedStamp) -> None:
        """Raise `StampMismatch` when the index was built with other settings."""
        if mismatches := expected.mismatches(stamp):
            raise StampMismatch(
                "The index was built with other settings. " + " ".join(mismatches),
                self.rebuild_advice,
            )

    @property
    def rebuild_advice(self) -> str:
        """Return the command that builds the index again, in a sentence."""
        return f"Rebuild it with: dowse index --rebuild -p {self.project.typed}"

    # ── Searching ────────────────────────────────────────────────────────────

    def search(self, request: SearchRequest) -> Response:
        """Find the passages that answer a query best."""
        with self.parts.turn, self._searching(request) as search:
            found = run_search(search)
            return self._with_contexts(found) if self.project.contexts else found

    def answer(self, request: SearchRequest, *, written: bool = True) -> Response:
        """Search, and say what the passages say to the question.

        Without `written`, in the documents' own sentences, also where a model could write it.
        """
        options, changes = change_answer(self.settings, request.changes)
        writer = self.parts.writer if written else None
        with self._searching(replace(request, changes=changes)) as search:
            found = with_answer(search, run_search(search), options, writer)
            return self._with_contexts(found) if self.project.contexts else found

    def _with_contexts(self, response: Response) -> Response:
        """Add what the user says of the folders that hits are below."""

        def told(hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
            context = self.project.context_of
            return tuple(replace(hit, context=context(hit.document)) for hit in hits)

        return replace(response, hits=told(response.hits), nearest=told(response.nearest))

    def write_answer(self, response: Response, request: SearchRequest) -> Response:
        """Let this project's model, if any, write an answer from the results of any projects."""
        writer = self.parts.writer
        if writer is None or not response.hits:
            return response
        options, _ = change_answer(self.settings, request.changes)
        return with_written_answer(request.query, response, options, writer)

    def explain(
        self, request: SearchRequest, reference: str, *, here: Path | None = None
    ) -> Explanation:
        """Explain why a document has its rank in the results, or is not in them."""
        with self._searching(request) as search:
            document = self._passage(search.reader, reference, here).document
            run_search(search)
            return explain(search, document)

    def rank(self, request: SearchRequest) -> tuple[tuple[str, float], ...]:
        """Rank documents as `search` does, each by its best chunk and with its score.

        Snippets take longer than the ranking: callers that need hundreds of results use this.
        """
        with self._searching(request) as search:
            return rank_documents(search)

    @contextmanager
    def _searching(self, request: SearchRequest) -> Iterator[SearchState]:
        """Open the index, and make the state with which the stages of a search begin."""
        settings, parts = change_search(self.settings, request.changes), self.parts
        with self.read() as reader:
            has_vectors = takes_vectors(reader.catalogue.stamp() or NO_MODEL)
            unfinished = self.unfinished(reader)
            sizes = reader.catalogue.sizes() if unfinished else None
            search_parts = SearchParts(
                parts.analyzer,
                parts.embedder if has_vectors else None,
                parts.reranker(settings.rerank.model),
                self._words.of,
                self.roots,
                time.time(),
                read_fit(self.project.folder) if has_vectors else None,
                min(1.0, sizes.embedded / sizes.chunks) if sizes and sizes.chunks else 1.0,
                self.project.name,
            )
            search = SearchState(request, settings, reader, search_parts)
            search.notices += [unfinished] if unfinished else []
            preset = request.changes.get("search.preset")
            if preset and (different := built_otherwise(self.settings, request.changes)):
                search.notices.append(
                    f"The preset {preset} changes only the search: the index was built with other"
                    f" values of {', '.join(different)}. To use all of it: dowse config set"
                    f" search.preset {preset} -p {self.project.typed}, then dowse index --rebuild"
                    f" -p {self.project.typed}"
                )
            search.notices += self.closed_roots()
            if parts.embedder and not has_vectors:
                search.notices.append(
                    f"Ranked by words alone: the index has no vectors. {self.rebuild_advice}"
                )
            yield search

    def closed_roots(self) -> list[str]:
        """Say which folders may not be entered, and what to do about it."""
        return [
            f"{root.path} cannot be entered, so its documents are shown as they were indexed."
            f" Allow yourself to enter it with: chmod u+rwx {quote(str(root.path))}"
            for root in self.roots
            if root.is_closed
        ]

    def unfinished(self, reader: IndexReader) -> str:
        """Say that a run has not come to its end, here or on another machine; or nothing."""
        if run := unfinished_run(self.project.folder):
            return run.sentence(self.project.typed)
        # The note of a run is on the machine where it runs; all machines can ask the database.
        if not self.settings.store.url or reader.catalogue.is_finished():
            return ""
        sizes = reader.catalogue.sizes()
        return (
            f"The index is not finished: it has {sizes.documents:,} documents and"
            f" {sizes.embedded:,} vectors for {sizes.chunks:,} chunks so far. If no run is going"
            f" on: dowse index -p {self.project.typed}"
        )

    # ── Reading documents ────────────────────────────────────────────────────

    def get(self, reference: str, *, here: Path | None = None) -> Passage:
        """Read a document or a part: `path`, `path:line:count`, `path:first-last`, or an id.

        `here` is the folder that a path begins at, by default the current one.
        """
        with self.read() as reader:
            return self._passage(reader, reference, here)

    def _passage(self, reader: IndexReader, reference: str, here: Path | None) -> Passage:
        from dowse._search.references import find_passage  # noqa: PLC0415  it brings the parsers

        return find_passage(reader, reference, self.roots, here)

    def related(self, reference: str, limit: int = 10, *, here: Path | None = None) -> Related:
        """Find what belongs to a document: by links, by community, by meaning."""
        with self.read() as reader:
            return replace(
                find_related(reader, self._passage(reader, reference, here).document, limit),
                project=self.project.name,
            )

    def graph(self) -> LinkGraph:
        """Return all documents and the links between them."""
        with self.read() as reader:
            return whole_graph(reader)

    def links(self, document_id: str) -> list[Edge]:
        """List the links of a document, to others and from them."""
        with self.read(fitting=False) as reader:
            return reader.links.of([document_id])

    def documents(self) -> list[DocumentEntry]:
        """List all documents, by id."""
        with self.read(fitting=False) as reader:
            return reader.catalogue.documents()

    def listed(
        self, sort: Sort = "path", since: str = "", path: Sequence[str] = ()
    ) -> list[ListedDocument]:
        """List the documents in an order, with how many others link to each.

        `since` is a date, also one such as `7d`: only what changed then or later. With `path`, only
        documents whose path begins with one of these.
        """
        moment = moment_said(since, time.time()) if since else None
        with self.read(fitting=False) as reader:
            return list_documents(reader, sort, moment, path, self.project.name)

    def path_of(self, document_id: str) -> Path:
        """Return where a document's file is."""
        return path_of(self.roots, document_id)

    # ── Indexing ─────────────────────────────────────────────────────────────

    def index(
        self,
        paths: Sequence[Path] = (),
        *,
        rebuild: bool = False,
        shard: Shard | None = None,
        wait: float = 10.0,
        announce: Announce = silent,
    ) -> IndexReport:
        """Update the index from the folder, or from some paths of it, or from one shard.

        With `rebuild` it is emptied first, and filled with everything again; raises `Refused` when
        there is nothing to fill it with. Raises `Locked` when another process is still writing
        after `wait` seconds, and `Refused` when a link has taken the place of a folder.
        """
        from dowse._project.indexing import update  # noqa: PLC0415  searching needs no parsers

        return update(self, paths, shard, wait, announce, rebuild=rebuild)

    def reset(self, wait: float = 10.0, stamp: Stamp | None = None) -> None:
        """Empty the index; known vectors are kept, so that indexing again is quick.

        An index that cannot be opened any more, or is of another version, is removed altogether.
        """
        try:
            self._start(wait, stamp)
        except (Damaged, StampMismatch):
            self.parts.store.discard(wait)
            self._start(wait, stamp)

    def _start(self, wait: float, stamp: Stamp | None) -> None:
        with self.parts.store.write(wait) as writer:
            writer.start(stamp or self.expected_stamp().whole)

    # ── The state of the index ───────────────────────────────────────────────

    def status(self) -> Status:
        """Compare the index with its folder and with the settings."""
        from dowse._index.source.walk import has_changed, scan  # noqa: PLC0415  searches walk no folder

        options = self.settings.read
        with self.read(fitting=False) as reader:
            stamp = reader.catalogue.stamp()
            mismatches = self.expected_stamp().mismatches(stamp) if stamp else []
            changes = scan(self.roots, (), options, reader.catalogue.files())
            known, unread = changes.known, unread_of(self.project.folder, changes.pending)
            waiting = [
                source.id
                for source in changes.pending
                if source.id not in unread and has_changed(source, known.get(source.id), options)
            ]
            new = sum(id_ not in known for id_ in waiting)
            gone, counts = len(changes.gone), reader.catalogue.counts()
            unembedded = stamp and takes_vectors(stamp) and counts.embedded < counts.chunks
            return Status(
                project=self.project.name,
                roots=tuple(str(root) for root in self.project.roots),
                folder=self.parts.store.place,
                bytes=self.parts.store.bytes(),
                indexed=stamp is not None,
                up_to_date=not waiting and not gone and not unembedded,
                freshness=Freshness(new, len(waiting) - new, gone),
                counts=counts,
                stamp=stamp,
                notices=(
                    *mismatches,
                    *([self.rebuild_advice] if mismatches else []),
                    *self.closed_roots(),
                ),
                run=self.unfinished(reader),
                unread=len(unread),
                imported=tuple(str(root.path) for root in self.roots if root.is_elsewhere),
            )

    def built_with(self) -> Stamp | None:
        """Return the stamp of the index; None while there is none."""
        with self.read(fitting=False) as reader:
            return reader.catalogue.stamp()

    def mismatches(self) -> list[str]:
        """List the settings that the index was not built with; none while it can be used."""
        stamp = self.built_with()
        return self.expected_stamp().mismatches(stamp) if stamp else []

    def writer(self) -> str:
        """Say who is writing to the index now; empty when nobody is."""
        try:
            with self.parts.store.write(wait=0):
                return ""
        except DowseError as error:  # or nothing can be written, which is no damage
            return error.message

    def check(self) -> list[Finding]:
        """List what is damaged, with the command that repairs it."""
        return self.parts.store.check()

    def repair(self, wait: float = 10.0) -> None:
        """Rebuild what is damaged."""
        self.parts.store.repair(wait)
