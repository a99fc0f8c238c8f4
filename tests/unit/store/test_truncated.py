"""A file that is truncated in place under a running searcher does not kill its process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from documents import STAMP, PlainAnalyzer, batch, make_document, vector_of
from dowse._store.store import EmbeddedStore
from dowse._store.vectors import VectorReplica
from dowse.errors import DowseError

_TESTS = str(Path(__file__).parents[2])
_COUNT = 60
_FEW_EXACT = partial(VectorReplica, exact_rows=5)


def answers(store: EmbeddedStore) -> list[object]:
    """What the replicas and the database say; a repair changes scores of keyword search."""
    with store.read() as reading:
        found = sorted(key for key, _ in reading.keyword.search("body", ["text"], 100))
        return [
            sorted(key for key, _ in reading.keyword.search("body", ["text", "word7"], 100)),
            [key for key, _ in reading.keyword.search("code", ["code7"], 100)],
            reading.vectors.nearest(vector_of("x"), 100),
            [(one.key, one.text) for one in reading.catalogue.chunks(found)],
        ]


def truncate_under_a_searcher(folder: Path, name: str) -> str:
    """Searches, truncates a file in place, searches again, and repairs."""
    store = EmbeddedStore(folder, PlainAnalyzer(), vectors=_FEW_EXACT)
    before = answers(store)
    path = folder / name
    path.chmod(0o600)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 3)
    try:
        outcome = "right" if answers(store) == before else "wrong"
    except DowseError as error:
        outcome = f"told: {error}"
    other = EmbeddedStore(folder, PlainAnalyzer())
    if name != "index.db":
        other.repair()
        assert answers(store) == before, name  # and the same searcher goes on after the repair
    other.close()
    store.close()
    return outcome


@pytest.fixture
def index(tmp_path: Path) -> Path:
    folder = tmp_path / "index"
    store = EmbeddedStore(folder, PlainAnalyzer(), vectors=_FEW_EXACT)
    with store.write() as writing:
        writing.start(STAMP)
        documents = (
            make_document(f"{n}.md", f"text word{n} {'filler ' * 900}\n\n```\ncode{n}\n```")
            for n in range(_COUNT)
        )
        writing.apply(batch(*documents))
        writing.apply(batch(make_document("1.md", "text"), gone=["2.md"]))
    store.close()
    return folder


def test_a_searcher_survives_every_file_that_is_truncated(index: Path, tmp_path: Path) -> None:
    names = [
        path.relative_to(index).as_posix()
        for path in sorted(index.rglob("*"))
        if path.is_file() and path.stat().st_size and not path.name.startswith(".")
    ]
    assert {"index.db", "keyword.json", "vectors.json"} < set(names)
    copies = []
    for number, name in enumerate(names):
        copies += [str(tmp_path / f"copy{number}"), name]
        shutil.copytree(index, copies[-2])
    done = subprocess.run(
        [sys.executable, __file__, *copies],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": _TESTS},
        text=True,
        timeout=120,
        check=False,
    )
    outcomes = done.stdout.splitlines()
    assert done.returncode == 0, (done.returncode, names[len(outcomes)], done.stderr)
    assert len(outcomes) == len(names)
    assert all(one == "right" or one.startswith("told: ") for one in outcomes), outcomes
    assert any(one.startswith("told: ") and "--repair" in one for one in outcomes)


if __name__ == "__main__":
    for one, other in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
        print(truncate_under_a_searcher(Path(one), other), flush=True)
