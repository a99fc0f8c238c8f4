"""dowse in programs with an event loop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from dowse import AsyncDowse, NotFound, UsageError
from dowse._model import Vector
from dowse.testing import HashEmbedder, OverlapReranker


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Some notes."""
    (tmp_path / "notes").mkdir()
    for name in ("rain", "wind", "sun"):
        (tmp_path / "notes" / f"{name}.md").write_text(f"# {name}\n\nWords of {name}.\n", "utf-8")
    return tmp_path / "notes"


@pytest.fixture
def opened(folder: Path, tmp_path: Path) -> Callable[[HashEmbedder], AsyncDowse]:
    """Opens the notes with an embedder."""
    return lambda embedder: AsyncDowse.open(folder, home=tmp_path / "home", embedder=embedder)


def test_methods_can_be_awaited_together(opened: Callable[..., AsyncDowse], folder: Path) -> None:
    found: dict[str, str] = {}

    async def main() -> None:
        async with opened(HashEmbedder()) as notes:
            assert (await notes.index()).added == 3

            async def search(word: str) -> None:
                found[word] = (await notes.search(word, n=1)).hits[0].document

            async with anyio.create_task_group() as tasks:
                for word in ("rain", "wind", "sun"):
                    tasks.start_soon(search, word)
            assert (await notes.status()).counts.documents == 3
            assert await notes.path_of("rain.md") == folder / "rain.md"
        with pytest.raises(UsageError, match="closed"):
            await notes.search("rain")

    anyio.run(main)
    assert found == {word: f"{word}.md" for word in ("rain", "wind", "sun")}


def test_a_place_that_is_none_is_refused_when_it_is_opened(tmp_path: Path) -> None:
    async def main() -> None:
        async with AsyncDowse(tmp_path / "nowhere", home=tmp_path / "home"):
            pytest.fail("it was opened")

    with pytest.raises(NotFound):
        anyio.run(main)


class Slow(HashEmbedder):
    """Stops at its first text until it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.may_go_on = threading.Event(), threading.Event()

    def query(self, text: str) -> Vector:
        self.reached.set()
        self.may_go_on.wait(30)
        return super().query(text)


async def _cancelled(
    notes: AsyncDowse, slow: Slow, call: Callable[[], Coroutine[Any, Any, object]]
) -> None:
    """Cancels a call while it embeds, and waits until its thread has ended."""
    slow.reached.clear()
    slow.may_go_on.clear()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        while not slow.reached.is_set():
            await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
    slow.may_go_on.set()
    while notes._opened()._users > 1:
        await anyio.sleep(0.01)


def test_a_cancelled_search_does_no_further_stage(folder: Path, tmp_path: Path) -> None:
    slow, reranker = Slow(), OverlapReranker()

    async def main() -> None:
        async with AsyncDowse(
            folder, home=tmp_path / "home", embedder=slow, reranker=reranker
        ) as notes:
            slow.may_go_on.set()
            await notes.index()
            await notes.search("rain", rerank=True)
            assert reranker.queries == ["rain"]
            await _cancelled(notes, slow, partial(notes.search, "wind", rerank=True))

    anyio.run(main)
    assert reranker.queries == ["rain"]


def test_a_cancelled_index_run_stops_and_lets_others_write(folder: Path, tmp_path: Path) -> None:
    slow = Slow()

    async def main() -> None:
        async with AsyncDowse(folder, home=tmp_path / "home", embedder=slow) as notes:
            await _cancelled(notes, slow, notes.index)
            assert (await notes.index(wait=0)).added == 3

    anyio.run(main)


def test_trio_runs_it_too(folder: Path, tmp_path: Path) -> None:
    async def main() -> None:
        async with AsyncDowse(folder, home=tmp_path / "home", embedder=HashEmbedder()) as notes:
            await notes.index()
            assert len(await notes.search("rain")) > 0

    anyio.run(main, backend="trio")
