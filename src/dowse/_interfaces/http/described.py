"""The page at `/api`: what can be asked, for people. It loads nothing from elsewhere."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from functools import cache

from dowse import __version__
from dowse._config.parameters import Parameter
from dowse._interfaces.http.api import ROOT, ROUTES, Route

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
def described() -> str:
    """The whole page."""
    return _HEAD + "\n".join(_parts()) + "\n</main>\n</body>\n</html>\n"


def _parts() -> Iterator[str]:
    yield f"<h1>dowse {html.escape(__version__)}: the JSON API</h1>"
    yield (
        f"<p>Every answer is JSON. A machine-readable description is at"
        f' <a href="{ROOT}/openapi.json">{ROOT}/openapi.json</a>.'
        " An error is <code>{&quot;error&quot;: …, &quot;hint&quot;: …}</code>."
        " Where the server asks for a token, send"
        " <code>Authorization: Bearer TOKEN</code>.</p>"
    )
    yield f"<pre>curl '{ROOT}/search?query=restore+a+backup&amp;n=3'</pre>"
    yield "<nav><ul>"
    yield from (f'<li><a href="#{_anchor(one)}">{_signature(one)}</a></li>' for one in ROUTES)
    yield "</ul></nav>"
    for route in ROUTES:
        yield from _section(route)


def _section(route: Route) -> Iterator[str]:
    yield f'<section id="{_anchor(route)}">'
    yield f"<h2><code>{_signature(route)}</code></h2>"
    yield f"<p>{_prose(route.summary)}</p>"
    if route.takes:
        place = "one JSON object" if route.body else "the address"
        yield f"<table><caption>Parameters, in {place}</caption>"
        yield "<thead><tr><th>Name</th><th>Value</th><th>Meaning</th></tr></thead><tbody>"
        yield from (_row(one) for one in route.takes)
        yield "</tbody></table>"
    yield "</section>"


def _row(row: Parameter) -> str:
    required = " (required)" if row.required and not row.unless else ""
    default = "" if row.default is None else f" Default: {_written(row.default)}."
    return (
        f"<tr><td><code>{row.name}</code>{required}</td><td>{_prose(row.must_be)}</td>"
        f"<td>{_prose(row.meaning)}{default}</td></tr>"
    )


def _written(value: object) -> str:
    return html.escape(str(value).lower() if isinstance(value, bool) else str(value))


def _prose(text: str) -> str:
    return _CODE.sub(r"<code>\1</code>", html.escape(text, quote=False))


def _signature(route: Route) -> str:
    return f"{route.method} {route.address}"


def _anchor(route: Route) -> str:
    return f"{route.method}{route.address.replace('/', '-')}".lower()
