"""Pages of other sites that the owner lets ask: CORS, for a list of origins and the API alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from dowse.errors import UsageError

_API = "/api/v1/"
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[0-9a-z._~\[\]:-]+")
_CHECKED_AGAIN = "600"  # seconds that a browser remembers what it may ask


def checked_origins(origins: Sequence[str]) -> tuple[str, ...]:
    """The origins as browsers write them; raises `UsageError` for what is none."""
    cleaned = tuple(one.strip().rstrip("/").lower() for one in origins)
    for given, origin in zip(origins, cleaned, strict=True):
        if origin == "*":
            raise UsageError(
                "--cors * would let every page on the web read your documents.",
                "Name the pages that may: --cors https://app.example.org",
            )
        if not _ORIGIN.fullmatch(origin):
            raise UsageError(
                f"--cors {given!r} is not an origin.",
                "Write it as a browser does, without a path: https://app.example.org",
            )
    return cleaned


def allowed_origin(scope: Scope, headers: Headers, origins: Sequence[str]) -> str:
    """The origin that a request to the API comes from, when it is among these; otherwise empty."""
    named = headers.getlist("origin")
    is_allowed = len(named) == 1 and named[0].lower() in origins
    return named[0] if is_allowed and scope["path"].startswith(_API) else ""


def is_preflight(scope: Scope, headers: Headers) -> bool:
    """Whether a browser only asks what it may ask."""
    return scope["method"] == "OPTIONS" and "access-control-request-method" in headers


def preflight(headers: Headers) -> Response:
    """What a page may send."""
    said = {
        "Access-Control-Allow-Methods": "GET, POST",
        "Access-Control-Allow-Headers": "Authorization, Content-Type",
        "Access-Control-Max-Age": _CHECKED_AGAIN,
    }
    if headers.get("access-control-request-private-network") == "true":
        said["Access-Control-Allow-Private-Network"] = "true"
    return Response(status_code=204, headers=said)
