"""The JSON API: a table of routes, each a function from a record to a record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from anyio import CancelScope, CapacityLimiter, create_task_group, to_thread
from anyio.lowlevel import RunVar
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response as HttpResponse
from starlette.routing import Route as HttpRoute

from dowse import __version__
from dowse.editors import editor_address, obsidian_address
from dowse.engine import Engine
from dowse.errors import DowseError
from dowse.flow.why import why
from dowse.front.web import lists
from dowse.front.web.answers import answer
from dowse.front.web.observing import AliveShape, ReadyShape, readiness
from dowse.front.web.parameters import (
    COUNTED,
    DOCUMENT,
    DOCUMENTS,
    FIELDS,
    PICTURE,
    PROJECT,
    RELATED,
    VALUES,
    from_address,
    from_json,
    searching,
)
from dowse.front.web.pictures import picture
from dowse.front.web.records import (
    DocumentPageShape,
    HealthShape,
    JobShape,
    PageProjectsShape,
    PictureShape,
    ServerStatusShape,
    SwitchesShape,
)
from dowse.front.web.watching import Watchers
from dowse.parameters import Arguments, Malformed, Parameter
from dowse.present import within_texts
from dowse.records.links import GraphShape, RelatedShape
from dowse.records.listing import CountedListShape, DocumentListShape, FieldListShape
from dowse.records.project import ProjectShape, StatusShape
from dowse.records.search import ExplanationShape, ResponseShape, Searched
from dowse.request import SearchRequest
from dowse.service import Service
from dowse.types import Response, Trace
from dowse.wanted import until_given_up

ROOT = "/api/v1"
"""Where the API begins."""

# More threads would only take turns, and leave none to the loop that reads requests.
_AT_ONCE = 8
_working: RunVar[CapacityLimiter] = RunVar("working")
_UNTRACED = Trace((), ())


@dataclass(frozen=True, slots=True)
class Shared:
    """What all requests share."""

    service: Service
    watchers: Watchers

    @contextmanager
    def engine(self, asked: Arguments) -> Iterator[Engine]:
        """The engine of the project that a request means; its index is opened once."""
        engine = self.service.engine(asked.get("project"))
        with engine.hold():
            yield engine

    @contextmanager
    def searched(self, asked: Arguments) -> Iterator[Searched]:
        """What a request searches: the engine of a project, or all projects."""
        every = self.service.all_projects(asked.get("project"))
        if every is not None:
            yield every
            return
        with self.engine(asked) as engine:
            yield engine


@dataclass(frozen=True, slots=True)
class Route:
    """One thing that can be asked."""

    method: Literal["GET", "POST"]
    path: str  # below `root`
    takes: tuple[Parameter, ...]
    gives: type
    summary: str
    run: Callable[[Shared, Arguments], object]
    body: bool = False  # the parameters come as JSON, not in the address
    status: int = 200  # when all went well
    root: str = ROOT
    instant: bool = False  # it is answered also while all threads are at work
    unready: int | None = None  # the status of a record that is not `ready`

    @property
    def address(self) -> str:
        """The whole path."""
        return self.root + self.path

    def status_of(self, record: object) -> int:
        """The status of an answer."""
        is_unready = self.unready is not None and not getattr(record, "ready", True)
        return self.unready if is_unready and self.unready else self.status


def _search(shared: Shared, asked: Arguments) -> ResponseShape:
    return _found(shared, asked, _searched)


def _answer(shared: Shared, asked: Arguments) -> ResponseShape:
    return _found(shared, asked, _answered)


def _searched(engine: Searched, request: SearchRequest) -> Response:
    return engine.search(
        request.query, filters=request.filters, changes=request.changes, offset=request.offset
    )


def _answered(engine: Searched, request: SearchRequest) -> Response:
    return engine.answer(request.query, filters=request.filters, changes=request.changes)


def _found(
    shared: Shared, asked: Arguments, call: Callable[[Searched, SearchRequest], Response]
) -> ResponseShape:
    request = SearchRequest.made_of(asked)
    with shared.searched(asked) as engine:
        found = call(engine, request)
        shared.service.metrics.searched(engine.project.name, found.seconds)
        found = within_texts(found, request.max_tokens)
        return ResponseShape.of(found if asked["explain"] else _untraced(found), engine)


def _untraced(found: Response) -> Response:
    hits = tuple(replace(hit, trace=_UNTRACED) for hit in found.hits)
    nearest = tuple(replace(hit, trace=_UNTRACED) for hit in found.nearest)
    return replace(found, hits=hits, nearest=nearest)


def _explain(shared: Shared, asked: Arguments) -> ExplanationShape:
    request = SearchRequest.made_of(asked)
    with shared.engine(asked) as engine:
        explanation = engine.explain(
            request.query, asked["reference"], filters=request.filters, changes=request.changes
        )
        return ExplanationShape.of(explanation, why(explanation), engine)


def _related(shared: Shared, asked: Arguments) -> RelatedShape:
    with shared.engine(asked) as engine:
        return RelatedShape.of(engine.related(asked["reference"], asked["n"]), engine)


def _document(shared: Shared, asked: Arguments) -> DocumentPageShape:
    with shared.engine(asked) as engine:
        meant = engine.get(asked["reference"])
        shown = engine.get(meant.document) if asked["whole"] else meant
        path = engine.path_of(meant.document)
        return DocumentPageShape(
            project=engine.project.name,
            document=meant.document,
            path=str(path),
            title=meant.title,
            first_line=meant.first_line,
            last_line=meant.last_line,
            total_lines=meant.total_lines,
            text=shown.text,
            html=_rendered(engine, shown.document, shown.text, shown.first_line)
            if asked["format"] == "html"
            else None,
            editor=editor_address(path, engine.settings.open.editor),
            obsidian=obsidian_address(path),
        )


def _picture(shared: Shared, asked: Arguments) -> PictureShape:
    with shared.engine(asked) as engine:
        return picture(engine, asked["reference"], asked["name"])


def _rendered(engine: Engine, document: str, text: str, first_line: int) -> str:
    from dowse.front.web.render import render, targets_of  # noqa: PLC0415  most requests need none

    targets = targets_of(engine.links(document), document)
    return render(text, engine.project.name, targets, first_line)


def _listing(make: Callable[[Engine, Arguments], object]) -> Callable[[Shared, Arguments], object]:
    def run(shared: Shared, asked: Arguments) -> object:
        with shared.engine(asked) as engine:
            return make(engine, asked)

    return run


def _graph(shared: Shared, asked: Arguments) -> GraphShape:
    with shared.engine(asked) as engine:
        return GraphShape.of(engine.graph(), engine.project.name)


def _projects(shared: Shared, _: Arguments) -> PageProjectsShape:
    projects = tuple(
        ProjectShape.of(one, shared.service.workspace) for one in shared.service.projects()
    )
    try:
        current: str | None = shared.service.project().name
    except DowseError:
        current = None
    return PageProjectsShape(projects, current)


def _status(shared: Shared, asked: Arguments) -> ServerStatusShape:
    with shared.engine(asked) as engine:
        name = engine.project.name
        job = shared.service.job(name)
        return ServerStatusShape.around(
            StatusShape.of(engine.status()),
            JobShape.of(job, engine.project) if job else None,
            shared.watchers.state(name),
        )


def _index(shared: Shared, asked: Arguments) -> JobShape:
    project = shared.service.project(asked.get("project"))
    return JobShape.of(shared.service.index(project), project)


def _settings(shared: Shared, asked: Arguments) -> SwitchesShape:
    engine, chosen = shared.service.open(shared.service.project(asked.get("project")))
    return SwitchesShape.of(engine, chosen)


def _alive(_: Shared, __: Arguments) -> AliveShape:
    return AliveShape("ok")


def _ready(shared: Shared, _: Arguments) -> ReadyShape:
    return readiness(shared.service)


def _health(_: Shared, __: Arguments) -> HealthShape:
    return HealthShape("ok", __version__)


ROUTES: tuple[Route, ...] = (
    Route("GET", "/search", searching("search"), ResponseShape, "Search.", _search),
    Route(
        "POST",
        "/search",
        searching("search"),
        ResponseShape,
        "Search, with the parameters as JSON.",
        _search,
        body=True,
    ),
    Route("GET", "/answer", searching("answer"), ResponseShape, "Answer a question.", _answer),
    Route(
        "GET",
        "/explain",
        searching("explain"),
        ExplanationShape,
        "Say why a document is, or is not, among the results.",
        _explain,
    ),
    Route(
        "GET",
        "/related",
        RELATED,
        RelatedShape,
        "Documents related to a document.",
        _related,
    ),
    Route(
        "GET",
        "/document",
        DOCUMENT,
        DocumentPageShape,
        "A document, or lines of it.",
        _document,
    ),
    Route("GET", "/picture", PICTURE, PictureShape, "A picture that a document shows.", _picture),
    Route(
        "GET",
        "/documents",
        DOCUMENTS,
        DocumentListShape,
        "List documents: all of them, the newest, or the most linked.",
        _listing(lists.documents),
    ),
    Route(
        "GET",
        "/tags",
        COUNTED,
        CountedListShape,
        "List tags; a document with `a/b` counts for `a` too.",
        _listing(lists.tags),
    ),
    Route(
        "GET",
        "/folders",
        COUNTED,
        CountedListShape,
        "List folders; a document counts for all folders that it is below.",
        _listing(lists.folders),
    ),
    Route(
        "GET",
        "/fields",
        FIELDS,
        FieldListShape,
        "List the fields of the frontmatter and their values.",
        _listing(lists.fields),
    ),
    Route(
        "GET",
        "/values",
        VALUES,
        CountedListShape,
        "List the values of a filter.",
        _listing(lists.values),
    ),
    Route("GET", "/graph", (PROJECT,), GraphShape, "All documents and links.", _graph),
    Route("GET", "/projects", (), PageProjectsShape, "All projects.", _projects),
    Route(
        "GET",
        "/status",
        (PROJECT,),
        ServerStatusShape,
        "What the index holds, and whether it is up to date.",
        _status,
    ),
    Route(
        "POST",
        "/index",
        (PROJECT,),
        JobShape,
        "Update the index in the background.",
        _index,
        status=202,
    ),
    Route(
        "GET",
        "/settings",
        (PROJECT,),
        SwitchesShape,
        "The settings that one search may change.",
        _settings,
    ),
    Route("GET", "/healthz", (), HealthShape, "Whether the server runs.", _health),
    Route(
        "GET",
        "/health",
        (),
        AliveShape,
        "Whether the process answers.",
        _alive,
        root="",
        instant=True,
    ),
    Route(
        "GET",
        "/ready",
        (),
        ReadyShape,
        "Whether every project can be searched.",
        _ready,
        root="",
        unready=503,
    ),
)
"""Everything that can be asked."""


def http_routes(shared: Shared, root: str = ROOT) -> list[HttpRoute]:
    """The routes below an address, as Starlette takes them: one per path, whatever its methods."""
    by_path: dict[str, dict[str, Route]] = {}
    for route in (one for one in ROUTES if one.root == root):
        by_path.setdefault(route.path, {})[route.method] = route
    return [
        HttpRoute(path, _endpoint(shared, routes), methods=list(routes))
        for path, routes in by_path.items()
    ]


def _endpoint(shared: Shared, routes: dict[str, Route]) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> HttpResponse:
        route = routes["GET" if request.method == "HEAD" else request.method]
        asked = await _asked(route, request)
        work = partial(route.run, shared, asked)
        record = work() if route.instant else await _while_waited_for(request, work)
        return answer(record, route.status_of(record))

    return endpoint


async def _while_waited_for(request: Request, work: Callable[[], object]) -> object:
    """Does work in a thread, and gives it up when it takes too long or its client has gone."""
    outcome: list[object] = []  # empty as long as there is none
    async with create_task_group() as tasks:
        tasks.start_soon(_cancel_when_left, request, tasks.cancel_scope)
        try:
            with until_given_up():
                outcome.append(
                    await to_thread.run_sync(work, abandon_on_cancel=True, limiter=_limiter())
                )
        except Exception as error:  # noqa: BLE001  raised again outside of the group, as it is
            outcome.append(error)
        tasks.cancel_scope.cancel()
    if not outcome:
        raise ClientDisconnect
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return outcome[0]


def _limiter() -> CapacityLimiter:
    """One for all requests of a server; it belongs to the loop that is running."""
    try:
        return _working.get()
    except LookupError:
        limiter = CapacityLimiter(_AT_ONCE)
        _working.set(limiter)
        return limiter


async def _cancel_when_left(request: Request, work: CancelScope) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    work.cancel()


async def _asked(route: Route, request: Request) -> Arguments:
    given = request.query_params.multi_items()
    body = await request.body()
    if not route.body:
        if body:
            raise Malformed("This takes no body.", "Say it in the address.")
        return from_address(route.takes, given)
    if given:
        raise Malformed("This takes no parameters in its address.", "Say it in the JSON.")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, "The body is not declared as JSON")
    return from_json(route.takes, body)
