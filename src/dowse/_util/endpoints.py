"""A question to an OpenAI-compatible endpoint: when it is asked again, and how failures read."""

from __future__ import annotations

import asyncio
import json
import math
import os
import threading
import time
import weakref
import zlib
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from dowse.errors import EndpointFailed

if TYPE_CHECKING:
    import httpx2


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

    @property
    def address(self) -> str:
        """The whole address."""
        return f"{self.url.rstrip('/')}{self.path}"


class EndpointClient:
    """Asks one endpoint; safe from several threads."""

    def __init__(self, endpoint: Endpoint, wait: Wait = time.sleep) -> None:
        self._endpoint = endpoint
        self._wait = wait
        self._opening = threading.Lock()
        self._web: Web | None = None

    def reply(self, body: Mapping[str, Any], *, most: int, waiting: bool) -> HttpReply:
        """The endpoint's answer, whatever its status, of at most so many bytes.

        A failure that may pass is tried again. While a person is waiting, all tries and pauses
        together end within the timeout of one answer. Raises `EndpointFailed`.
        """
        retries = self._endpoint.retries
        retries = min(retries, _RETRIES_WHILE_WAITING) if waiting else retries
        patience = self._endpoint.timeout * (1.0 if waiting else _PATIENCE)
        until = time.monotonic() + patience
        for attempt in range(retries):
            found = self._try(body, most, until)
            if not isinstance(found, EndpointFailed) and found.status not in _WORTH_RETRYING:
                return found
            self._pause(found, attempt, until)
        last = self._try(body, most, until)
        if isinstance(last, EndpointFailed):
            raise last
        return last

    def _try(self, body: Mapping[str, Any], most: int, until: float) -> HttpReply | EndpointFailed:
        """An answer, or a failure that may pass; other failures are raised."""
        import httpx2  # noqa: PLC0415  (only an endpoint needs the network)

        from dowse._util.endpoints import ExchangeLimits, TooLarge, TooLate, Undecodable  # noqa: PLC0415  (as above)

        limits = ExchangeLimits(min(self._endpoint.timeout, until - time.monotonic()), most)
        try:
            return self._open().post(self._endpoint.address, body, self._headers(), limits)
        except TooLate:
            return self._late()
        except TooLarge as error:
            raise self.failed(f"does not end its answer: {error}") from error
        except Undecodable as error:
            raise self.failed(f"gave an answer of no use: {error}") from error
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
            raise self.failed(f"has no usable address: {error}") from error
        except httpx2.ConnectError as error:  # nobody listens, and nobody will in a second
            raise self._unreachable(error) from error
        except httpx2.HTTPError as error:
            return self._unreachable(error)

    def _open(self) -> Web:
        from dowse._util.endpoints import Web  # noqa: PLC0415  (as above)

        with self._opening:
            self._web = self._web or Web()
            return self._web

    def _pause(self, found: HttpReply | EndpointFailed, attempt: int, until: float) -> None:
        pause = _FIRST_PAUSE * 2.0**attempt
        if not isinstance(found, EndpointFailed):
            pause = requested_pause(found.headers.get("retry-after", "")) or pause
        if min(pause, _LONGEST_PAUSE) < until - time.monotonic():
            self._wait(min(pause, _LONGEST_PAUSE))
        elif isinstance(found, EndpointFailed):
            raise found
        else:
            self.check(found, f"It wants {pause:g} seconds of rest. Try again then.")

    # ── What it may see ──────────────────────────────────────────────────────

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
        """Raises `EndpointFailed` unless an answer says that all went well."""
        status, settings = reply.status, self._endpoint.settings
        if status in {401, 403}:
            raise self.failed(f"refused the key ({status})", self._key_hint())
        if status == 404:
            raise self.failed(
                f"knows no {self._endpoint.path} or no model {self._endpoint.model!r} (404)",
                f"Check {settings}.endpoint_url and {settings}.endpoint_model.",
            )
        if not 200 <= status < 300:
            what = f"answered {status}: {self.shown(reply)}"
            raise self.failed(what, hint or self._endpoint.otherwise)

    def useless(self, reply: HttpReply, what: str) -> EndpointFailed:
        """The error for an answer that is not what was asked for."""
        url = f"{self._endpoint.settings}.endpoint_url"
        return self.failed(
            f"answered with {what}: {self.shown(reply)}",
            f"Check that {url} leads to an OpenAI-compatible endpoint.",
        )

    def failed(self, what: str, hint: str = "") -> EndpointFailed:
        """An error that names the endpoint and says what it did."""
        said = f"The endpoint {self._endpoint.url} {what}."
        return EndpointFailed(self._without_secrets(said), hint)

    def shown(self, reply: HttpReply) -> str:
        """The beginning of an answer, without the key that it may repeat."""
        text = self._without_secrets(reply.text[: 10 * _SHOWN])
        return " ".join(text.split())[:_SHOWN] or "nothing"

    def _late(self) -> EndpointFailed:
        setting = f"{self._endpoint.settings}.{self._endpoint.timeout_setting}"
        return self.failed(
            f"did not answer within {self._endpoint.timeout:g} seconds",
            f"Give it longer with: dowse config set {setting} SECONDS",
        )

    def _unreachable(self, error: Exception) -> EndpointFailed:
        hint = f"Check that it runs. {self._endpoint.otherwise}".strip()
        return self.failed(f"cannot be reached: {error or type(error).__name__}", hint)

    def _key_hint(self) -> str:
        if variable := self._endpoint.api_key_env:
            return f"Check the key in the environment variable {variable}."
        setting = f"{self._endpoint.settings}.api_key_env"
        return f"Name the variable that holds the key: dowse config set {setting} NAME"

    def _without_secrets(self, text: str) -> str:
        key = self._key()
        return text.replace(key, "***") if key else text


def requested_pause(wanted: str) -> float | None:
    """The seconds that a Retry-After asks for, as a number or a date; None for nonsense."""
    try:
        seconds = float(wanted)
    except ValueError:
        seconds = _seconds_until(wanted)
    return seconds if math.isfinite(seconds) and seconds > 0 else None


def _seconds_until(date: str) -> float:
    import email.utils  # noqa: PLC0415  (only a busy endpoint needs it)

    try:
        return email.utils.parsedate_to_datetime(date.strip()).timestamp() - time.time()
    except (ValueError, OverflowError):
        return 0.0


_T = TypeVar("_T")
_GZIP_OR_ZLIB = 47  # zlib's code for both
_PACKED = frozenset({"gzip", "x-gzip", "deflate"})


class TooLate(Exception):
    """The answer was not complete at its deadline."""


class TooLarge(Exception):
    """The answer is larger than allowed."""


class Undecodable(ValueError):
    """The answer is not the JSON, or not in the encoding, that it should be."""


class ExchangeLimits(Struct, frozen=True):
    """How long a whole exchange may take, and how many bytes its answer may have."""

    seconds: float
    bytes: int


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
        """The body as JSON; raises `Undecodable`, also for what is nested too deeply."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise Undecodable(f"it is no JSON that can be read ({type(error).__name__})") from error


class Web:
    """Connections to servers, kept open between exchanges; safe from several threads.

    Every call raises `TooLate`, `TooLarge`, `httpx2.HTTPError` or `httpx2.InvalidURL`.
    """

    def __init__(self) -> None:
        self._opening = threading.Lock()
        self._client: httpx2.AsyncClient | None = None

    def post(
        self, url: str, body: object, headers: Mapping[str, str], limits: ExchangeLimits
    ) -> HttpReply:
        """Sends a record as JSON."""

        async def limited() -> HttpReply:
            work = self._read(url, headers, limits, body)
            try:
                return await asyncio.wait_for(work, max(limits.seconds, 0.0))
            except TimeoutError as error:
                raise TooLate(f"it took longer than {limits.seconds:g} seconds") from error

        return _on_the_loop(limited())

    async def _read(
        self, url: str, headers: Mapping[str, str], limits: ExchangeLimits, body: object
    ) -> HttpReply:
        parts = bytearray()
        sent = {"Accept-Encoding": "identity", **headers}
        async with self._open().stream("POST", url, json=body, headers=sent) as answer:
            async for part in answer.aiter_raw():
                parts += part
                _check_size(len(parts), limits)
        content = _unpacked(bytes(parts), answer.headers.get("content-encoding", ""), limits)
        return HttpReply(answer.status_code, answer.headers, content)

    def _open(self) -> httpx2.AsyncClient:
        import httpx2  # noqa: PLC0415  (only an exchange needs the network)

        with self._opening:
            if self._client is None:
                # The deadline covers everything, so no single step needs a time of its own.
                self._client = httpx2.AsyncClient(timeout=None, follow_redirects=False)
                weakref.finalize(self, _close, self._client)
            return self._client


def _check_size(size: int, limits: ExchangeLimits) -> None:
    if size > limits.bytes:
        raise TooLarge(f"its answer is larger than {limits.bytes:,} bytes")


def _unpacked(body: bytes, encoding: str, limits: ExchangeLimits) -> bytes:
    """The body without its compression, which some servers apply unasked."""
    if encoding.strip().lower() not in _PACKED:
        return body  # an unknown encoding fails where the content is read
    try:
        plain = zlib.decompressobj(_GZIP_OR_ZLIB).decompress(body, limits.bytes + 1)
    except zlib.error as error:
        raise Undecodable(f"it cannot be decompressed ({error})") from error
    _check_size(len(plain), limits)
    return plain


# ── The loop that all exchanges run on ───────────────────────────────────────


class _Loop:
    """An event loop in a daemon thread, started by the first exchange of the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def get(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                run: Callable[[], None] = self._loop.run_forever
                threading.Thread(target=run, name="network", daemon=True).start()
            return self._loop


_LOOP = _Loop()


def _on_the_loop(work: Coroutine[Any, Any, _T]) -> _T:
    future = asyncio.run_coroutine_threadsafe(work, _LOOP.get())
    try:
        return future.result()
    except BaseException:
        future.cancel()  # Ctrl-C ends the exchange, too
        raise


def _close(client: httpx2.AsyncClient) -> None:
    asyncio.run_coroutine_threadsafe(client.aclose(), _LOOP.get())
