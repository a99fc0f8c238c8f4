"""`dowse mcp` as clients start it: a process, stdin and stdout."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp_types import TextContent, TextResourceContents

from command_line import DOWSE, Dowse
from mcp_client import ERAS, started, text_of, with_client

_TRANSCRIPT = Path(__file__).with_name("transcript.md")
_SOON = 20  # seconds that a busy machine may take for what takes none


def test_a_client_finds_everything(indexed: Path, era: str) -> None:
    async def work(client: Client) -> None:
        assert client.protocol_version == ERAS[era]
        assert "Projects: vault." in (client.instructions or "")
        assert len((await client.list_tools()).tools) == 7
        found = await client.call_tool("query_documents", {"query": "restore the database"})
        uri = found.structured_content["hits"][0]["uri"]
        assert uri == "dowse://vault/guides/restore.md"
        contents = (await client.read_resource(uri)).contents[0]
        assert isinstance(contents, TextResourceContents)
        assert "pg_restore" in contents.text
        listed = await client.list_resources()
        assert uri in {one.uri for one in listed.resources}
        templates = (await client.list_resource_templates()).resource_templates
        assert [one.uri_template for one in templates] == ["dowse://{project}/{+path}"]
        prompts = (await client.list_prompts()).prompts
        said = await client.get_prompt(prompts[0].name, {"question": "How do I restore?"})
        content = said.messages[0].content
        assert isinstance(content, TextContent)
        assert content.text.startswith("How do I restore?")

    with_client(started(indexed), work, era)


@pytest.mark.usefixtures("indexed")
def test_only_the_pinned_project_is_seen(home: Path, dowse: Dowse) -> None:
    (home / "secret").mkdir()
    (home / "secret" / "key.md").write_text("# Key\n\nUnder the mat.\n")
    assert dowse("index", home / "secret").code == 0

    async def work(client: Client) -> None:
        assert "secret" not in (client.instructions or "")
        refused = await client.call_tool("query_documents", {"query": "mat", "project": "secret"})
        assert refused.is_error
        assert "use one of: vault" in text_of(refused)
        info = (await client.call_tool("project_info", {})).structured_content
        assert [one["name"] for one in info["projects"]] == ["vault"]
        with pytest.raises(MCPError, match="no project"):
            await client.read_resource("dowse://secret/key.md")
        listed = (await client.list_resources()).resources
        assert {one.uri.partition("://")[2].partition("/")[0] for one in listed} == {"vault"}

    with_client(started(home, "-p", "vault"), work)


@pytest.mark.usefixtures("indexed")
def test_where_it_is_not_clear_a_call_means_all_projects(home: Path, dowse: Dowse) -> None:
    (home / "other").mkdir()
    (home / "other" / "one.md").write_text("# One\n\nThe lighthouse.\n")
    assert dowse("index", home / "other").code == 0

    async def work(client: Client) -> None:
        found = await client.call_tool("query_documents", {"query": "lighthouse"})
        assert [hit["project"] for hit in found.structured_content["hits"]] == ["other"]
        read = await client.call_tool("get_document", {"references": ["one", "restore"]})
        places = [one["uri"] for one in read.structured_content["passages"]]
        assert places == ["dowse://other/one.md", "dowse://vault/guides/restore.md"]
        browsed = (
            await client.call_tool("browse", {"path": ["one", "guides/"]})
        ).structured_content
        documents = {(one["project"], one["document"]) for one in browsed["documents"]}
        assert documents >= {("other", "one.md"), ("vault", "guides/restore.md")}
        assert [one["name"] for one in browsed["folders"]] == ["guides/"]
        named = {"query": "lighthouse", "project": "other"}
        assert not (await client.call_tool("query_documents", named)).is_error
        info = await client.call_tool("project_info", {})
        told = info.structured_content["projects"]
        assert [one["status"]["counts"]["documents"] for one in told] == [1, 5]

    with_client(started(home), work)


def test_a_project_that_is_none_is_reported_at_once(home: Path) -> None:
    done = subprocess.run(
        [DOWSE, "mcp", "-p", "nobody"], input=b"", capture_output=True, cwd=home, check=False
    )
    assert done.returncode == 2
    assert b"nobody" in done.stderr
    assert done.stdout == b""


def _initialize(number: int = 1, revision: str = "2025-11-25") -> dict[str, Any]:
    client = {"name": "test", "version": "1"}
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": client}
    return {"jsonrpc": "2.0", "id": number, "method": "initialize", "params": params}


@pytest.fixture
def running(indexed: Path) -> Iterator[subprocess.Popen[str]]:
    """A server with open pipes."""
    with subprocess.Popen(
        [DOWSE, "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=indexed,
    ) as process:
        yield process
        process.kill()


def _exchange(process: subprocess.Popen[str], message: dict[str, Any]) -> dict[str, Any]:
    assert process.stdin
    assert process.stdout
    process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()
    if "id" not in message:
        return {}
    answer = json.loads(process.stdout.readline())
    assert isinstance(answer, dict)
    return answer


@pytest.mark.parametrize(
    ("asked", "spoken", "kinds"),
    [
        ("2024-11-05", "2024-11-05", {"text"}),
        ("2025-03-26", "2025-03-26", {"text"}),
        ("2025-06-18", "2025-06-18", {"text", "resource_link"}),
        ("1999-01-01", "2025-11-25", {"text", "resource_link"}),
        ("2099-01-01", "2025-11-25", {"text", "resource_link"}),
    ],
)
def test_a_client_of_another_revision_gets_what_it_can_read(
    running: subprocess.Popen[str], asked: str, spoken: str, kinds: set[str]
) -> None:
    assert _exchange(running, _initialize(1, asked))["result"]["protocolVersion"] == spoken
    _exchange(running, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    call = {"name": "query_documents", "arguments": {"query": "restore"}}
    answer = _exchange(running, {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call})
    assert {one["type"] for one in answer["result"]["content"]} == kinds


def test_it_ends_at_once_when_stdin_does(running: subprocess.Popen[str]) -> None:
    _exchange(running, _initialize())
    out, err = running.communicate(timeout=_SOON)
    assert (running.returncode, out, err) == (0, "", "")


def test_it_ends_at_once_in_the_middle_of_a_call(running: subprocess.Popen[str]) -> None:
    _exchange(running, _initialize())
    call = {"name": "query_documents", "arguments": {"query": "restore"}}
    message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}
    assert running.stdin
    running.stdin.write(json.dumps(message) + "\n")
    running.communicate(timeout=_SOON)
    assert running.returncode == 0


def test_it_ends_at_once_when_interrupted(running: subprocess.Popen[str]) -> None:
    _exchange(running, _initialize())
    running.send_signal(signal.SIGINT)
    assert running.wait(timeout=_SOON) == 130


def test_what_is_no_protocol_does_not_end_it(running: subprocess.Popen[str]) -> None:
    assert running.stdin
    running.stdin.write('hello\n\n{"jsonrpc": "2.0"}\n[]\n')
    running.stdin.flush()
    answer = _exchange(running, _initialize(7))
    while answer.get("id") != 7:  # an answer to what could not be read has no id
        assert "error" in answer
        assert running.stdout
        answer = json.loads(running.stdout.readline())
    assert answer["result"]["serverInfo"]["name"] == "dowse"


def test_stdout_carries_the_protocol_alone(indexed: Path) -> None:
    """Also when something prints, and a file has changed so that indexing begins."""
    (indexed / "Home.md").write_text("# Home\n\nThe lighthouse is lit.\n")
    script = "import sys; from dowse._interfaces.mcp import projects\n"
    script += "from dowse._interfaces.cli.main import main\n"
    script += "warm = projects.VisibleProjects._warm\n"
    script += (
        "projects.VisibleProjects._warm = lambda self, find: (print('loud'), warm(self, find))\n"
    )
    script += "sys.argv = ['dowse', 'mcp']; main()"
    call = {"name": "query_documents", "arguments": {"query": "home"}}
    messages = [
        _initialize(),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call},
    ]
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=indexed,
    ) as process:
        answers = [_exchange(process, message) for message in messages]
        out, err = process.communicate(timeout=_SOON)
    assert [answer.get("id") for answer in answers] == [1, None, 2, 3]
    assert out == ""
    assert "loud" in err


def _golden() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    flags = re.DOTALL | re.MULTILINE
    blocks = re.findall(r"^```json\n(.*?)^```$", _TRANSCRIPT.read_text("utf-8"), flags)
    parsed = [json.loads(block) for block in blocks]
    return list(zip(parsed[::2], parsed[1::2], strict=True))


def test_the_transcript_is_what_happens(running: subprocess.Popen[str]) -> None:
    for request, expected in _golden():
        answer = _exchange(running, request)
        if request["method"] == "initialize":
            answer["result"]["serverInfo"]["version"] = "VERSION"
        if request["method"] == "tools/list":
            answer["result"]["tools"] = [tool["name"] for tool in answer["result"]["tools"]]
        assert answer == expected, request["method"]


def test_the_handshake_waits_for_nothing_heavy(indexed: Path) -> None:
    script = (
        "import os, sys\nfrom dowse._interfaces.cli.main import main\n"
        "os._exit = lambda code: (print(*sys.modules, file=sys.stderr), sys.exit(code))\n"
        "sys.argv = ['dowse', 'mcp']; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps(_initialize()) + "\n",
        capture_output=True,
        text=True,
        cwd=indexed,
        check=True,
    )
    assert "Projects: vault." in json.loads(done.stdout)["result"]["instructions"]
    assert not {"numpy", "tantivy", "onnxruntime", "rich"} & set(done.stderr.split())
