"""One connection: a client that sends nothing, or takes nothing, is dropped."""

from __future__ import annotations

import asyncio
import socket

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from dowse._interfaces.served import is_same_user


class Connection(H11Protocol):
    """HTTP/1.1 with a patience that ends; how long an answer may take is the guard's to say."""

    head_seconds = 10.0
    """For the head of a request to arrive."""

    taking_seconds = 60.0
    """For the client to take what waits for it."""

    _arriving: asyncio.TimerHandle | None = None
    _leaving: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        # An answer is written in two parts. Without this, the second waits 40 ms until the client
        # has confirmed the first; asyncio sets it only for sockets that name their protocol.
        link = transport.get_extra_info("socket")
        is_local = link.family == getattr(socket, "AF_UNIX", None)
        if not is_local:
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)
        if is_local and not is_same_user(link):
            transport.abort()
        self._watch_head()

    def data_received(self, data: bytes) -> None:
        """Take what has arrived."""
        super().data_received(data)
        self._watch_head()

    def _watch_head(self) -> None:
        """Count from the first byte of a head: one byte at a time must not prolong it."""
        if self.conn.their_state is not h11.IDLE:
            self._let_arrive()
        elif self._arriving is None:
            self._arriving = self.loop.call_later(self.head_seconds, self._close)

    def _close(self) -> None:
        self.transport.close()
        self._watch_taking()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection on which no other request has come."""
        super().timeout_keep_alive_handler()
        self._watch_taking()

    def pause_writing(self) -> None:
        """Note that the client is slow to take an answer."""
        super().pause_writing()
        self._watch_taking()

    def resume_writing(self) -> None:
        """Note that it has taken it."""
        super().resume_writing()
        self._let_stay()

    def _watch_taking(self) -> None:
        # What has been written is only lost by an abort: a close waits for it to be taken.
        if self._leaving is None:
            self._leaving = self.loop.call_later(self.taking_seconds, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget what it waited for."""
        self._let_arrive()
        self._let_stay()
        super().connection_lost(exc)

    def _let_arrive(self) -> None:
        if self._arriving is not None:
            self._arriving.cancel()
            self._arriving = None

    def _let_stay(self) -> None:
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None
