"""The same index, settings and query give the same answer, to the bit."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dowse._model import Response
from dowse._project.engine import Engine
from dowse._search.request import SearchRequest
from real_model import real_embedder
from vaults import open_engine, write_vault

_QUERIES = ["radio battery of the gateway", "wind rain -token", "note_3", "how does upload fail?"]
_CHANGES = {"graph.enabled": True, "code.enabled": True, "recency.bias": 0.0, "diversity.mmr": True}


def fingerprint(response: Response) -> str:
    """Of everything but the times."""
    told = (response.hits, dict(response.counts), response.notices)
    return hashlib.sha256(repr(told).encode()).hexdigest()


def ask_all(engine: Engine) -> list[str]:
    return [
        fingerprint(engine.search(SearchRequest(query, changes=_CHANGES))) for query in _QUERIES
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("determinism")
    write_vault(folder / "vault", 60)
    with open_engine(folder / "vault", folder / "index", real_embedder()) as engine:
        engine.index()
    return folder


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[Engine]:
    with open_engine(folder / "vault", folder / "index", real_embedder()) as engine:
        yield engine


def test_a_hundred_times_in_several_threads(engine: Engine) -> None:
    once = dict(zip(_QUERIES, ask_all(engine), strict=True))
    asked = [_QUERIES[0]] * 100 + _QUERIES[1:] * 10

    def same(query: str) -> bool:
        return fingerprint(engine.search(SearchRequest(query, changes=_CHANGES))) == once[query]

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(same, asked))


def test_in_several_processes(engine: Engine, folder: Path) -> None:
    once = ask_all(engine)
    command = [sys.executable, __file__, str(folder)]
    tests = Path(__file__).parents[1]
    paths = os.pathsep.join([str(tests), str(tests.parent)])  # the shared makers, and training
    environment = os.environ | {"PYTHONPATH": paths}
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(3)
    ]
    for process in processes:
        said, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        assert said.split() == once


if __name__ == "__main__":
    where = Path(sys.argv[1])
    with open_engine(where / "vault", where / "index", real_embedder()) as opened:
        print("\n".join(ask_all(opened)))
