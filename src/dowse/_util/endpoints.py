"""A question to an OpenAI-compatible endpoint: when it is asked again, and how failures read."""

from __future__ import annotations

import json
import os
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dowse.errors import EndpointFailed

if TYPE_CHECKING:
    from dowse._util.http import Web

_WORTH_RETRYING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_FIRST_PAUSE = 0.5  # seconds; each further pause is twice as long
_LONGEST_PAUSE = 60.0  # seconds, whatever an endpoint asks for
_RETRIES_WHILE_WAITING = 2  # a person waits; there is usually something to fall back on
_PATIENCE = 10.0  # times the timeout: all tries and pauses of a question that nobody waits for
_SHOWN = 200  # characters of an answer that an error repeats

Wait = Callable[[float], None]
"""Waits some seconds; tests replace it."""


class Endpoint(Struct, frozen=True):
    """Where a model answers, and the names of the settings that say so."""

    url: str  # that the path is appended to
    path: str  # such as /embeddings
    model: str
    settings: str  # the group of its settings, such as embed
    api_key_env: str = ""
    timeout: float = 60.0  # seconds for one whole answer
    timeout_setting: str = "timeout"
    retries: int = 5
    otherwise: str = ""  # what a user can do who has no endpoint that works


class HttpReply(Struct, frozen=True):
    """An answer that arrived completely."""

    status: int
    headers: Mapping[str, str]  # names in any case
    body: bytes

    @property
    def text(self) -> str:
        """The body as text; what is not UTF-8 is replaced."""
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        """Read the body as JSON; raise `ValueError`, also for what is nested too deeply."""
        try:
            return json.loads(self.body)
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error


class EndpointClient:
    """Asks one endpoint; safe from several threads."""

    def __init__(self, endpoint: Endpoint, wait: Wait = time.sleep) -> None:
        self._endpoint = endpoint
        self._wait = wait
        self._opening = threading.Lock()
        self._web: Web | None = None

    def reply(self, body: Mapping[str, Any], *, most: int, waiting: bool) -> HttpReply:
        """Return the endpoint's answer, whatever its status, of at most so many bytes.

        A failure that may pass is tried again. While a person is waiting, all tries and pauses
        together end within the timeout of one answer. Raises `EndpointFailed`.
        """
        retries = self._endpoint.retries
        retries = min(retries, _RETRIES_WHILE_WAITING) if waiting else retries
        until = time.monotonic() + self._endpoint.timeout * (1.0 if waiting else _PATIENCE)
        for attempt in range(retries):
            found = self._try(body, most, until)
            if isinstance(found, HttpReply) and found.status not in _WORTH_RETRYING:
                return found
            self._pause(found, attempt, until)
        last = self._try(body, most, until)
        if isinstance(last, EndpointFailed):
            raise last
        return last

    def _try(self, body: Mapping[str, Any], most: int, until: float) -> HttpReply | EndpointFailed:
        """Return an answer, or a failure that may pass; other failures are raised."""
        import httpx2  # noqa: PLC0415  (only an endpoint needs the network)

        from dowse._util.http import TooLarge, Web  # noqa: PLC0415  (as above)

        endpoint = self._endpoint
        headers = self._headers()
        try:
            with self._opening:
                self._web = self._web or Web()
        except (httpx2.InvalidURL, ValueError, ImportError) as error:
            raise self.failed(
                f"cannot be asked through the proxy that the environment names: {error}",
                "Correct HTTPS_PROXY, HTTP_PROXY and ALL_PROXY, or unset them.",
            ) from error
        address = f"{endpoint.url.rstrip('/')}{endpoint.path}"
        seconds = min(endpoint.timeout, until - time.monotonic())
        try:
            return self._web.post(address, body, headers, seconds=seconds, most=most)
        except TimeoutError:
            setting = f"{endpoint.settings}.{endpoint.timeout_setting}"
            return self.failed(
                f"did not answer within {endpoint.timeout:g} seconds",
                f"Give it longer with: dowse config set {setting} SECONDS",
            )
        except TooLarge as error:
            raise self.failed(f"does not end its answer: {error}") from error
        except zlib.error as error:
            what = f"gave an answer of no use: it cannot be decompressed ({error})"
            raise self.failed(what) from error
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
            raise self.failed(f"has no usable address: {error}") from error
        except httpx2.HTTPError as error:
            what = f"cannot be reached: {error or type(error).__name__}"
            failure = self.failed(what, f"Check that it runs. {endpoint.otherwise}".strip())
            if isinstance(error, httpx2.ConnectError):
                raise failure from error  # nobody listens, and nobody will in a second
            return failure

    def _pause(self, found: HttpReply | EndpointFailed, attempt: int, until: float) -> None:
        from dowse._util.http import requested_pause  # noqa: PLC0415  (as above)

        pause = _FIRST_PAUSE * 2.0**attempt
        if isinstance(found, HttpReply):
            pause = requested_pause(found.headers.get("retry-after", "")) or pause
        if min(pause, _LONGEST_PAUSE) < until - time.monotonic():
            self._wait(min(pause, _LONGEST_PAUSE))
        elif isinstance(found, HttpReply):
            self.check(found, f"It wants {pause:g} seconds of rest. Try again then.")
        else:
            raise found

    def _headers(self) -> dict[str, str]:
        variable, key = self._endpoint.api_key_env, self._key()
        if not variable:
            return {}
        if not key:
            raise self.failed(
                f"needs a key, but {variable} is not set", f"Put the key into {variable}."
            )
        if not key.isascii() or not key.isprintable():
            raise self.failed(f"needs a key, but what {variable} holds cannot be one")
        return {"Authorization": f"Bearer {key}"}

    def _key(self) -> str:
        variable = self._endpoint.api_key_env
        return os.environ.get(variable, "").strip() if variable else ""

    # ── What went wrong ──────────────────────────────────────────────────────

    def check(self, reply: HttpReply, hint: str = "") -> None:
        """Raise `EndpointFailed` unless an answer says that all went well."""
        status, settings = reply.status, self._endpoint.settings
        if status in {401, 403}:
            variable = self._endpoint.api_key_env
            name_it = f"dowse config set {settings}.api_key_env NAME"
            raise self.failed(
                f"refused the key ({status})",
                f"Check the key in the environment variable {variable}."
                if variable
                else f"Name the variable that holds the key: {name_it}",
            )
        if status == 404:
            raise self.failed(
                f"knows no {self._endpoint.path} or no model {self._endpoint.model!r} (404)",
                f"Check {settings}.endpoint_url and {settings}.endpoint_model.",
            )
        if not 200 <= status < 300:
            what = f"answered {status}: {self.shown(reply)}"
            raise self.failed(what, hint or self._endpoint.otherwise)

    def useless(self, reply: HttpReply, what: str) -> EndpointFailed:
        """Make the error for an answer that is not what was asked for."""
        url = f"{self._endpoint.settings}.endpoint_url"
        return self.failed(
            f"answered with {what}: {self.shown(reply)}",
            f"Check that {url} leads to an OpenAI-compatible endpoint.",
        )

    def failed(self, what: str, hint: str = "") -> EndpointFailed:
        """Make an error that names the endpoint and says what it did."""
        said = f"The endpoint {self._endpoint.url} {what}."
        return EndpointFailed(self._without_secrets(said), hint)

    def shown(self, reply: HttpReply) -> str:
        """Return the beginning of an answer, without the key that it may repeat."""
        text = self._without_secrets(reply.text[: 10 * _SHOWN])
        return " ".join(text.split())[:_SHOWN] or "nothing"

    def _without_secrets(self, text: str) -> str:
        key = self._key()
        return text.replace(key, "***") if key else text
