"""One writer per part of an index, over an engine that cannot lock.

A writer leaves a claim and renews it. A claim is void when its process on this machine is gone, or
when it was not renewed for a while. Of two claims that exclude each other the older one counts.
Machines whose clocks differ widely may both write for a moment; then the last one to replace a
document wins, and nothing worse happens, because versions of documents are never mixed.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from dowse._store.remote.coding import decode, encode
from dowse._store.remote.documents import record
from dowse._store.remote.rows import In, Row, RowCollection, Rows
from dowse._util.process import command_name, is_running
from dowse.errors import DowseError, Locked

KIND = "writer"
LEASE = 20.0
"""Seconds after which a claim that is not renewed is void."""

_RENEWED = 5.0  # seconds between two renewals
_POLL = 0.1  # seconds between two looks at a claim that is in the way

WHOLE = ""
"""The part of a writer of the whole index."""


class Claim(msgspec.Struct, frozen=True):
    """Who writes which part."""

    id: str
    part: str  # "3/16", or nothing for the whole index
    host: str
    pid: int
    command: str
    since: float  # seconds since 1970
    renewed: float

    @property
    def key(self) -> str:
        """The key of its row."""
        return f"writer/{self.id}"

    @property
    def row(self) -> Row:
        """The claim as a row."""
        return record(self.key, KIND, encode(self))

    @property
    def order(self) -> tuple[float, str]:
        """The older of two claims counts."""
        return self.since, self.id

    @property
    def who(self) -> str:
        """The writer, for people."""
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.since))
        here = self.host == socket.gethostname()
        where = "" if here else f" on {self.host}"
        me = here and self.pid == os.getpid()
        name = "this process" if me else f"process {self.pid}{where} ({self.command}, since {when})"
        return f"{name}, part {self.part}" if self.part else name

    def is_void(self, now: float) -> bool:
        """Whether its writer is gone."""
        if self.host == socket.gethostname() and not is_running(self.pid):
            return True
        return now - self.renewed > LEASE


def excludes(one: str, other: str) -> bool:
    """Whether two parts must not be written at once: all but different parts of one division."""
    if WHOLE in (one, other) or one == other:
        return True
    return one.partition("/")[2] != other.partition("/")[2]


@contextmanager
def claimed(rows: Rows, state: RowCollection, part: str, wait: float) -> Iterator[None]:
    """Holds the claim to a part of an index; raises `Locked` when it is not free in time."""
    now = time.time()
    claim = Claim(
        uuid.uuid4().hex, part, socket.gethostname(), os.getpid(), command_name(), now, now
    )
    deadline = time.monotonic() + max(0.0, wait)
    while (holder := _try(rows, state, claim)) is not None:
        if time.monotonic() >= deadline:
            raise Locked(
                f"The index is being written by {holder.who}.",
                "Wait for it to end, or stop it; dowse index --wait SECONDS waits longer.",
            )
        time.sleep(min(_POLL, max(0.01, deadline - time.monotonic())))
    ended = threading.Event()
    renewing = threading.Thread(
        target=_renew, args=(rows, state, claim, ended), name="dowse-claim", daemon=True
    )
    renewing.start()
    try:
        yield
    finally:
        ended.set()
        renewing.join()
        rows.remove(state, [claim.key])


def holders(rows: Rows, state: RowCollection) -> list[Claim]:
    """Those who write now; claims of writers that are gone are removed."""
    found = [decode(row["data"], Claim) for row in rows.scan(state, In("kind", [KIND]), ["data"])]
    now = time.time()
    void = [claim for claim in found if claim.is_void(now)]
    if void:
        rows.remove(state, [claim.key for claim in void])
    return sorted((one for one in found if one not in void), key=lambda one: one.order)


def _try(rows: Rows, state: RowCollection, claim: Claim) -> Claim | None:
    """Leaves a claim; when another one is in the way, takes it back and returns that one."""
    others = [one for one in holders(rows, state) if excludes(one.part, claim.part)]
    if others:
        return others[0]
    mine = msgspec.structs.replace(claim, since=time.time(), renewed=time.time())
    rows.put(state, [mine.row])
    # Another may have left its own between the look and this: the older one of both counts.
    for one in holders(rows, state):
        if one.id != mine.id and excludes(one.part, mine.part) and one.order < mine.order:
            rows.remove(state, [mine.key])
            return one
    return None


def _renew(rows: Rows, state: RowCollection, claim: Claim, ended: threading.Event) -> None:
    while not ended.wait(_RENEWED):
        try:
            rows.put(state, [msgspec.structs.replace(claim, renewed=time.time()).row])
        except DowseError:  # the writer itself will say what is wrong with the engine
            continue
