"""A question to an OpenAI-compatible endpoint: when it is asked again, and how failures read.

One exchange ends at its deadline, and its answer is never larger than allowed. A timeout per read
is no deadline: a server that sends one byte per second never reaches it. So exchanges run on an
event loop in a thread of its own, where the whole of one can be cancelled.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import threading
import time
import weakref
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Any

import httpx2
from msgspec import Struct

from dowse.errors import EndpointFailed

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

    @cached_property
    def _web(self) -> Web:
        try:
            return Web()  # when it is first asked: it reads certificates
        except (httpx2.InvalidURL, ValueError, ImportError) as error:
            raise self.failed(
                f"cannot be asked through the proxy that the environment names: {error}",
                "Correct HTTPS_PROXY, HTTP_PROXY and ALL_PROXY, or unset them.",
            ) from error

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
        endpoint, headers = self._endpoint, self._headers()
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
            raise self.failed(
                f"gave an answer of no use: it cannot be decompressed ({error})"
            ) from error
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
            raise self.failed(f"has no usable address: {error}") from error
        except httpx2.HTTPError as error:
            what = f"cannot be reached: {error or type(error).__name__}"
            failure = self.failed(what, f"Check that it runs. {endpoint.otherwise}".strip())
            if isinstance(error, httpx2.ConnectError):
                raise failure from error  # nobody listens, and nobody will in a second
            return failure

    def _pause(self, found: HttpReply | EndpointFailed, attempt: int, until: float) -> None:
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
            raise self.failed(
                f"refused the key ({status})",
                f"Check the key in the environment variable {variable}."
                if variable
                else "Name the variable that holds the key: dowse config set"
                f" {settings}.api_key_env NAME",
            )
        if status == 404:
            raise self.failed(
                f"knows no {self._endpoint.path} or no model {self._endpoint.model!r} (404)",
                f"Check {settings}.endpoint_url and {settings}.endpoint_model.",
            )
        if not 200 <= status < 300:
            raise self.failed(
                f"answered {status}: {self.shown(reply)}", hint or self._endpoint.otherwise
            )

    def useless(self, reply: HttpReply, what: str) -> EndpointFailed:
        """Make the error for an answer that is not what was asked for."""
        return self.failed(
            f"answered with {what}: {self.shown(reply)}",
            f"Check that {self._endpoint.settings}.endpoint_url leads to an OpenAI-compatible"
            " endpoint.",
        )

    def failed(self, what: str, hint: str = "") -> EndpointFailed:
        """Make an error that names the endpoint and says what it did."""
        return EndpointFailed(
            self._without_secrets(f"The endpoint {self._endpoint.url} {what}."), hint
        )

    def shown(self, reply: HttpReply) -> str:
        """Return the beginning of an answer, without the key that it may repeat."""
        text = self._without_secrets(reply.text[: 10 * _SHOWN])
        return " ".join(text.split())[:_SHOWN] or "nothing"

    def _without_secrets(self, text: str) -> str:
        key = self._key()
        return text.replace(key, "***") if key else text


# ── One exchange ─────────────────────────────────────────────────────────────

_LOOP = asyncio.new_event_loop()
threading.Thread(target=_LOOP.run_forever, name="network", daemon=True).start()


class TooLarge(Exception):
    """The answer is larger than allowed."""


class Web:
    """Connections to servers, kept open between exchanges; safe from several threads."""

    def __init__(self) -> None:
        # The deadline covers everything, so no single step needs a time of its own.
        self._client = httpx2.AsyncClient(timeout=None, follow_redirects=False)
        weakref.finalize(self, _close, self._client)

    def post(
        self, url: str, body: object, headers: Mapping[str, str], *, seconds: float, most: int
    ) -> HttpReply:
        """Send a record as JSON, and return an answer of at most so many bytes.

        Raises `TimeoutError`, `TooLarge`, `zlib.error`, `httpx2.HTTPError` or `httpx2.InvalidURL`.
        """
        exchange = asyncio.wait_for(self._exchange(url, body, headers, most), max(seconds, 0.0))
        future = asyncio.run_coroutine_threadsafe(exchange, _LOOP)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # Ctrl-C ends the exchange, too
            raise

    async def _exchange(
        self, url: str, body: object, headers: Mapping[str, str], most: int
    ) -> HttpReply:
        content = bytearray()
        sent = {"Accept-Encoding": "identity", **headers}
        async with self._client.stream("POST", url, json=body, headers=sent) as answer:
            async for part in answer.aiter_raw():
                content += part
                _check_size(content, most)
        # Some servers compress unasked. An unknown encoding fails where the content is read.
        packed = answer.headers.get("content-encoding", "").strip().lower()
        if packed in {"gzip", "x-gzip", "deflate"}:
            either = zlib.MAX_WBITS | 32  # gzip or zlib, as it begins
            content = bytearray(zlib.decompressobj(either).decompress(content, most + 1))
            _check_size(content, most)
        return HttpReply(answer.status_code, answer.headers, bytes(content))


def _check_size(content: bytearray, most: int) -> None:
    if len(content) > most:
        raise TooLarge(f"its answer is larger than {most:,} bytes")


def _close(client: httpx2.AsyncClient) -> None:
    asyncio.run_coroutine_threadsafe(client.aclose(), _LOOP)


def requested_pause(wanted: str) -> float | None:
    """Return the seconds that a Retry-After asks for, as a number or a date; None for nonsense."""
    seconds = 0.0
    try:
        seconds = float(wanted)
    except ValueError:
        with suppress(ValueError, OverflowError):
            seconds = parsedate_to_datetime(wanted.strip()).timestamp() - time.time()
    return seconds if math.isfinite(seconds) and seconds > 0 else None
