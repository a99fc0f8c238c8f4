"""The walks in ARCHITECTURE.md name the functions that really run, in their order."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

import dowse
from dowse import Dowse
from dowse.testing import HashEmbedder

_ROOT = Path(dowse.__file__).parent
_PAGE = (Path(__file__).parents[2] / "ARCHITECTURE.md").read_text("utf-8")
_STEP = re.compile(r"\[`([\w.]+)`\]\(src/dowse/([\w/]+\.py)\)")


def _steps(heading: str) -> list[tuple[str, str]]:
    section = _PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    return [(file, name) for name, file in _STEP.findall(section)]


def _calls(call: Callable[[], object]) -> list[tuple[str, str]]:
    """Run a call; return the functions of dowse that ran, in their order."""
    ran: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(_ROOT)):
            ran.append((Path(code.co_filename).relative_to(_ROOT).as_posix(), code.co_qualname))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return ran


@pytest.fixture
def notes(tmp_path: Path) -> Dowse:
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(30):  # so many that words come first
        (folder / f"{number}.md").write_text(f"# Note {number}\n\nThe backup {number}.\n", "utf-8")
    return Dowse.open(folder, home=tmp_path / "home", embedder=HashEmbedder())


@pytest.mark.parametrize("heading", ["One file", "One query"])
def test_a_walk_names_what_runs_in_its_order(notes: Dowse, heading: str) -> None:
    with notes:
        indexed = _calls(notes.index)
        ran = indexed if heading == "One file" else _calls(lambda: notes.search("backup 7"))
    steps = _steps(heading)
    assert len(steps) >= 10
    left = iter(ran)
    assert [step for step in steps if step not in left] == []  # each runs after the one before
