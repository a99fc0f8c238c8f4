from collections.abc import Callable
from pathlib import Path

import pytest

from dowse._index.options import ReadOptions
from dowse._index.source.roots import Root
from dowse._index.source.walk import Walk, walk

Plant = Callable[..., Path]
Ids = Callable[..., list[str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The real path of an empty folder."""
    made = tmp_path.resolve() / "root"
    made.mkdir()
    return made


@pytest.fixture
def plant(folder: Path) -> Plant:
    """Writes files, named with their paths below the folder."""

    def write(*names: str, **contents: str) -> Path:
        for name in (*names, *contents):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(contents.get(name, "text"), encoding="utf-8")
        return folder

    return write


@pytest.fixture
def found(folder: Path) -> Callable[..., Walk]:
    """Walks the folder with the given options."""

    def look(within: tuple[Path, ...] = (), **options: object) -> Walk:
        return walk([Root(folder)], ReadOptions(**options), within)  # type: ignore[arg-type]

    return look


@pytest.fixture
def ids(found: Callable[..., Walk]) -> Ids:
    """The ids that a walk over the folder finds, when nothing may be left out."""

    def look(*within: Path, **options: object) -> list[str]:
        result = found(within, **options)
        assert result.left_out == ()
        return [source.id for source in result.sources]

    return look
