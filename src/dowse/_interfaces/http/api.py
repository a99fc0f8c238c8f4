"""The routes of the JSON API as Starlette takes them: read a call, run it, write its record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec
from anyio import CancelScope, CapacityLimiter, create_task_group, to_thread
from anyio.lowlevel import RunVar
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route as HttpRoute

from dowse._config.parameters import Arguments, Malformed, Parameter, check_arguments
from dowse._interfaces.http.answers import answer
from dowse._interfaces.http.routes import ROOT, ROUTES, ApiCall, Route
from dowse._interfaces.http.watching import Watchers
from dowse._interfaces.served import folder_of, is_own
from dowse._project.pool import EnginePool
from dowse._util.cancellation import until_given_up

# More threads would only take turns, and leave none to the loop that reads requests.
_AT_ONCE = 8
_working: RunVar[CapacityLimiter] = RunVar("working")


def http_routes(pool: EnginePool, watchers: Watchers, root: str = ROOT) -> list[HttpRoute]:
    """Return the routes below an address: one per path, whatever its methods."""
    by_path: dict[str, dict[str, Route]] = {}
    for route in (one for one in ROUTES if one.root == root):
        by_path.setdefault(route.path, {})[route.method] = route
    return [
        HttpRoute(path, _endpoint(routes, pool, watchers), methods=list(routes))
        for path, routes in by_path.items()
    ]


def _endpoint(
    routes: dict[str, Route], pool: EnginePool, watchers: Watchers
) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        route = routes["GET" if request.method == "HEAD" else request.method]
        call = ApiCall(pool, watchers, await _arguments(route, request))
        if is_own(request.scope):
            call = call.seen_from(folder_of(request.headers))
        work = partial(route.run, call)
        record = work() if route.instant else await _while_waited_for(request, work)
        return answer(record, route.status_of(record))

    return endpoint


async def _arguments(route: Route, request: Request) -> Arguments:
    given = request.query_params.multi_items()
    body = await request.body()
    if not route.body:
        if body:
            raise Malformed("This takes no body.", "Say it in the address.")
        values: dict[str, list[str]] = {}
        for name, value in given:
            values.setdefault(name, []).append(value)
        return check_arguments(route.takes, values, written=True)
    if given:
        raise Malformed("This takes no parameters in its address.", "Say it in the JSON.")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, "The body is not declared as JSON")
    return _from_json(route.takes, body)


def _from_json(rows: Sequence[Parameter], body: bytes) -> Arguments:
    try:
        values = msgspec.json.decode(body or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Malformed(f"The body is not JSON: {error}.", "Send one JSON object.") from error
    except RecursionError as error:
        raise Malformed("The body is nested too deeply.", "Send one flat JSON object.") from error
    if not isinstance(values, dict):
        raise Malformed("The body is not a JSON object.", "Send one, as in: {}")
    return check_arguments(rows, values)


async def _while_waited_for(request: Request, work: Callable[[], object]) -> object:
    """Do work in a thread; give it up when it takes too long or its client has gone."""
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


async def _cancel_when_left(request: Request, work: CancelScope) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    work.cancel()


def _limiter() -> CapacityLimiter:
    """Return the limiter of all requests of a server; it belongs to the loop that is running."""
    try:
        return _working.get()
    except LookupError:
        limiter = CapacityLimiter(_AT_ONCE)
        _working.set(limiter)
        return limiter
