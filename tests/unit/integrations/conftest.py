from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dowse import Dowse
from dowse.testing import HashEmbedder

NOTES = {
    "guides/restore.md": "# Restore a backup\n\nStop the writer, then restore the database.\n",
    "journal/day.md": (
        "---\ntags: [rain]\nmodified: 2024-05-06\n---\n# Field day\n\n## Noon\n\n"
        f"{'A quiet hour in the rain. ' * 80}\n\n## Evening\n\n{'Stars over the mast. ' * 90}\n\n"
        "The rain gauge was calibrated with a bottle of water.\n"
    ),
}


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Dowse]:
    """Two notes, indexed."""
    for name in [name for name in os.environ if name.startswith("DOWSE_")]:
        monkeypatch.delenv(name)
    for name, text in NOTES.items():
        path = tmp_path / "notes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    with Dowse(tmp_path / "notes", home=tmp_path / "home", embedder=HashEmbedder()) as opened:
        opened.index()
        yield opened
