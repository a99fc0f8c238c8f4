"""A command line that is asked a hundred times a day must not load what it does not use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dowse._project.pool import EnginePool
from dowse._project.workspace import Workspace
from serving import serving

_HEAVY = {"onnxruntime", "onnx", "graspologic_native", "markitdown", "watchfiles"}
_HEAVY |= {"huggingface_hub", "httpx2", "psycopg", "pymilvus", "qdrant_client"}
_PROGRAM = """
import sys
from dowse._interfaces.cli.main import run
code = run(sys.argv[1:])
print(*sorted({name.partition(".")[0] for name in sys.modules}), sep="\\n", file=sys.stderr)
sys.exit(code)
"""


def _modules(*line: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *line], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


# What a line that embeds nothing, parses nothing and fetches nothing does not need either.
_NOT_FOR_WORDS = {"numpy", "tokenizers", "tree_sitter", "yaml", "asyncio", "concurrent", "filelock"}
_NOT_FOR_WORDS |= {"markdown_it", "starlette", "uvicorn", "mcp", "pydantic", "rapidfuzz", "tomlkit"}


@pytest.mark.parametrize(
    "line",
    [["search", "--mode", "keyword", "restore"], ["ls"], ["status"], ["tags"]],
    ids=" ".join,
)
@pytest.mark.usefixtures("indexed")
def test_what_only_reads_words_loads_little(line: list[str]) -> None:
    loaded = _modules(*line)
    assert not loaded & (_HEAVY | _NOT_FOR_WORDS)


@pytest.mark.parametrize(
    "line",
    [
        ["--help"],
        ["ls"],
        ["search", "restore"],
        ["related", "Home"],
        ["graph"],
        ["get", "Home.md"],
        ["status"],
        ["config", "show"],
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("indexed")
def test_nothing_heavy_is_loaded(line: list[str]) -> None:
    assert not _modules(*line) & _HEAVY


@pytest.mark.usefixtures("home")
def test_the_help_does_not_even_load_the_engine() -> None:
    assert not _modules("--help") & {"numpy", "tantivy", "rich"}


@pytest.mark.parametrize(
    "line",
    [
        ["search", "restore"],
        ["search", "zzzz"],
        ["answer", "restore"],
        ["related", "Home"],
        ["get", "Home"],
    ],
    ids=" ".join,
)
def test_what_a_server_answers_loads_no_engine(
    indexed: Path, workspace: Workspace, line: list[str]
) -> None:
    with serving(EnginePool(workspace, indexed)):
        loaded = _modules(*line, "-p", "vault")
    assert not loaded & (_HEAVY | _NOT_FOR_WORDS | {"tantivy", "sqlite3"})


def test_a_line_ends_when_its_threads_and_all_that_cleans_up_have_ended() -> None:
    program = """
import atexit, sys, threading, time
from dowse._interfaces.cli import main as door

def late():
    time.sleep(0.2)
    print("the thread has ended")

def run(arguments):
    atexit.register(print, "cleaned up")
    threading.Thread(target=late).start()
    return 3

door.run = run
door.main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout.split("\n") == ["the thread has ended", "cleaned up", ""]
    assert (done.returncode, done.stderr) == (3, "")


def test_a_server_has_loaded_numpy_before_its_threads_begin() -> None:
    program = "import sys, dowse._project.pool; sys.exit('numpy' not in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
