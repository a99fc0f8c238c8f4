"""One exchange over HTTP: it ends at its deadline, and its answer is never larger than allowed.

A timeout per read is no deadline: a server that sends one byte per second never reaches it. So
exchanges run on an event loop in a thread of its own, where the whole of one can be cancelled.
"""

from __future__ import annotations

import asyncio
import json
import threading
import weakref
import zlib
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    import httpx2

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
