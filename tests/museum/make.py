"""Writes a file for the museum: what a user of this version has on their disk.

    python tests/museum/make.py tests/museum/VERSION.zip

The file has documents, settings, an index of words, an index with vectors, and an export.
The one of 0.1 was written by the code of commit 0837eff, with the embedder patched in.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from dowse._interfaces.cli.main import run
from dowse._project.workspace import Given
from dowse.testing import HashEmbedder

_NOTES = {
    "guides/restore.md": (
        "---\ntitle: Restore a backup\ntags: [ops/backup]\nauthor: Ada\nmodified: 2025-03-09\n---\n"
        "# Restore a backup\n\nStop the writer before you restore the database. See [[stations]].\n"
        "\n## Steps\n\nRun the command.\n\n```bash\npg_restore --clean stations.dump\n```\n"
    ),
    "stations.md": (
        "# Stations\n\nEvery station sends a frame to the database. Back to [[restore]].\n\n"
        "```python\ndef station_by_id(number):\n    return number\n```\n"
    ),
    "journal/day.txt": "Field day\n\nThe rain gauge was calibrated with a bottle of water.\n",
    "dowse.toml": "[search]\ntop_k = 40\n",
    "winter.md": "# 冬の点検\n\n雨量計のヒーターを点検します。\n",
}
_LINES = (
    ("config set search.top_n 7", None),
    ("config set keyword.title 5.0", None),
    ("index notes -p words", "none"),
    ("index notes -p vectors", "local"),
    ("config set -p vectors search.mode hybrid", "local"),
    ("export notes.dowse -p vectors", "local"),
)
"""The commands that make it, each with the provider of its vectors."""


def make(target: Path) -> None:
    """Writes the file."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        os.environ["DOWSE_CONFIG_DIR"] = str(folder / "config")
        os.environ["DOWSE_DATA_DIR"] = str(folder / "data")
        os.environ["DOWSE_CACHE_DIR"] = str(folder / "cache")
        os.chdir(folder)
        for path, text in _NOTES.items():
            note = folder / "notes" / path
            note.parent.mkdir(parents=True, exist_ok=True)
            note.write_text(text, "utf-8")
        for line, provider in _LINES:
            os.environ["DOWSE_EMBED_PROVIDER"] = provider or "none"
            assert run(line.split(), Given(HashEmbedder() if provider == "local" else None)) == 0
        (folder / "place.txt").write_text(str(folder), "utf-8")  # what paths in it begin with
        shutil.make_archive(str(target.with_suffix("")), "zip", folder)


if __name__ == "__main__":
    make(Path(sys.argv[1]).resolve())
