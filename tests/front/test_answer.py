"""`dowse answer`: what the documents say to a question."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from command_line import Dowse

pytestmark = pytest.mark.usefixtures("notes")


class _Model(BaseHTTPRequestHandler):
    """Says the same to everything, as a chat endpoint does."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        said = {"role": "assistant", "content": "Stop the writer first [1]."}
        body = json.dumps({"choices": [{"message": said, "finish_reason": "stop"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class's name
        """Stays silent."""


@pytest.fixture
def model() -> Iterator[str]:
    """The address of a language model."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Model)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_answer_cites_its_sources(dowse: Dowse) -> None:
    result = dowse("answer", "when must the writer be stopped")
    assert result.code == 0
    text, _, sources = result.out.partition("\n\n")
    assert "Stop the writer before you restore the database." in text
    assert "[1]" in text
    assert sources.startswith(" 1  ")
    assert "guides/" in sources


def test_the_json_shape(dowse: Dowse) -> None:
    shape = dowse("answer", "when must the writer be stopped", "--json").json
    answer = shape["answer"]
    assert answer["written_by"] == ""
    assert all(1 <= source <= len(shape["hits"]) for source in answer["sources"])
    cited = shape["hits"][answer["sentences"][0]["hit"] - 1]
    assert "writer" in cited["text"]
    assert dowse("search", "writer", "--json").json["answer"] is None


def test_it_takes_the_options_of_a_search(dowse: Dowse) -> None:
    line = ["answer", "what was calibrated", "--source", "txt", "--mode", "keyword"]
    shape = dowse(*line, "--json").json
    assert {hit["document"] for hit in shape["hits"]} == {"journal/day.txt"}
    one = dowse("answer", "restore the database", "--set", "answer.sentences=1", "--json").json
    assert len(one["answer"]["sentences"]) == 1
    assert dowse("answer", "x", "--set", "answer.sentences=0").code == 2
    assert dowse("answer", " ").code == 2


def test_no_answer_is_reported_with_what_is_near(dowse: Dowse) -> None:
    result = dowse("answer", "zzzz qqqq", "--mode", "semantic")
    assert result.code == 0
    assert result.out == ""
    assert "No answer: no sentence is one. The nearest passage:" in result.err
    assert " 1  " in result.err
    empty = dowse("answer", "xyzzyxyzzy", "--mode", "keyword")
    assert (empty.code, empty.out) == (0, "")
    assert "Nothing found" in empty.err
    assert dowse("answer", "xyzzyxyzzy", "--mode", "keyword", "--json").json["answer"] is None


def test_a_model_writes_it_when_one_is_set(dowse: Dowse, model: str) -> None:
    line = ["--set", f"answer.endpoint_url={model}", "--set", "answer.endpoint_model=tiny"]
    result = dowse("answer", "when must the writer be stopped", *line)
    assert result.code == 0, result.err
    assert result.out.startswith(
        "Stop the writer first [1].\n\nWritten by tiny from these:\n\n 1  "
    )
