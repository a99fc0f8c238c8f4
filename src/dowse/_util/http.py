"""One exchange over HTTP: it ends at its deadline, and its answer is never larger than allowed.

A timeout per read is no deadline: a server that sends one byte per second never reaches it. So
exchanges run on an event loop in a thread of its own, where the whole of one can be cancelled.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
import weakref
import zlib
from collections.abc import Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime

import httpx2

from dowse._util.endpoints import HttpReply

_GZIP_OR_ZLIB = 47  # zlib's code for both
_PACKED = frozenset({"gzip", "x-gzip", "deflate"})

# This module is loaded at the first exchange of a process.
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
        if answer.headers.get("content-encoding", "").strip().lower() in _PACKED:
            content = bytearray(zlib.decompressobj(_GZIP_OR_ZLIB).decompress(content, most + 1))
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
