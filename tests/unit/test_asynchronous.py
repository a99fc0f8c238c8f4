"""dowse in programs with an event loop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from dowse import AsyncDowse, Dowse, NotFound, UsageError
from dowse.testing import HashEmbedder
from dowse.types import Vector
from dowse.wanted import GivenUp


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


def test_a_cancelled_search_gives_up_its_work(opened: Callable[..., AsyncDowse]) -> None:
    reached, go_on, ended = threading.Event(), threading.Event(), threading.Event()
    outcome: list[BaseException] = []

    class Slow(HashEmbedder):
        def query(self, text: str) -> Vector:
            if threading.current_thread() is not threading.main_thread() and text == "slowly":
                reached.set()
                go_on.wait(30)
            return super().query(text)

    class Watched(AsyncDowse):
        def _opened(self) -> Dowse:
            return _Watching(super()._opened(), outcome, ended)  # type: ignore[return-value]

    async def main() -> None:
        async with opened(Slow()) as notes:
            await notes.index()
            notes.__class__ = Watched
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(notes.search, "slowly")
                while not reached.is_set():
                    await anyio.sleep(0.01)
                tasks.cancel_scope.cancel()
            go_on.set()
            await anyio.to_thread.run_sync(ended.wait, 30)

    anyio.run(main)
    assert [type(one) for one in outcome] == [GivenUp]
