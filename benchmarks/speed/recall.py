"""How many of the 30 nearest vectors the scan over bits finds, against an exact search.

    python -m benchmarks.speed.recall [--data FOLDER] [--files 1000] [--index FOLDER]

The vectors are real: those of the index that first_answer.py has made of so many files, or of any
index (--index, the folder that `dowse status` names) of the documents in --data. Small indexes are
searched exactly; here the scan that large ones use is turned on for them.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from benchmarks.speed.figures import command_line, documents, save, table
from benchmarks.speed.first_answer import real_index
from benchmarks.speed.material import questions, real_embedder

from dowse.store.embedded.vectors.file import HeldFile
from dowse.store.embedded.vectors.held import HeldSegment
from dowse.store.embedded.vectors.index import VectorIndex
from dowse.store.embedded.vectors.segments import ROTATION, blocks, random_rotation, save_array
from dowse.store.embedded.vectors.segments import save as save_segment
from dowse.types import Matrix, Vector

_LIMIT, _ASKED = 30, 200
_RELATED = 0.4  # cosine that the best answer has at least, in the mean; random ones have about .2


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--index", type=Path, help="vectors of an index that is there")
    options = parser.parse_args()
    files = documents(options)
    vectors = vectors_in(options.index or real_index(files, options.files))
    with tempfile.TemporaryDirectory() as temporary:
        index = scanned(vectors, Path(temporary) / "vectors")
        embedder = real_embedder()
        asked = [embedder.query(query) for query in questions(files, _ASKED)]
        found = [recall(index, vectors, query) for query in asked]
    nearest = float(np.mean([np.max(vectors @ query) for query in asked]))
    figures = {"chunks": len(vectors), "queries": len(found), "recall": float(np.mean(found))}
    save("recall", figures | {"nearest": nearest})
    heads = ("chunks", "queries", f"recall@{_LIMIT}", "cosine of the nearest, mean")
    print(table(heads, [(*figures.values(), nearest)]))
    if nearest < _RELATED:
        print("\nThe nearest vectors are far: are they of these documents, and of this model?")


def vectors_in(index: Path) -> Matrix:
    """All vectors of an index on disk."""
    parts = [np.load(path) for path in sorted(index.rglob("vectors-*/vectors-*.npy"))]
    if not parts:
        raise SystemExit(f"There are no vectors in {index}. Index the folder first.")
    return np.unique(np.concatenate(parts).astype(np.float32), axis=0)


def scanned(vectors: Matrix, folder: Path) -> VectorIndex:
    """An index of these vectors that never searches exactly."""
    folder.mkdir(parents=True)
    rotation = random_rotation(vectors.shape[1])
    save_array(folder / ROTATION, rotation)
    rows = ((key, vector.astype("<f2").tobytes()) for key, vector in enumerate(vectors))
    save_segment(folder, 1, blocks(rows, rotation), len(rotation))
    return VectorIndex([HeldSegment(folder, 1)], HeldFile(folder / ROTATION), None, exact_rows=0)


def recall(index: VectorIndex, vectors: Matrix, query: Vector) -> float:
    """The share of the nearest vectors that the index finds."""
    nearest = np.argsort(-(vectors @ query), kind="stable")[:_LIMIT]
    found = {key for key, _ in index.nearest(query, _LIMIT)}
    return len(found & set(nearest.tolist())) / _LIMIT


if __name__ == "__main__":
    main()
