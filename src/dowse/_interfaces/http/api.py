"""The JSON API as Starlette takes it: read a call, run it, write its record or failure.

It is described twice: as OpenAPI for programs, and as the page at `/api` for people. Both are made
from the routes and from the records that these give, so they say what the server does.
"""

from __future__ import annotations

import html
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, get_args

import msgspec
from anyio import CancelScope, CapacityLimiter, create_task_group, to_thread
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route as HttpRoute

from dowse import __version__
from dowse._config.parameters import (
    Arguments,
    Malformed,
    Parameter,
    check_arguments,
    object_schema,
)
from dowse._interfaces.http.routes import ROOT, ROUTES, ApiCall, ErrorRecord, Route
from dowse._interfaces.served import folder_of, is_own
from dowse._util.cancellation import until_given_up
from dowse.errors import DowseError, EmbedError, IndexUnusable, NotFound, Refused, UsageError

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
    408: "Send the whole request, and at once.",
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
        return refusal(status, error.message, error.hint)
    if isinstance(error, HTTPException):
        response = refusal(error.status_code, f"{error.detail}.", _HINTS.get(error.status_code, ""))
        response.headers.update(error.headers or {})
        return response
    if isinstance(error, ClientDisconnect):  # nobody reads that
        return refusal(400, "The request is not whole.", "Send all of it.")
    request.scope[ERROR] = "bug"
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return refusal(500, "This is a bug.", "Please report it, with what the server printed.")


FAILURES: Mapping[Any, Callable[[Request, Exception], Response]] = dict.fromkeys(
    (DowseError, HTTPException, ClientDisconnect, Exception), _failed
)
"""What answers each kind of exception."""


# ── Calls ────────────────────────────────────────────────────────────────────

# More threads would only take turns, and leave none to the loop that reads requests.
_AT_ONCE = 8


def http_routes(call_of: Callable[[Arguments], ApiCall]) -> Mapping[str, list[HttpRoute]]:
    """Return the routes below each root: one per path, whatever its methods."""
    limiter = CapacityLimiter(_AT_ONCE)
    found: dict[str, list[HttpRoute]] = {}
    for address in dict.fromkeys(one.address for one in ROUTES):
        methods: dict[str, Route] = {one.method: one for one in ROUTES if one.address == address}
        one = next(iter(methods.values()))
        endpoint = _endpoint(methods, call_of, limiter)
        found.setdefault(one.root, []).append(HttpRoute(one.path, endpoint, methods=list(methods)))
    return found


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


async def _while_waited_for(
    request: Request, work: Callable[[], object], limiter: CapacityLimiter
) -> object:
    """Do work in a thread; give it up when it takes too long or its client has gone."""

    async def cancel_when_left(work: CancelScope) -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        work.cancel()

    outcome: object = ClientDisconnect()
    async with create_task_group() as tasks:
        tasks.start_soon(cancel_when_left, tasks.cancel_scope)
        try:
            with until_given_up():
                outcome = await to_thread.run_sync(work, abandon_on_cancel=True, limiter=limiter)
        except Exception as error:  # noqa: BLE001  raised again outside of the group, as it is
            outcome = error
        tasks.cancel_scope.cancel()
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


# ── The description of the API, for programs as OpenAPI ──────────────────────

_REFERENCE = "#/components/schemas/{name}"
_STATUSES = {
    "400": "The request cannot mean anything: an unknown parameter, or a value that does not fit.",
    "401": "The server asks for a token.",
    "403": "It will not be done: the request comes from a page from elsewhere, or lacks consent.",
    "404": "There is no such project, document or passage.",
    "405": "Another method is needed.",
    "408": "The body did not arrive in time.",
    "409": "The index cannot serve as it is, or another process is writing.",
    "413": "The request is too large.",
    "414": "The address is too long; POST takes more.",
    "415": "The body is not declared as JSON.",
    "421": "Unknown host name in the request.",
    "422": "The request is well formed, but a setting, a date or a reference in it is not right.",
    "431": "The headers are too large.",
    "503": "The embedding model cannot be had.",
    "504": "It took too long.",
}


_DOMAIN = {"ChunkOutcome", "Explanation", "Hit", "IndexReport", "Neighbour", "Related", "Response"}
"""Records of the engine, which clients that were made from the description call …Record."""


def _named(record: str) -> str:
    return f"{record.removesuffix('Report')}Record" if record in _DOMAIN else record


@cache
def description() -> Mapping[str, Any]:
    """Describe the API as OpenAPI 3.1 wants it."""
    records = list(dict.fromkeys([ErrorRecord, *(route.gives for route in ROUTES)]))
    _, components = msgspec.json.schema_components(records, ref_template=_REFERENCE)
    for kind in records:
        _explain_fields(kind, components)
    for name in _DOMAIN:  # an answer has all fields, whatever a program may leave out
        properties = components[name]["properties"]
        components[name] |= {"title": _named(name), "required": list(properties)}
        for one in properties.values():
            one.pop("default", None)
    text = msgspec.json.encode(components).decode()
    for name in _DOMAIN:
        text = text.replace(f'/{name}"', f'/{_named(name)}"')
    components = {_named(name): one for name, one in msgspec.json.decode(text).items()}
    failures = {code: _content(what, ErrorRecord) for code, what in _STATUSES.items()}
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        operation = _operation(route, failures)
        paths.setdefault(route.address, {})[route.method.lower()] = operation
    paths["/metrics"] = {
        "get": {
            "operationId": "metrics",
            "summary": "Figures for Prometheus.",
            "responses": {
                "200": {
                    "description": "All of them.",
                    "content": {"text/plain": {"schema": {"type": "string"}}},
                },
                **failures,
            },
        }
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "dowse",
            "version": __version__,
            "description": "Hybrid search over folders of Markdown, on your own machine.",
        },
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: Route, failures: Mapping[str, Any]) -> dict[str, Any]:
    name = route.path.strip("/")
    responses = {str(route.status): _content("It is done.", route.gives), **failures}
    if route.unready:
        responses[str(route.unready)] = _content("It is not ready.", route.gives)
    operation: dict[str, Any] = {
        "operationId": name if route.method == "GET" else f"{route.method.lower()}_{name}",
        "summary": route.summary,
        "responses": responses,
    }
    if route.body:
        described = {row.name: _schema(row) | {"description": row.meaning} for row in route.takes}
        schema = object_schema(route.takes, described)
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema}},
        }
    else:
        operation["parameters"] = [
            {
                "name": row.name,
                "in": "query",
                "required": row.required,
                "schema": _schema(row),
                "description": row.meaning,
            }
            for row in route.takes
        ]
    return operation


def _schema(row: Parameter) -> dict[str, Any]:
    return row.schema() | ({} if row.default is None else {"default": row.default})


def _content(what: str, record: type) -> dict[str, Any]:
    schema = {"$ref": _REFERENCE.format(name=_named(record.__name__))}
    return {"description": what, "content": {"application/json": {"schema": schema}}}


def _explain_fields(hint: Any, components: Mapping[str, Any]) -> None:
    """Add what the fields of a record, and of those in it, say of themselves."""
    for inner in get_args(hint):
        _explain_fields(inner, components)
    schema = components.get(getattr(hint, "__name__", ""), {})
    if not msgspec.inspect.is_struct_type(hint):
        return
    for field in msgspec.structs.fields(hint):
        meaning = next(iter(getattr(field.type, "__metadata__", ())), None)
        described = schema.get("properties", {}).get(field.encode_name, {})
        if isinstance(meaning, str) and "description" not in described:
            described["description"] = meaning
            _explain_fields(field.type, components)


# ── The page for people ──────────────────────────────────────────────────────

_CODE = re.compile(r"`([^`]+)`")
_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>dowse API</title>
<link rel="stylesheet" href="/api.css">
</head>
<body>
<main>
"""


@cache
def page() -> str:
    """Write the page at `/api`."""
    parts = [
        f"<h1>dowse {html.escape(__version__)}: the JSON API</h1>",
        (
            f"<p>Every answer is JSON. A machine-readable description is at"
            f' <a href="{ROOT}/openapi.json">{ROOT}/openapi.json</a>.'
            " An error is <code>{&quot;error&quot;: …, &quot;hint&quot;: …}</code>."
            " Where the server asks for a token, send"
            " <code>Authorization: Bearer TOKEN</code>.</p>"
        ),
        f"<pre>curl '{ROOT}/search?query=restore+a+backup&amp;n=3'</pre>",
        "<nav><ul>",
        *(f'<li><a href="#{_anchor(one)}">{one.method} {one.address}</a></li>' for one in ROUTES),
        "</ul></nav>",
    ]
    for route in ROUTES:
        parts += [
            f'<section id="{_anchor(route)}">',
            f"<h2><code>{route.method} {route.address}</code></h2>",
            f"<p>{_prose(route.summary)}</p>",
        ]
        if route.takes:
            place = "one JSON object" if route.body else "the address"
            parts += [
                f"<table><caption>Parameters, in {place}</caption>",
                "<thead><tr><th>Name</th><th>Value</th><th>Meaning</th></tr></thead><tbody>",
                *map(_row, route.takes),
                "</tbody></table>",
            ]
        parts.append("</section>")
    return _HEAD + "\n".join(parts) + "\n</main>\n</body>\n</html>\n"


def _row(row: Parameter) -> str:
    required = " (required)" if row.required and not row.unless else ""
    default = str(row.default).lower() if isinstance(row.default, bool) else str(row.default)
    said = "" if row.default is None else f" Default: {html.escape(default)}."
    return (
        f"<tr><td><code>{row.name}</code>{required}</td><td>{_prose(row.must_be)}</td>"
        f"<td>{_prose(row.meaning)}{said}</td></tr>"
    )


def _prose(text: str) -> str:
    return _CODE.sub(r"<code>\1</code>", html.escape(text, quote=False))


def _anchor(route: Route) -> str:
    return f"{route.method}{route.address.replace('/', '-')}".lower()
