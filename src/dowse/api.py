"""dowse for programs: `from dowse import Dowse`."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import date
from functools import partial, wraps
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypedDict, TypeVar, Unpack

from anyio import to_thread

from dowse._config.request import NOTHING, OPTIONS, Call, parse_request
from dowse._model import (
    Announce,
    DocumentEntry,
    Event,
    Explanation,
    IndexReport,
    Passage,
    Related,
    Response,
    silent,
)
from dowse._model.ports import Analyzer, Embedder, Reranker, Store
from dowse._project.all_projects import AllProjects
from dowse._project.engine import Engine, Status
from dowse._project.registry import Project
from dowse._project.workspace import Given, OpenStore, Workspace
from dowse._search.formats import within_texts
from dowse._search.listing import (
    SORTS,
    Counted,
    FieldValues,
    LinkGraph,
    ListedDocument,
    Sort,
    list_fields,
    list_values,
)
from dowse._search.request import SearchRequest
from dowse._search.strategies import Mode
from dowse._util.files import Locations, locations
from dowse._util.process import raise_if_cancelled, until_given_up
from dowse.errors import NotFound, UsageError

_P = ParamSpec("_P")
_R = TypeVar("_R")

Some = str | Sequence[str]
"""One text, or several."""


class Opening(TypedDict, total=False):
    """The arguments with which a project is opened."""

    settings: Mapping[str, Any]  # by their full names; they hold for as long as it is open
    home: str | os.PathLike[str] | None  # keeps dowse's files, instead of the user's folders
    embedder: Embedder | None  # makes the vectors instead of the model of the settings
    reranker: Reranker | None  # reads results once more instead of the model of the settings
    store: OpenStore | None  # opens another store than the one in the project's folder


class Asking(TypedDict, total=False):
    """The options of a search besides the query: the rows of `dowse._config.request.OPTIONS`.

    What is left out, or None, the settings decide. A test compares the names with the rows.
    """

    n: int
    offset: int  # of search alone
    mode: Mode
    tag: Some
    path: Some
    after: str | date
    before: str | date
    where: Some  # all of these hold of the frontmatter: status=draft, rating>3
    category: Some
    author: Some
    source: Some
    language: Some
    min_confidence: float
    passages: bool
    parents: bool
    mmr: bool
    per_doc: int
    rerank: bool
    preset: str
    set: Some  # settings as texts: fuse.keyword=2
    max_tokens: int  # not for explain
    tags: Some  # an older name of `tag`
    settings: Mapping[str, Any]  # any other setting of the call, by its full name


class Dowse(AbstractContextManager["Dowse"]):
    """A project, open: safe from several threads, and to be closed or used in a `with`."""

    def __init__(
        self,
        place: str | os.PathLike[str] | None = None,
        *,
        settings: Mapping[str, Any] = NOTHING,
        home: str | os.PathLike[str] | None = None,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        store: OpenStore | None = None,
    ) -> None:
        """Open the project of a folder, or the one of a name; by default that of this folder.

        A folder that belongs to no project becomes one. `Opening` explains the other arguments.
        """
        self._opening = Opening(
            settings=dict(settings), home=home, embedder=embedder, reranker=reranker, store=store
        )
        given = Given(embedder, reranker, store and _opened_once(store))
        self._workspace = Workspace(locations_of(home), given)
        self.project, self._within = _select(self._workspace, place)
        self._engine = self._workspace.open(self.project, settings)
        self._lock = threading.Lock()
        self._users = 1  # this object until it is closed, and each call under way
        self._closed = False

    @classmethod
    def open(cls, place: str | os.PathLike[str] | None = None, **opening: Unpack[Opening]) -> Self:
        """Do the same as calling the class: `with Dowse.open("notes") as notes: …`."""
        return cls(place, **opening)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.project.name!r}{' closed' if self._closed else ''}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Open it again in the process that it is sent to: by its name, with the same parts."""
        place = self._within[0] if self._within else self.project.name
        return partial(type(self), place, **self._opening), ()

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store, once calls in other threads have ended."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._leave()

    # ── Indexing ─────────────────────────────────────────────────────────────

    def index(
        self, *, rebuild: bool = False, wait: float = 10.0, progress: Announce = silent
    ) -> IndexReport:
        """Update the index from the folder; missing weights of the model are fetched.

        With `rebuild` it starts empty. Raises `Locked` when another process writes for longer than
        `wait` seconds. `progress` is called with an `Event` now and then.
        """

        def announce(event: Event) -> None:
            raise_if_cancelled()  # a cancelled run ends at its next event; finished batches stay
            progress(event)

        # Others may have given it further folders, whose documents must stay.
        project = self._workspace.projects.get(self.project.name)
        with (
            self._in_use(),
            self._workspace.open(
                project, self._opening["settings"], progress, fetch=True
            ) as engine,
        ):
            return engine.index(self._within, rebuild=rebuild, wait=wait, announce=announce)

    # ── Asking ───────────────────────────────────────────────────────────────

    def search(self, query: str, **asking: Unpack[Asking]) -> Response:
        """Find the passages that answer a query best; `Asking` lists the other options."""
        request = request_of("search", query, asking)
        with self._in_use() as engine:
            return within_texts(engine.search(request), request.max_tokens)

    def answer(self, query: str, **asking: Unpack[Asking]) -> Response:
        """Do the same, and put what the passages say to the question into `Response.answer`."""
        request = request_of("answer", query, asking)
        return within_texts(self._call(Engine.answer, request), request.max_tokens)

    def explain(self, query: str, reference: str, **asking: Unpack[Asking]) -> Explanation:
        """Explain why a document has its rank in the results, or is not in them."""
        return self._call(Engine.explain, request_of("explain", query, asking), reference)

    def get(self, reference: str) -> Passage:
        """Read a document or a part of it: `path`, `path:first-last`, or an id."""
        return self._call(Engine.get, reference)

    def related(self, reference: str, n: int = 10) -> Related:
        """Find what belongs to a document by links, community and meaning, at most `n` of each."""
        if n < 1:
            raise UsageError("n must be at least 1.", "Leave it out for 10 of each kind.")
        return self._call(Engine.related, reference, n)

    def documents(self) -> list[DocumentEntry]:
        """List all documents, by id."""
        return self._call(Engine.documents)

    def list_documents(
        self, sort: Sort = "path", *, since: str | date = "", path: Some = ()
    ) -> list[ListedDocument]:
        """List documents with how many others link to each: by path, newest or most linked first.

        `since` keeps what changed at or after a date, such as `7d`; `path` keeps what begins so.
        """
        if sort not in SORTS:
            raise UsageError(f"sort cannot be {sort!r}.", f"Use one of: {', '.join(SORTS)}.")
        written = since.isoformat() if isinstance(since, date) else since
        return self._call(Engine.listed, sort, written, _several(path))

    def tags(self, path: Some = ()) -> list[Counted]:
        """List the tags of all documents, or of those whose path begins so, most frequent first."""
        return list_values(self.documents(), "tag", _several(path))

    def folders(self, path: Some = ()) -> list[Counted]:
        """List the folders with how many documents are below each, in the order of their paths."""
        return list_values(self.documents(), "path", _several(path))

    def fields(self, path: Some = ()) -> list[FieldValues]:
        """List the fields of the frontmatter with their values and counts, most frequent first."""
        return list_fields(self.documents(), _several(path))

    def graph(self) -> LinkGraph:
        """Return all documents and the links between them."""
        return self._call(Engine.graph)

    def status(self) -> Status:
        """Return what the index holds, and how far the folder has moved on from it."""
        return self._call(Engine.status)

    def path_of(self, document_id: str) -> Path:
        """Return where a document's file is, or was."""
        return self._engine.path_of(document_id)

    @contextmanager
    def _in_use(self) -> Iterator[Engine]:
        """Keep the engine open for as long as a call needs it."""
        with self._lock:
            if self._closed:
                raise UsageError("This Dowse is closed.", "Open another one: Dowse.open(…)")
            self._users += 1
        try:
            yield self._engine
        finally:
            self._leave()

    def _leave(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users:
                return
        self._engine.close()

    def _call(
        self,
        method: Callable[Concatenate[Engine, _P], _R],
        *arguments: _P.args,
        **keywords: _P.kwargs,
    ) -> _R:
        with self._in_use() as engine:
            return method(engine, *arguments, **keywords)


def _several(texts: Some) -> Sequence[str]:
    return (texts,) if isinstance(texts, str) else texts


def _opened_once(open_store: OpenStore) -> OpenStore:
    """Give the same store every time, so that indexing fills the one that is searched."""
    opened: list[Store] = []

    def once(analyzer: Analyzer) -> Store:
        if not opened:
            opened.append(open_store(analyzer))
        return opened[0]

    return once


def locations_of(home: str | os.PathLike[str] | None) -> Locations | None:
    """Return where dowse's own files lie; the weights of models are shared in any case."""
    if home is None:
        return None
    folder = Path(os.path.realpath(Path(home).expanduser()))
    return Locations(folder / "config", folder / "data", locations().cache)


def _select(
    workspace: Workspace, place: str | os.PathLike[str] | None
) -> tuple[Project, list[Path]]:
    """Find the project that is meant, and the paths of it that are indexed; none means all."""
    here = Path.cwd().resolve()
    if place is None:
        return workspace.select(None, here), []
    if isinstance(place, str) and workspace.projects.knows(place):
        return workspace.projects.get(place), []
    path = Path(os.path.realpath(Path(place).expanduser()))
    # An empty text is a variable that nobody has set, not the current folder.
    if not os.fspath(place) or not path.exists():
        known = ", ".join(project.name for project in workspace.projects.all()) or "none yet"
        raise NotFound(
            f"{os.fspath(place)!r} is neither a folder nor a project.", f"Known projects: {known}."
        )
    return workspace.select_for_indexing(None, [path], here)


_LISTS = frozenset(name for row in OPTIONS if row.is_list for name in (row.name, *row.aliases))


def request_of(call: Call, query: object, asking: Asking) -> SearchRequest:
    """Build the request of a call; Python also takes one text for a list, paths, and dates."""
    given: dict[str, Any] = {"query": query if isinstance(query, str) else ""}
    arguments: Mapping[str, Any] = asking
    for name, value in arguments.items():
        if isinstance(value, date):  # or a datetime; one without a zone is in UTC
            given[name] = value.isoformat()
        elif name in _LISTS and value is not None:
            is_one = isinstance(value, str) or not isinstance(value, Iterable)
            given[name] = [
                os.fspath(one) if isinstance(one, os.PathLike) else one
                for one in ([value] if is_one else value)
            ]
        elif value is not None:
            given[name] = value
    settings = given.pop("settings", NOTHING)
    if not isinstance(settings, Mapping):
        raise UsageError("settings must be a mapping.", 'As in: settings={"search.top_k": 30}')
    return parse_request(call, given, settings)


# ── All projects for programs: `from dowse import AllDowse` ───────────────


class OpeningAll(TypedDict, total=False):
    """The arguments with which all projects are opened; `Opening` explains each."""

    home: str | os.PathLike[str] | None
    embedder: Embedder | None
    reranker: Reranker | None


class AllDowse(AbstractContextManager["AllDowse"]):
    """All projects of a user, to be searched at once and closed, or used in a `with`."""

    def __init__(
        self,
        *,
        home: str | os.PathLike[str] | None = None,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
    ) -> None:
        """Open each project when it is first searched; `Opening` explains the arguments."""
        self._opened = ExitStack()
        workspace = Workspace(locations_of(home), Given(embedder, reranker))
        self._all = AllProjects(
            workspace.projects,
            lambda project: self._opened.enter_context(workspace.open(project)),
        )

    def search(self, query: str = "", **asking: Unpack[Asking]) -> Response:
        """Find the best passages of all projects; `Hit.project` names the one each is from."""
        request = request_of("search", query, asking)
        return within_texts(self._all.search(request), request.max_tokens)

    def answer(self, query: str, **asking: Unpack[Asking]) -> Response:
        """Do the same, and put what the passages say to the question into `Response.answer`."""
        request = request_of("answer", query, asking)
        return within_texts(self._all.answer(request), request.max_tokens)

    def close(self) -> None:
        """Close all that were opened."""
        self._opened.close()

    def __exit__(self, *_: object) -> None:
        self.close()


_T = TypeVar("_T", bound=Dowse | AllDowse)


# ── dowse for programs with an event loop, of asyncio or trio ─────────────


class _Awaited(Generic[_T]):
    """An object in threads, with methods to be awaited; it is opened by the first of them."""

    def __init__(self, open_one: Callable[[], _T]) -> None:
        self._open = open_one
        self._lock = threading.Lock()
        self._one: _T | None = None

    def _opened(self) -> _T:
        with self._lock:
            if self._one is None:
                self._one = self._open()
            return self._one

    async def __aenter__(self) -> Self:
        await to_thread.run_sync(self._opened)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._opened().close()  # not awaited: a task that was cancelled can await nothing


def _awaited(
    method: Callable[Concatenate[_T, _P], _R],
) -> Callable[Concatenate[_Awaited[_T], _P], Coroutine[Any, Any, _R]]:
    """Run a method in a thread; a call that is cancelled gives up its work."""

    @wraps(method)
    async def call(self: _Awaited[_T], /, *arguments: _P.args, **keywords: _P.kwargs) -> _R:
        with until_given_up():
            return await to_thread.run_sync(
                lambda: method(self._opened(), *arguments, **keywords), abandon_on_cancel=True
            )

    return call


class AsyncDowse(_Awaited[Dowse]):
    """The same as `Dowse`, with methods to be awaited; it is opened by the first of them."""

    def __init__(
        self, place: str | os.PathLike[str] | None = None, **opening: Unpack[Opening]
    ) -> None:
        super().__init__(partial(Dowse, place, **opening))

    @classmethod
    def open(cls, place: str | os.PathLike[str] | None = None, **opening: Unpack[Opening]) -> Self:
        """Do the same as calling the class: `async with AsyncDowse.open("notes") as notes: …`."""
        return cls(place, **opening)

    index = _awaited(Dowse.index)
    search = _awaited(Dowse.search)
    answer = _awaited(Dowse.answer)
    explain = _awaited(Dowse.explain)
    get = _awaited(Dowse.get)
    related = _awaited(Dowse.related)
    documents = _awaited(Dowse.documents)
    list_documents = _awaited(Dowse.list_documents)
    tags = _awaited(Dowse.tags)
    folders = _awaited(Dowse.folders)
    fields = _awaited(Dowse.fields)
    graph = _awaited(Dowse.graph)
    status = _awaited(Dowse.status)
    path_of = _awaited(Dowse.path_of)
    close = _awaited(Dowse.close)


class AsyncAllDowse(_Awaited[AllDowse]):
    """The same as `AllDowse`, with methods to be awaited."""

    def __init__(self, **opening: Unpack[OpeningAll]) -> None:
        super().__init__(partial(AllDowse, **opening))

    search = _awaited(AllDowse.search)
    answer = _awaited(AllDowse.answer)
    close = _awaited(AllDowse.close)
