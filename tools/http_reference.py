"""Describe the HTTP API from the code: as OpenAPI for programs, and as the page at `/api`.

Both are made from the routes and from the records that these give. `make docs` writes them into the
package, and a test compares.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_args

import msgspec

import dowse
from dowse import __version__
from dowse._config.parameters import Parameter, object_schema
from dowse._interfaces.http.routes import ROOT, ROUTES, ErrorRecord, Route

FOLDER = Path(dowse.__file__).parent / "_interfaces/http"
"""Where the server has both."""

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


def files() -> dict[str, str]:
    """Both descriptions, by file name."""
    return {"openapi.json": json.dumps(description(), indent=1) + "\n", "api.html": page()}


def main() -> None:
    """Write both into the package."""
    for name, text in files().items():
        (FOLDER / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
