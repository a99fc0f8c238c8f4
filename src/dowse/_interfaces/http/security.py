"""Who may ask, and how much: checks that every request passes before anything else sees it.

A page on the web can make a browser send requests to this machine, also under a name that it has
made point here (DNS rebinding). So the names that a request is sent to and comes from are checked,
and no answer may be read by pages from elsewhere, except those that the owner has listed.
"""

from __future__ import annotations

import hmac
import ipaddress
import math
import os
import re
import socket
import struct
from collections.abc import Sequence
from contextlib import suppress

import anyio
from msgspec import Struct, field
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dowse._interfaces.http.api import refusal
from dowse._interfaces.served import FOLDER, SETUP, is_own, setup_of_process
from dowse.errors import UsageError

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What the web page may do: run and show what this server sends, and nothing else."""

_SECURITY_HEADERS = Headers(
    {
        "Content-Security-Policy": PAGE_POLICY,
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }
).raw
"""What every answer carries."""

_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
# What needs the token, or the owner's own user; the page itself holds nothing to hide.
_SECRET = ("/api/", "/mcp", "/ready", "/metrics")
_OPEN = frozenset({"/api/", "/api/v1/healthz", "/health"})
_HOST = re.compile(r"(?:\[(?P<address>[0-9a-fA-F:.]+)\]|(?P<name>[0-9A-Za-z_.-]+))(?::[0-9]{0,5})?")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[0-9a-z._~\[\]:-]+")
_ASKED_METHOD = "access-control-request-method"


class Limits(Struct, frozen=True):
    """How much one request may take."""

    body: int = 1 << 20  # bytes
    address: int = 16 << 10  # bytes of path and parameters
    headers: int = 32 << 10  # bytes of all of them
    header_count: int = 100
    upload_seconds: float = 10.0  # for the whole body to arrive
    seconds: float = 30.0  # for the answer to begin


class Access(Struct, frozen=True):
    """Where the server listens, and who may come in."""

    host: str = "127.0.0.1"
    token: str = ""  # empty: none is asked for
    names: tuple[str, ...] = ()  # by which it may be called too, as behind a proxy
    origins: tuple[str, ...] = ()  # of other sites, whose pages may use the API
    limits: Limits = field(default_factory=Limits)

    def knows(self, name: str) -> bool:
        """Say whether a request may call the server by this name."""
        own = {self.host.strip("[]").lower(), *(one.lower() for one in self.names)}
        if is_local(self.host):
            return name in _LOCAL_NAMES | own
        machine = socket.gethostname().lower()
        own |= {machine, f"{machine}.local", "localhost"}
        return name in own or _address(name) is not None


def is_local(host: str) -> bool:
    """Say whether only this machine can reach a server that is bound so."""
    address = _address(host.strip("[]"))
    return address.is_loopback if address else host.lower() == "localhost"


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    with suppress(ValueError):
        return ipaddress.ip_address(name)
    return None


class Guard:
    """Check every request before an application sees it."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or say why not."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # there is nothing here that speaks anything else
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = Headers(scope=scope)
        origin = _allowed_origin(scope, headers, self._access.origins)
        # A browser asks what it may ask, and sends no token with that.
        is_preflight = bool(origin) and scope["method"] == "OPTIONS" and _ASKED_METHOD in headers
        sending = _Sending(send, scope["path"], origin)
        refused = self._refusal(scope, headers, origin, is_preflight=is_preflight)
        if refused:
            await refusal(*refused)(scope, receive, sending)
        elif is_preflight:
            await _preflight(headers)(scope, receive, sending)
        else:
            await self._within_limits(scope, receive, sending)

    def _refusal(
        self, scope: Scope, headers: Headers, origin: str, *, is_preflight: bool
    ) -> tuple[int, str, str] | None:
        """Return status, reason and hint, when a request may not come in."""
        access = self._access
        too_much = _excess(scope, headers, access.limits)
        if is_own(scope):  # a process of this user may understand the request otherwise
            if headers.get(SETUP) == setup_of_process() and FOLDER in headers:
                return too_much
            return 412, "The server has another version or other settings.", "Work without it."
        hosts = headers.getlist("host")
        named = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        if named is None or not access.knows((named["address"] or named["name"]).lower()):
            own = "127.0.0.1 or localhost" if is_local(access.host) else "the server's address"
            hint = f"Use {own}. The owner of the server can allow other names."
            return 421, "Unknown host name in the request.", hint
        if not origin and _is_from_elsewhere(scope, headers, hosts[0]):
            hint = "Open the server's own page. The owner of the server can allow other pages."
            return 403, "Pages of other sites may not use this server.", hint
        path = scope["path"]
        if too_much or is_preflight or not path.startswith(_SECRET) or path in _OPEN:
            return too_much
        return self._stranger(scope, headers)

    def _stranger(self, scope: Scope, headers: Headers) -> tuple[int, str, str] | None:
        """Refuse those who may not see what is in the index."""
        token = self._access.token.encode()
        scheme, _, given = headers.get("authorization", "").partition(" ")
        sent = given.strip().encode("latin-1")  # the bytes as they came
        if token and not (scheme.lower() == "bearer" and hmac.compare_digest(sent, token)):
            return 401, "The token is missing or wrong.", "Send: Authorization: Bearer TOKEN"
        if not token and is_another_user(scope.get("client"), scope.get("server")):
            hint = "The owner of the server can let others in with a token."
            return 403, "This server belongs to another user of this machine.", hint
        return None

    async def _within_limits(self, scope: Scope, receive: Receive, sending: _Sending) -> None:
        limits = self._access.limits
        # A stream of MCP may stay open as long as its client wishes.
        seconds = math.inf if scope["path"].startswith("/mcp") else limits.seconds
        with anyio.move_on_after(seconds) as patience:
            try:
                await self._app(scope, _Receiving(receive, limits), sending)
            except Exception:
                if not sending.begun:  # otherwise it has been answered and logged
                    raise
        if patience.cancelled_caught and not sending.begun:
            said = refusal(504, "This took too long.", "Ask for less, or try again.")
            await said(scope, receive, sending)


class _Receiving:
    """Receive a request, as long as it is not too large or too slow."""

    def __init__(self, receive: Receive, limits: Limits) -> None:
        self._receive, self._limits = receive, limits
        self._bytes = 0
        self._whole = False
        self._until = anyio.current_time() + limits.upload_seconds

    async def __call__(self) -> Message:
        if self._whole:  # from now on only the end of the connection can come, at any time
            return await self._receive()
        try:
            with anyio.fail_after(self._until - anyio.current_time()):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408, "The request did not arrive") from None
        self._bytes += len(message.get("body", b""))
        self._whole = not message.get("more_body", False)
        if self._bytes > self._limits.body:
            raise HTTPException(413, "The request is too large")
        return message


class _Sending:
    """Send an answer with the headers that every answer carries."""

    def __init__(self, send: Send, path: str, origin: str) -> None:
        self._send, self._origin = send, origin
        # Browsers ask for the icon whenever the address changes.
        kept = "max-age=86400" if path == "/icon.svg" else "no-cache"
        self._caching = "no-store" if path.startswith(_SECRET) else kept
        self.begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            headers = MutableHeaders(raw=[*message["headers"], *_SECURITY_HEADERS])
            headers.setdefault("Cache-Control", self._caching)
            if self._origin:
                headers.update({"Access-Control-Allow-Origin": self._origin, "Vary": "Origin"})
            if message["status"] == 401:
                headers["WWW-Authenticate"] = 'Bearer realm="dowse"'
            message["headers"] = headers.raw
        await self._send(message)


def _excess(scope: Scope, headers: Headers, limits: Limits) -> tuple[int, str, str] | None:
    """Return status, reason and hint, when a request says too much."""
    if len(scope.get("raw_path", b"")) + len(scope["query_string"]) > limits.address:
        return 414, "The address is too long.", "Send a long query as JSON, with POST."
    size = sum(len(name) + len(value) for name, value in headers.raw)
    if len(headers.raw) > limits.header_count or size > limits.headers:
        return 431, "The headers are too large.", "Send fewer and shorter ones."
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > limits.body:
        return 413, "The request is too large.", f"At most {limits.body:,} bytes."
    return None


def _is_from_elsewhere(scope: Scope, headers: Headers, host: str) -> bool:
    """Tell if the page of another site asks, other than by a link that somebody clicks."""
    own = {f"http://{host}", f"https://{host}"}
    if any(origin not in own for origin in headers.getlist("origin")):
        return True
    if headers.get("sec-fetch-site", "none") in {"none", "same-origin"}:
        return False
    is_click = headers.get("sec-fetch-mode") == "navigate" and scope["method"] == "GET"
    return not is_click or scope["path"].startswith(_SECRET)


# ── Pages of other sites that the owner lets ask (CORS) ──────────────────────


def checked_origins(origins: Sequence[str]) -> tuple[str, ...]:
    """Return the origins as browsers write them; raise `UsageError` for what is none."""
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


def _allowed_origin(scope: Scope, headers: Headers, origins: Sequence[str]) -> str:
    """Return the origin of a request to the API, if it is among these; otherwise empty."""
    named = headers.getlist("origin")
    is_allowed = len(named) == 1 and named[0].lower() in origins
    return named[0] if is_allowed and scope["path"].startswith("/api/v1/") else ""


def _preflight(headers: Headers) -> Response:
    """Answer what a page may send."""
    private = headers.get("access-control-request-private-network") == "true"
    said = {
        "Access-Control-Allow-Methods": "GET, POST",
        "Access-Control-Allow-Headers": "Authorization, Content-Type",
        "Access-Control-Max-Age": "600",  # seconds that a browser remembers it
        **({"Access-Control-Allow-Private-Network": "true"} if private else {}),
    }
    return Response(status_code=204, headers=said)


# ── Which user of this machine is asking ─────────────────────────────────────

_ROOT = 0  # may read every file anyway, and is what a connection shows that is being closed
_SOCK_DIAG, _BY_FAMILY, _REQUEST, _ERROR = 4, 20, 1, 2  # a protocol of netlink, and its messages


def is_another_user(client: tuple[str, int] | None, server: tuple[str, int] | None) -> bool:
    """Say whether a connection comes from another user; no, where the system does not tell.

    A port of this machine is open to all its users, unlike a socket file. Linux knows the user at
    the other end of every connection to itself. The kernel is asked for that one connection
    (sock_diag(7)); a list of all connections can be long.
    """
    if client is None or server is None or not hasattr(socket, "AF_NETLINK"):
        return False
    try:
        here, there = ipaddress.ip_address(client[0]), ipaddress.ip_address(server[0])
        family = socket.AF_INET if here.version == 4 else socket.AF_INET6
        # In any state, on any device: the socket whose own address is the client's.
        wanted = (
            struct.pack("=BBBBI", family, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF)
            + struct.pack("!HH16s16s", client[1], server[1], here.packed, there.packed)
            + b"\0" * 4
            + b"\xff" * 8
        )
        header = struct.pack("=IHHII", 16 + len(wanted), _BY_FAMILY, _REQUEST, 0, 0)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _SOCK_DIAG) as kernel:
            kernel.settimeout(1.0)
            kernel.sendto(header + wanted, (0, 0))
            answer = kernel.recv(4096)
        # The user comes after the header, the state, both ends and the sizes of the queues.
        kind, owner = struct.unpack_from("=4xH74xI", answer)
    except (OSError, ValueError, struct.error):  # no address, or a kernel that does not answer
        return False
    return kind != _ERROR and owner not in {_ROOT, os.getuid()}
