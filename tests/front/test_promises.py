"""Promises at every door: nothing outside the roots is read, and no text leaves the machine."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client
from starlette.testclient import TestClient

from command_line import Dowse
from dowse import Dowse as Library
from dowse._interfaces.http.security import Access
from dowse._interfaces.http.server import application
from dowse._interfaces.mcp.projects import VisibleProjects
from dowse._interfaces.mcp.server import build_server
from dowse._project.pool import EnginePool
from dowse._project.workspace import Workspace
from dowse.errors import DowseError
from mcp_client import with_client

_OUTSIDE = "lighthouse-keeper"  # only in the file outside
_DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def enclosed(vault: Path, dowse: Dowse) -> Path:
    """A vault with links that lead out of it, next to a file that is none of its documents."""
    (vault.parent / "outside.md").write_text(f"# Outside\n\n{_OUTSIDE}\n")
    (vault / "leads-out.md").symlink_to(vault.parent / "outside.md")
    (vault / "folder-out").symlink_to(vault.parent)
    (vault / "links.md").write_text("# Links\n\n[out](../outside.md) ![[../outside]] [[outside]]\n")
    dowse("index", vault)
    return vault


def _ways_out(vault: Path) -> list[str]:
    outside = vault.parent / "outside.md"
    return [
        "../outside.md",
        "guides/../../outside.md",
        "leads-out.md",
        "folder-out/outside.md",
        str(outside),
        outside.as_uri(),
        "outside",
        "..%2Foutside.md",
        "../outside.md:1-9",
        "links.md/../../outside.md",
    ]


@pytest.fixture
def service(enclosed: Path, workspace: Workspace) -> Iterator[EnginePool]:
    service = EnginePool(workspace, enclosed)
    yield service
    service.close()


def test_the_command_line_reads_nothing_outside_the_roots(enclosed: Path, dowse: Dowse) -> None:
    for way in _ways_out(enclosed):
        for line in (["get", way], ["related", way], ["explain", "outside", "--doc", way]):
            result = dowse(*line, "-p", "vault")
            assert _OUTSIDE not in result.out + result.err, line
    assert dowse("search", _OUTSIDE, "-p", "vault", "--json").json["hits"] == []


def test_http_reads_nothing_outside_the_roots(enclosed: Path, service: EnginePool) -> None:
    with TestClient(
        application(service, Access(), watch=False), base_url="http://127.0.0.1:7333"
    ) as client:
        for way in _ways_out(enclosed):
            for route in ("document", "related"):
                answer = client.get(f"/api/v1/{route}", params={"reference": way})
                assert _OUTSIDE not in answer.text, (route, way)
            assert _OUTSIDE not in client.get(f"/{way}").text


def test_mcp_reads_nothing_outside_the_roots(enclosed: Path, service: EnginePool) -> None:
    server = build_server(VisibleProjects(lambda: service), ["vault"])

    async def work(client: Client) -> list[str]:
        return [
            str(await client.call_tool("get_document", {"references": [way]}))
            for way in _ways_out(enclosed)
        ]

    assert not [answer for answer in with_client(server, work) if _OUTSIDE in answer]


def test_python_reads_nothing_outside_the_roots(enclosed: Path) -> None:
    with Library.open("vault") as notes:
        assert all(_OUTSIDE not in hit.text for hit in notes.search("outside", n=50).hits)
        for way in _ways_out(enclosed):
            try:
                assert _OUTSIDE not in notes.get(way).text
            except DowseError:
                continue


_OFFLINE = """
import sys

def watch(event, arguments):
    if event in {"socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.gethostbyname"}:
        address = arguments[1] if event in {"socket.connect", "socket.sendto"} else arguments
        if not isinstance(address, (str, bytes)):  # those are sockets of this machine
            print("NETWORK", event, address, flush=True)

sys.addaudithook(watch)
from dowse._interfaces.cli.main import run
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    "line",
    [
        "index {vault}",
        "search restore -p vault",
        "answer how is it restored -p vault",
        "explain restore --doc Home.md -p vault",
        "related Home.md -p vault",
        "status -p vault",
        "doctor",
        "export -p vault {vault}.dowse",
        "index {vault} --rebuild",
    ],
)
def test_no_command_uses_the_network(vault: Path, dowse: Dowse, line: str) -> None:
    assert dowse("index", vault).code == 0
    words = line.format(vault=vault).split()
    done = subprocess.run(
        [sys.executable, "-c", _OFFLINE, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "NETWORK" not in done.stdout + done.stderr
    assert done.returncode in {0, 1, 3}, done


@pytest.mark.parametrize("page", ["promises.md", "security.md"])
def test_every_test_that_a_page_names_exists(page: str) -> None:
    named = re.findall(r"`([\w/.]+\.py)(?:::(\w+))?", (_DOCS / page).read_text("utf-8"))
    assert named
    tests = Path(__file__).parents[1]
    for file, name in named:
        assert (tests / file).is_file(), file
        assert not name or f"def {name}(" in (tests / file).read_text("utf-8"), (file, name)
