"""How many of the 30 nearest vectors the scan over bits finds, against an exact search.

    python -m benchmarks.speed.recall [--data FOLDER] [--chunks 2000]

The vectors are real: the model embeds every chunk. Small indexes are searched exactly; here the
scan that large ones use is turned on for them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from benchmarks.speed.figures import command_line, documents, save, table
from benchmarks.speed.material import CHARACTERS, questions, real_embedder, write_copies

from dowse import Dowse
from dowse.store.embedded.vectors.index import VectorIndex
from dowse.store.embedded.vectors.segments import (
    ROTATION,
    dead_name,
    no_keys,
    random_rotation,
    save_array,
    stack,
)
from dowse.store.embedded.vectors.segments import save as save_segment
from dowse.types import Matrix, Vector

_LIMIT, _ASKED = 30, 200


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--chunks", type=int, default=2000, help="about so many")
    options = parser.parse_args()
    files = documents(options)
    with tempfile.TemporaryDirectory() as temporary:
        vectors = real_vectors(files, options.chunks, Path(temporary))
        index = scanned(vectors, Path(temporary) / "vectors")
        embedder = real_embedder()
        asked = [embedder.query(query) for query in questions(files, _ASKED)]
        found = [recall(index, vectors, query) for query in asked]
    figures = {"chunks": len(vectors), "queries": len(found), "recall": float(np.mean(found))}
    save("recall", figures)
    print(table(("chunks", "queries", f"recall@{_LIMIT}"), [tuple(figures.values())]))


def real_vectors(files: Sequence[Path], chunks: int, folder: Path) -> Matrix:
    """The vectors of an index of these files."""
    write_copies(files, chunks * CHARACTERS, folder / "docs")
    with Dowse(folder / "docs", home=folder / "home") as project:
        project.index()
        with project._engine.read() as reading:  # noqa: SLF001  (programs never need all vectors)
            keys = reading.catalogue.keys_of([one.id for one in reading.catalogue.documents()])
            known = reading.vectors.of(keys.tolist())
    return np.stack(list(known.values()))


def scanned(vectors: Matrix, folder: Path) -> VectorIndex:
    """An index of these vectors that never searches exactly."""
    folder.mkdir(parents=True)
    rotation = random_rotation(vectors.shape[1])
    save_array(folder / ROTATION, rotation)
    rows = ((key, vector.astype("<f2").tobytes()) for key, vector in enumerate(vectors))
    save_segment(folder, 1, [stack(rows, rotation)])
    save_array(folder / dead_name(1), no_keys())
    return VectorIndex(folder, [1], exact_rows=0)


def recall(index: VectorIndex, vectors: Matrix, query: Vector) -> float:
    """The share of the nearest vectors that the index finds."""
    nearest = np.argsort(-(vectors @ query), kind="stable")[:_LIMIT]
    found = {key for key, _ in index.nearest(query, _LIMIT)}
    return len(found & set(nearest.tolist())) / _LIMIT


if __name__ == "__main__":
    main()
