"""The JSON API as Starlette takes it: read a call, run it, write its record or failure."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import msgspec
from anyio import CapacityLimiter, to_thread
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route as HttpRoute

from dowse._config.parameters import (
    Arguments,
    check_arguments,
)
from dowse._interfaces.http.routes import ROUTES, ApiCall, ErrorRecord, Route
from dowse._interfaces.served import folder_of, is_own
from dowse._util.messages import without_commands
from dowse._util.process import until_given_up
from dowse.errors import (
    DowseError,
    EmbedError,
    IndexUnusable,
    Malformed,
    NotFound,
    Refused,
    UsageError,
)

_STATUS: tuple[tuple[type[DowseError], int], ...] = (
    (Malformed, 400),
    (NotFound, 404),
    (UsageError, 422),
    (Refused, 403),
    (IndexUnusable, 409),
    (EmbedError, 503),
)
_HINTS = {
    404: "See: /api/v1/openapi.json",
    405: "Use one of the methods in the header Allow.",
    408: "Send the whole request at once.",
    413: "Send less.",
    415: "Send: Content-Type: application/json",
}
ERROR = "dowse.error"
"""Where a request's scope holds the kind of the error that it ended with."""

_log = logging.getLogger("dowse.web")


def answer(record: object, status: int = 200) -> Response:
    """Answer with a record as JSON."""
    return Response(msgspec.json.encode(record), status, media_type="application/json")


def refusal(status: int, error: str, hint: str) -> Response:
    """Answer with what went wrong, as JSON."""
    return answer(ErrorRecord(error, hint), status)


def _failed(request: Request, error: Exception) -> Response:
    """Answer with what went wrong; of a bug only the log says how."""
    if isinstance(error, DowseError):
        request.scope[ERROR] = type(error).__name__
        status = next((number for kind, number in _STATUS if isinstance(error, kind)), 500)
        return refusal(status, error.message, without_commands(error.hint))
    if isinstance(error, HTTPException):
        response = refusal(error.status_code, f"{error.detail}.", _HINTS.get(error.status_code, ""))
        response.headers.update(error.headers or {})
        return response
    if isinstance(error, ClientDisconnect):  # nobody reads that
        return refusal(400, "The request is incomplete.", "Send all of it.")
    request.scope[ERROR] = "bug"
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return refusal(500, "This is a bug.", "Please report it, with the log of the server.")


FAILURES: Mapping[Any, Callable[[Request, Exception], Response]] = dict.fromkeys(
    (DowseError, HTTPException, ClientDisconnect, Exception), _failed
)
"""What answers each kind of exception."""


# ── Calls ────────────────────────────────────────────────────────────────────

# More threads would only take turns, and leave none to the loop that reads requests.
_AT_ONCE = 8


def http_routes(call_of: Callable[[Arguments], ApiCall]) -> Iterator[HttpRoute]:
    """Make the routes: one per path, whatever its methods."""
    limiter = CapacityLimiter(_AT_ONCE)
    for address in dict.fromkeys(one.address for one in ROUTES):
        methods: dict[str, Route] = {one.method: one for one in ROUTES if one.address == address}
        yield HttpRoute(address, _endpoint(methods, call_of, limiter), methods=list(methods))


def _endpoint(
    routes: Mapping[str, Route], call_of: Callable[[Arguments], ApiCall], limiter: CapacityLimiter
) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        route = routes["GET" if request.method == "HEAD" else request.method]
        call = call_of(await _arguments(route, request))
        if is_own(request.scope):
            call = call.seen_from(folder_of(request.headers))
        work = partial(route.run, call)
        record = work() if route.instant else await _while_waited_for(request, work, limiter)
        return answer(record, route.status if getattr(record, "ready", True) else route.unready)

    return endpoint


async def _arguments(route: Route, request: Request) -> Arguments:
    body = await request.body()
    if not route.body:
        if body:
            raise Malformed("This request takes no body.", "Put the parameters into the address.")
        query = request.query_params
        return check_arguments(
            route.takes, {name: query.getlist(name) for name in query}, written=True
        )
    if request.query_params:
        raise Malformed("This request takes no parameters in the address.", "Put them in the body.")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, "The body is not declared as JSON")
    try:
        return check_arguments(route.takes, msgspec.json.decode(body or b"{}", type=dict[str, Any]))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(f"The body is not a JSON object: {error}.", "Send one.") from error


async def _while_waited_for(
    request: Request, work: Callable[[], object], limiter: CapacityLimiter
) -> object:
    """Do work in a thread; give it up when it takes too long or its client has gone."""
    answering = asyncio.current_task()

    async def cancel_when_left() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        if answering:
            answering.cancel()

    # A group of tasks would do the same, and take a third of the time of a request.
    watching = asyncio.create_task(cancel_when_left())
    try:
        with until_given_up():
            return await to_thread.run_sync(work, abandon_on_cancel=True, limiter=limiter)
    except asyncio.CancelledError:
        if not watching.done():
            raise
        raise ClientDisconnect from None
    finally:
        watching.cancel()
