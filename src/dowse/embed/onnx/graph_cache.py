"""Built graphs on disk: named after their own content, so that a damaged one is never used."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import xxhash

from dowse.files import make_private_folder, replace_file


def load_graph(folder: Path, kind: str, version: str, build: Callable[[], bytes]) -> bytes:
    """The graph of a kind and version, built and kept when it is not there or not intact.

    A folder that cannot be written costs the time of building, nothing else.
    """
    for path in sorted(folder.glob(f"{kind}-{version}-*.onnx")):
        content = _read_intact(path)
        if content is not None:
            return content
    content = build()
    with contextlib.suppress(OSError):
        _keep(folder, kind, version, content)
    return content


def _read_intact(path: Path) -> bytes | None:
    try:
        content = path.read_bytes()
    except OSError:
        return None
    return content if path.stem.endswith(f"-{_digest(content)}") else None


def _keep(folder: Path, kind: str, version: str, content: bytes) -> None:
    make_private_folder(folder)
    path = folder / f"{kind}-{version}-{_digest(content)}.onnx"
    replace_file(path, content)
    for older in folder.glob(f"{kind}-*"):
        if older != path:
            older.unlink(missing_ok=True)


def _digest(content: bytes) -> str:
    return xxhash.xxh3_128_hexdigest(content)
