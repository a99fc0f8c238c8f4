"""Built graphs on disk: named after their own content, so that a damaged one is never used.

<kind>-mapped-<version>-<digest of the weights>.weights
<kind>-mapped-<version>-<digest of the weights>-<digest of the graph>.onnx
"""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Callable
from pathlib import Path

import xxhash

from dowse._embed.onnx.graph import Graph
from dowse._util.files import make_private_folder, replace_file
from dowse.errors import EmbedError


def load_graph(folder: Path, kind: str, version: str, build: Callable[[], Graph]) -> Path | bytes:
    """The graph of a kind and version, built and kept when it is not there or not intact.

    A folder that cannot be written costs the time of building, nothing else: then it is not a file.
    """
    name = f"{kind}-mapped-{version}"
    for path in sorted(folder.glob(f"{name}-*.onnx")):
        if _is_intact(path) and _is_intact(_weights_of(path)):
            return path
    try:
        graph = build()
    except (ValueError, IndexError) as error:  # of numpy, about shapes
        raise EmbedError(
            f"The model's weights do not fit its config.json: {error}.",
            "Fetch the model's files again, or choose another model.",
        ) from error
    with contextlib.suppress(OSError):
        return _keep(folder, kind, name, graph)
    return graph.whole()


def _weights_of(path: Path) -> Path:
    return path.with_name(path.stem.rpartition("-")[0] + ".weights")


def _is_intact(path: Path) -> bool:
    try:
        with (
            path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            return path.stem.endswith(f"-{_digest(content)}")
    except (OSError, ValueError):  # an empty file cannot be mapped
        return False


def _keep(folder: Path, kind: str, name: str, graph: Graph) -> Path:
    make_private_folder(folder)
    content = graph.weights()
    weights = folder / f"{name}-{_digest(content)}.weights"
    replace_file(weights, content)
    content = graph.without_weights(weights.name)
    path = folder / f"{weights.stem}-{_digest(content)}.onnx"
    replace_file(path, content)
    for older in folder.glob(f"{kind}-*"):
        if older not in {path, weights}:
            with contextlib.suppress(OSError):  # a process may have it mapped
                older.unlink()
    return path


def _digest(content: bytes | mmap.mmap) -> str:
    return xxhash.xxh3_128_hexdigest(content)
