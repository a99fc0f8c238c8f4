"""A corpus.jsonl becomes a folder of Markdown files, so that it is indexed as documents are."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dowse._project.evaluation.reading import json_lines
from dowse._util.files import create_private_file, make_private_folder, replace_file, sync_tree
from dowse.errors import NotFound, UsageError

_MARKER = "corpus.sha256"  # next to the folder: what its files were written from


def lay_out(corpus: Path, folder: Path) -> dict[str, str]:
    """Writes each document into a file of its own; gives the corpus' id of each file.

    Files are named by a hash of the id, which may hold anything. A corpus that has not changed is
    only read; of one that has, only what differs is written.
    """
    names: dict[str, str] = {}
    marker, digest = folder.parent / _MARKER, _digest(corpus)
    fresh = not marker.is_file() or marker.read_text("utf-8") != digest
    if fresh:
        marker.unlink(missing_ok=True)
        make_private_folder(folder)
    for number, identifier, row in json_lines(corpus):
        name = f"{hashlib.sha256(identifier.encode('utf-8', 'replace')).hexdigest()[:16]}.md"
        if name in names:
            raise UsageError(
                f"{corpus}, line {number}: there are two documents {identifier!r}.",
                "Give each document an id of its own.",
            )
        if "text" not in row:  # it may be empty, but not called otherwise
            raise UsageError(
                f"{corpus}, line {number} has no text.",
                'A line is: {"_id": "1", "title": "…", "text": "…"}',
            )
        names[name] = identifier
        if fresh:
            _write(folder / name, _markdown(row))
    if fresh:
        _remove_others(folder, names)
        sync_tree(folder)
        replace_file(marker, digest.encode())
    return names


def _digest(corpus: Path) -> str:
    try:
        with corpus.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise NotFound(f"{corpus} cannot be read: {error}.", "Name one that can.") from error


def _markdown(row: Mapping[str, Any]) -> str:
    title, text = (row.get(field) or "" for field in ("title", "text"))
    heading = " ".join(str(title).split())
    # A text may begin like frontmatter without being any: an empty line before it keeps it text.
    return f"# {heading}\n\n{text}\n" if heading else f"\n{text}\n"


def _write(path: Path, text: str) -> None:
    data = text.encode("utf-8", "replace")
    if not path.is_file() or path.read_bytes() != data:
        create_private_file(path)
        path.write_bytes(data)


def _remove_others(folder: Path, names: Mapping[str, str]) -> None:
    for path in folder.iterdir():
        if path.name not in names:
            path.unlink()
