"""Records and failures as HTTP answers."""

from __future__ import annotations

import logging

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from dowse._config.parameters import Malformed
from dowse._interfaces.http.records import ErrorRecord
from dowse.errors import (
    DowseError,
    EmbedError,
    IndexUnusable,
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


def from_failure(request: Request, error: Exception) -> Response:
    """Answer with a failure that the user can fix."""
    if not isinstance(error, DowseError):
        return from_bug(request, error)
    request.scope[ERROR] = type(error).__name__
    status = next((number for kind, number in _STATUS if isinstance(error, kind)), 500)
    return refusal(status, error.message, error.hint)


def from_http(_: Request, error: Exception) -> Response:
    """Answer a request that no route takes."""
    if not isinstance(error, HTTPException):
        return from_bug(_, error)
    response = refusal(error.status_code, f"{error.detail}.", _HINTS.get(error.status_code, ""))
    response.headers.update(error.headers or {})
    return response


def from_nobody(_: Request, __: Exception) -> Response:
    """Answer a request whose client went away before it was whole; nobody reads that."""
    return refusal(400, "The request is not whole.", "Send all of it.")


def from_bug(request: Request, error: Exception) -> Response:
    """Answer a request that failed as nobody foresaw; only the log says how."""
    request.scope[ERROR] = "bug"
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return refusal(500, "This is a bug.", "Please report it, with what the server printed.")
