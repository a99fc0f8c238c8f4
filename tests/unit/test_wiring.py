"""Which parts a project is opened with."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from dowse._config.schema import Layer, combine
from dowse._project.engine import Parts
from dowse._project.registry import Project
from dowse._project.workspace import Given, Workspace
from dowse._util.files import Locations
from dowse.testing import HashEmbedder
from memory_store import MemoryStore

_NOTHING = Given()


def _parts(folder: Path, given: Given = _NOTHING, **embed: str) -> Parts:
    values = {f"embed.{name}": value for name, value in embed.items()}
    settings, _ = combine([Layer("test", values)])
    where = Locations(folder / "config", folder / "data", folder / "cache")
    project = Project("notes", folder / "project", (folder,))
    return Workspace(where, given).parts(project, settings, offline=True)


def test_searches_that_compute_on_this_machine_take_turns_together(tmp_path: Path) -> None:
    local, words = _parts(tmp_path), _parts(tmp_path, provider="none")
    assert isinstance(local.turn, threading.Semaphore)
    assert local.turn is words.turn


@pytest.mark.parametrize("given", [Given(embedder=HashEmbedder()), Given(store=MemoryStore)])
def test_searches_that_may_wait_for_others_do_not_take_turns(tmp_path: Path, given: Given) -> None:
    assert not isinstance(_parts(tmp_path, given).turn, threading.Semaphore)


def test_searches_that_ask_an_endpoint_do_not_take_turns(tmp_path: Path) -> None:
    parts = _parts(
        tmp_path,
        provider="endpoint",
        endpoint_url="http://127.0.0.1:9/v1",
        endpoint_model="any",
    )
    assert not isinstance(parts.turn, threading.Semaphore)
