"""The OpenAPI description, made from the same records that requests and answers are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, get_args, get_type_hints

import msgspec

from dowse import __version__
from dowse._config.parameters import Parameter, object_schema
from dowse._interfaces.http.api import ROUTES, Route
from dowse._interfaces.http.records import ErrorRecord

_REFERENCE = "#/components/schemas/{name}"
_FAILURES = {
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
    "421": "The server is not called by this name.",
    "422": "The request is well formed, but a setting, a date or a reference in it is not right.",
    "431": "The headers are too large.",
    "503": "The embedding model cannot be had.",
    "504": "It took too long.",
}


_METRICS: dict[str, Any] = {
    "operationId": "metrics",
    "summary": "Figures for Prometheus.",
    "responses": {
        "200": {
            "description": "All of them.",
            "content": {"text/plain": {"schema": {"type": "string"}}},
        }
    }
    | {
        code: {
            "description": what,
            "content": {
                "application/json": {"schema": {"$ref": _REFERENCE.format(name="ErrorRecord")}}
            },
        }
        for code, what in _FAILURES.items()
    },
}


@cache
def description() -> Mapping[str, Any]:
    """The whole description."""
    shapes = list(dict.fromkeys([ErrorRecord, *(route.gives for route in ROUTES)]))
    _, components = msgspec.json.schema_components(shapes, ref_template=_REFERENCE)
    for kind in shapes:
        _describe(kind, components)
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.address, {})[route.method.lower()] = _operation(route)
    paths["/metrics"] = {"get": _METRICS}
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


def _operation(route: Route) -> dict[str, Any]:
    name = route.path.strip("/")
    operation: dict[str, Any] = {
        "operationId": name if route.method == "GET" else f"{route.method.lower()}_{name}",
        "summary": route.summary,
        "responses": {str(route.status): _content("It is done.", route.gives.__name__)}
        | {code: _content(what, "ErrorRecord") for code, what in _FAILURES.items()}
        | _unready(route),
    }
    if route.body:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _body(route.takes)}},
        }
    else:
        operation["parameters"] = [_parameter(row) for row in route.takes]
    return operation


def _unready(route: Route) -> dict[str, Any]:
    if route.unready is None:
        return {}
    return {str(route.unready): _content("It is not ready.", route.gives.__name__)}


def _parameter(row: Parameter) -> dict[str, Any]:
    return {
        "name": row.name,
        "in": "query",
        "required": row.required,
        "schema": _schema(row),
        "description": row.meaning,
    }


def _schema(row: Parameter) -> dict[str, Any]:
    return row.schema() | ({} if row.default is None else {"default": row.default})


def _body(rows: Sequence[Parameter]) -> dict[str, Any]:
    described = {row.name: _schema(row) | {"description": row.meaning} for row in rows}
    return object_schema(rows, described)


def _content(what: str, record: str) -> dict[str, Any]:
    return {
        "description": what,
        "content": {"application/json": {"schema": _reference(record)}},
    }


def _reference(name: str) -> dict[str, str]:
    return {"$ref": _REFERENCE.format(name=name)}


def _describe(kind: Any, components: Mapping[str, Any]) -> None:
    """Adds what the fields of a record, and of those in it, say of themselves."""
    name = getattr(kind, "__name__", "")
    if not msgspec.inspect.is_struct_type(kind) or name not in components:
        return
    properties = components[name]["properties"]
    for field, hint in get_type_hints(kind, include_extras=True).items():
        meaning = next((one for one in getattr(hint, "__metadata__", ()) if one), None)
        if isinstance(meaning, str) and "description" not in properties.get(field, {}):
            properties[field]["description"] = meaning
            for inner in _inner(hint):
                _describe(inner, components)


def _inner(hint: Any) -> list[Any]:
    found = [hint] if isinstance(hint, type) else []
    for one in get_args(hint):
        found += _inner(one)
    return found
