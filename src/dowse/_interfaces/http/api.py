"""The JSON API: a table of routes, each a function from a record to a record."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from anyio import CancelScope, CapacityLimiter, create_task_group, to_thread
from anyio.lowlevel import RunVar
from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response as HttpResponse
from starlette.routing import Route as HttpRoute

from dowse._config.parameters import Arguments, Malformed, Parameter
from dowse._interfaces.http import lists
from dowse._interfaces.http.answers import answer
from dowse._interfaces.http.handlers import (
    Shared,
    handle_alive,
    handle_answer,
    handle_document,
    handle_explain,
    handle_graph,
    handle_health,
    handle_index,
    handle_listing,
    handle_picture,
    handle_projects,
    handle_ready,
    handle_related,
    handle_search,
    handle_settings,
    handle_status,
)
from dowse._interfaces.http.observing import AliveRecord, ReadyRecord
from dowse._interfaces.http.parameters import (
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
from dowse._interfaces.http.records import (
    DocumentPageRecord,
    HealthRecord,
    JobRecord,
    PageProjectsRecord,
    PictureRecord,
    ServerStatusRecord,
    SwitchesRecord,
)
from dowse._interfaces.records import (
    CountedListRecord,
    DocumentListRecord,
    ExplanationRecord,
    FieldListRecord,
    GraphRecord,
    RelatedRecord,
    ResponseRecord,
)
from dowse._util.cancellation import until_given_up

ROOT = "/api/v1"
"""Where the API begins."""

# More threads would only take turns, and leave none to the loop that reads requests.
_AT_ONCE = 8
_working: RunVar[CapacityLimiter] = RunVar("working")


class Route(Struct, frozen=True):
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


ROUTES: tuple[Route, ...] = (
    Route("GET", "/search", searching("search"), ResponseRecord, "Search.", handle_search),
    Route(
        "POST",
        "/search",
        searching("search"),
        ResponseRecord,
        "Search, with the parameters as JSON.",
        handle_search,
        body=True,
    ),
    Route(
        "GET", "/answer", searching("answer"), ResponseRecord, "Answer a question.", handle_answer
    ),
    Route(
        "GET",
        "/explain",
        searching("explain"),
        ExplanationRecord,
        "Say why a document is, or is not, among the results.",
        handle_explain,
    ),
    Route(
        "GET",
        "/related",
        RELATED,
        RelatedRecord,
        "Documents related to a document.",
        handle_related,
    ),
    Route(
        "GET",
        "/document",
        DOCUMENT,
        DocumentPageRecord,
        "A document, or lines of it.",
        handle_document,
    ),
    Route(
        "GET",
        "/picture",
        PICTURE,
        PictureRecord,
        "A picture that a document shows.",
        handle_picture,
    ),
    Route(
        "GET",
        "/documents",
        DOCUMENTS,
        DocumentListRecord,
        "List documents: all of them, the newest, or the most linked.",
        handle_listing(lists.documents),
    ),
    Route(
        "GET",
        "/tags",
        COUNTED,
        CountedListRecord,
        "List tags; a document with `a/b` counts for `a` too.",
        handle_listing(lists.tags),
    ),
    Route(
        "GET",
        "/folders",
        COUNTED,
        CountedListRecord,
        "List folders; a document counts for all folders that it is below.",
        handle_listing(lists.folders),
    ),
    Route(
        "GET",
        "/fields",
        FIELDS,
        FieldListRecord,
        "List the fields of the frontmatter and their values.",
        handle_listing(lists.fields),
    ),
    Route(
        "GET",
        "/values",
        VALUES,
        CountedListRecord,
        "List the values of a filter.",
        handle_listing(lists.values),
    ),
    Route("GET", "/graph", (PROJECT,), GraphRecord, "All documents and links.", handle_graph),
    Route("GET", "/projects", (), PageProjectsRecord, "All projects.", handle_projects),
    Route(
        "GET",
        "/status",
        (PROJECT,),
        ServerStatusRecord,
        "What the index holds, and whether it is up to date.",
        handle_status,
    ),
    Route(
        "POST",
        "/index",
        (PROJECT,),
        JobRecord,
        "Update the index in the background.",
        handle_index,
        status=202,
    ),
    Route(
        "GET",
        "/settings",
        (PROJECT,),
        SwitchesRecord,
        "The settings that one search may change.",
        handle_settings,
    ),
    Route("GET", "/healthz", (), HealthRecord, "Whether the server runs.", handle_health),
    Route(
        "GET",
        "/health",
        (),
        AliveRecord,
        "Whether the process answers.",
        handle_alive,
        root="",
        instant=True,
    ),
    Route(
        "GET",
        "/ready",
        (),
        ReadyRecord,
        "Whether every project can be searched.",
        handle_ready,
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
        work = partial(route.run, shared.seen_by(request), asked)
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
