"""Who may ask, and how much."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from dowse._interfaces.http.security import PAGE_POLICY, Access, Limits, is_local
from dowse._interfaces.http.server import access_for, application
from dowse._project.pool import EnginePool
from dowse._project.workspace import Workspace
from dowse.errors import UsageError
from rows import check_rows

HERE = "http://127.0.0.1:7333"
STATUS = "/api/v1/projects"
_TOKEN = "secret"  # noqa: S105  of these tests alone
_EVERYWHERE = "0.0.0.0"  # noqa: S104  nothing is bound to it here


@pytest.fixture
def service(home: Path) -> EnginePool:
    """Warm engines of a user who has no project; that is enough to be turned away."""
    return EnginePool(Workspace(), home)


def _client(service: EnginePool, access: Access) -> TestClient:
    return TestClient(application(service, access, watch=False), base_url=HERE)


@pytest.mark.parametrize("host", ["127.0.0.1:7333", "localhost:7333", "localhost", "[::1]:7333"])
def test_this_machine_is_called_by_its_own_names(client: TestClient, host: str) -> None:
    assert client.get(STATUS, headers={"Host": host}).status_code == 200


_OTHER_HOSTS = (
    "example.org",
    "example.org:7333",
    "127.0.0.1.example.org",
    "localhost.example.org",
    "192.168.0.3:7333",
    "0.0.0.0:7333",
    "127.0.0.1@example.org",
    "127.0.0.1:port",
    "127.0.0.1/x",
    "",
)


def test_a_name_that_was_made_to_point_here_is_refused(client: TestClient) -> None:
    def check(row: tuple[str, str]) -> None:
        host, address = row
        answer = client.get(address, headers={"Host": host})
        assert answer.status_code == 421
        assert answer.json().keys() == {"error", "hint"}

    check_rows(product(_OTHER_HOSTS, [STATUS, "/", "/mcp"]), check)


@pytest.mark.parametrize("origin", [HERE, "https://127.0.0.1:7333"])
def test_the_own_page_may_ask(client: TestClient, origin: str) -> None:
    assert client.get(STATUS, headers={"Origin": origin}).status_code == 200


_OTHER_ORIGINS = (
    "https://example.org",
    "http://127.0.0.1:8000",
    "http://localhost:7333",
    "null",
    "",
    "http://127.0.0.1:7333.example.org",
)


def test_pages_from_elsewhere_may_not(client: TestClient) -> None:
    def check(row: tuple[str, str, str]) -> None:
        origin, address, method = row
        answer = client.request(method, address, headers={"Origin": origin})
        assert answer.status_code == 403
        assert not any(name.lower().startswith("access-control") for name in answer.headers)

    check_rows(product(_OTHER_ORIGINS, [STATUS, "/mcp"], ["GET", "POST", "OPTIONS"]), check)


_FRIEND = "https://app.example.org"
_PREFLIGHT = {"Origin": _FRIEND, "Access-Control-Request-Method": "POST"}


def test_a_listed_page_may_use_the_api_alone(service: EnginePool) -> None:
    access = access_for("127.0.0.1", _TOKEN, origins=[f"{_FRIEND}/"])
    told = {"Origin": _FRIEND, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}
    with _client(service, access) as client:
        allowed = client.options(STATUS, headers=_PREFLIGHT)
        assert allowed.status_code == 204
        assert allowed.headers["Access-Control-Allow-Origin"] == _FRIEND
        assert "Authorization" in allowed.headers["Access-Control-Allow-Headers"]
        refused = client.get(STATUS, headers=told)
        assert refused.status_code == 401
        read = client.get(STATUS, headers=told | {"Authorization": f"Bearer {_TOKEN}"})
        assert read.status_code == 200
        assert read.headers["Access-Control-Allow-Origin"] == _FRIEND
        assert read.headers["Vary"] == "Origin"
        for address in ("/mcp", "/metrics", "/"):
            assert client.get(address, headers=told).status_code == 403
            assert client.options(address, headers=_PREFLIGHT).status_code == 403
        for other in ("https://app.example.org.evil.net", "http://app.example.org", "null"):
            answer = client.options(STATUS, headers=_PREFLIGHT | {"Origin": other})
            assert answer.status_code == 403
            assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.parametrize("origin", ["*", "null", "app.example.org", "https://a.org/path", ""])
def test_what_is_no_origin_cannot_be_listed(origin: str) -> None:
    with pytest.raises(UsageError):
        access_for("127.0.0.1", None, origins=[origin])


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_browsers_that_ask_for_another_site_are_refused(client: TestClient, site: str) -> None:
    told = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
    assert client.get(STATUS, headers=told).status_code == 403
    assert client.get("/", headers=told).status_code == 403
    clicked = {**told, "Sec-Fetch-Mode": "navigate"}
    assert client.get("/", headers=clicked).status_code != 403
    assert client.get(STATUS, headers=clicked).status_code == 403
    own = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}
    assert client.get(STATUS, headers=own).status_code == 200


@pytest.mark.parametrize("address", [STATUS, "/", "/api/v1/search", "/nothing", "/mcp"])
def test_every_answer_carries_the_security_headers(client: TestClient, address: str) -> None:
    headers = client.get(address).headers
    assert headers["Content-Security-Policy"] == PAGE_POLICY
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert "server" not in headers
    assert not any(name.startswith("access-control") for name in headers)
    assert headers["Cache-Control"] in {"no-store", "no-cache", "no-cache, no-transform"}


def test_the_policy_of_the_page() -> None:
    assert PAGE_POLICY == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
        " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


@pytest.fixture
def guarded(service: EnginePool) -> Iterator[TestClient]:
    """A server that asks for a token."""
    with _client(service, access_for("127.0.0.1", _TOKEN)) as client:
        yield client


@pytest.mark.parametrize(
    "header", [None, "", "secret", "Bearer", "Bearer wrong", "Basic secret", "Bearer secret2"]
)
@pytest.mark.parametrize("address", [STATUS, "/api/v1/openapi.json", "/api/x", "/mcp"])
def test_a_token_is_asked_for(guarded: TestClient, header: str | None, address: str) -> None:
    answer = guarded.get(address, headers={} if header is None else {"Authorization": header})
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert "secret" not in answer.text


def test_the_token_opens_the_door(guarded: TestClient) -> None:
    for header in ("Bearer secret", "bearer secret"):
        assert guarded.get(STATUS, headers={"Authorization": header}).status_code == 200
    assert guarded.get("/api/v1/healthz").status_code == 200
    assert guarded.get("/").status_code != 401


@pytest.mark.parametrize("token", ["naïve", "鍵"])
def test_a_token_may_have_other_letters(service: EnginePool, token: str) -> None:
    with _client(service, Access(token=token)) as client:
        sent = {b"Authorization": f"Bearer {token}".encode()}
        assert client.get(STATUS, headers=sent).status_code == 200
        assert client.get(STATUS, headers={b"Authorization": b"Bearer \xff"}).status_code == 401


def test_other_addresses_need_a_token() -> None:
    others = (_EVERYWHERE, "::", "192.168.0.3", "example.org")
    made_up = {access_for(host, None).token for host in others}
    assert len(made_up) == 4
    assert all(len(token) >= 32 for token in made_up)
    assert access_for(_EVERYWHERE, _TOKEN).token == _TOKEN
    for host in ("127.0.0.1", "localhost", "::1", "[::1]", "127.1.2.3"):
        assert is_local(host)
        assert access_for(host, None).token == ""


def test_a_server_for_others_is_called_by_its_address(service: EnginePool) -> None:
    access = access_for(_EVERYWHERE, _TOKEN)
    with _client(service, access) as client:
        expected = {"192.168.0.3:7333": 200, "[fe80::1]": 200, "example.org": 421}
        for host, status in expected.items():
            told = {"Host": host, "Authorization": "Bearer secret"}
            assert client.get(STATUS, headers=told).status_code == status


def test_requests_have_a_size(service: EnginePool) -> None:
    limits = Limits(body=1000, address=500)
    with _client(service, Access(limits=limits)) as client:
        large = client.post("/api/v1/search", json={"q": "a" * 2000})
        assert large.status_code == 413
        in_pieces = client.post("/api/v1/search", content=(b"a" * 300 for _ in range(10)))
        assert in_pieces.status_code == 413
        assert client.get("/api/v1/search", params={"q": "a" * 600}).status_code == 414
        wrong = client.post("/api/v1/search", headers={"Content-Length": "-1"}, content=b"")
        assert wrong.status_code == 413
        assert client.post("/api/v1/search", json={"q": "a" * 900}).status_code == 404


def test_answers_have_a_time(service: EnginePool, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, told = threading.Event(), threading.Event()

    def never() -> None:
        asked.set()
        told.wait(20)

    monkeypatch.setattr(service, "warm", lambda: None)  # it asks for the projects, too
    with _client(service, Access(limits=Limits(seconds=0.05))) as client:
        monkeypatch.setattr(service, "projects", never)
        answer = client.get(STATUS)  # comes while the work still goes on
        assert asked.is_set()
        told.set()
        assert answer.status_code == 504
        assert answer.json()["hint"]


def test_a_server_behind_a_proxy_is_called_by_its_name_and_asks_for_a_token(
    service: EnginePool,
) -> None:
    assert access_for("127.0.0.1", None, ["notes.example.org"]).token
    access = access_for("127.0.0.1", _TOKEN, ["Notes.example.org"])
    with _client(service, access) as client:
        told = {"Host": "notes.example.org", "Origin": "https://notes.example.org"}
        assert client.get(STATUS, headers=told).status_code == 401
        told["Authorization"] = "Bearer secret"
        assert client.get(STATUS, headers=told).status_code == 200
        assert client.get(STATUS, headers=told | {"Host": "example.org"}).status_code == 421


def test_any_loopback_address_can_be_called(service: EnginePool) -> None:
    with _client(service, access_for("127.1.2.3", None)) as client:
        assert client.get(STATUS, headers={"Host": "127.1.2.3:7333"}).status_code == 200


def test_nothing_else_than_http_is_spoken(client: TestClient) -> None:
    from starlette.websockets import WebSocketDisconnect  # noqa: PLC0415  only here

    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/api/v1/search"):
        pass


def test_a_bug_is_reported_without_its_details(
    service: EnginePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise ZeroDivisionError("a secret")

    app = application(service, Access(), watch=False)
    monkeypatch.setattr(service, "warm", lambda: None)  # it asks for the projects, too
    monkeypatch.setattr(service, "projects", broken)
    with TestClient(app, base_url=HERE, raise_server_exceptions=False) as client:
        answer = client.get(STATUS)
    assert answer.status_code == 500
    assert "secret" not in answer.text
