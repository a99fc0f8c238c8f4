"""How many of the 30 nearest vectors the scan over bits finds, against an exact search.

    python -m benchmarks.speed.recall [--data FOLDER] [--files 100] [--index FOLDER ...]

The vectors are real: those of the index that first_answer.py has made of so many files, or of any
indexes (--index, the folders that `dowse status` names); the queries are of the documents in
--data. Samples of the vectors show how recall changes with their number. Small indexes are searched
exactly; here the scan that large ones use is turned on for them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from benchmarks.speed.figures import command_line, documents, save, table
from benchmarks.speed.first_answer import real_index
from benchmarks.speed.material import questions, real_embedder

from dowse._model import Matrix, Vector
from dowse._store.vectors import (
    ROTATION,
    OpenFile,
    OpenSegment,
    VectorIndex,
    blocks,
    random_rotation,
    save_array,
)
from dowse._store.vectors import save as save_segment

_LIMIT, _ASKED = 30, 200
_SAMPLES = 3  # smaller numbers of vectors, each half as many
_RELATED = 0.4  # cosine that the best answer has at least, in the mean; random ones have about .2


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--index", type=Path, nargs="+", help="vectors of indexes that are there")
    options = parser.parse_args()
    files = documents(options)
    vectors = vectors_in(options.index or [real_index(files, options.files)])
    embedder = real_embedder()
    asked = [embedder.query(query) for query in questions(files, _ASKED)]
    rows = [measured(vectors[:size], asked) for size in growing(len(vectors))]
    save("recall", rows)
    print(recall_table(rows))
    if rows[-1]["nearest"] < _RELATED:
        print("\nThe nearest vectors are far: are they of these documents, and of this model?")


def recall_table(rows: Sequence[dict[str, float]]) -> str:
    """The share of the nearest vectors that are found, by the number of vectors."""
    heads = ("chunks", "queries", f"recall@{_LIMIT}", "cosine of the nearest, mean")
    return table(heads, [tuple(row.values()) for row in rows])


def measured(vectors: Matrix, asked: Sequence[Vector]) -> dict[str, float]:
    """The figures of some vectors."""
    with tempfile.TemporaryDirectory() as temporary:
        index = scanned(vectors, Path(temporary) / "vectors")
        found = [recall(index, vectors, query) for query in asked]
    nearest = float(np.mean([np.max(vectors @ query) for query in asked]))
    counts = {"chunks": len(vectors), "queries": len(found)}
    return counts | {"recall": float(np.mean(found)), "nearest": nearest}


def growing(count: int) -> list[int]:
    """Numbers up to a count, each twice the one before."""
    return [count >> step for step in range(_SAMPLES, -1, -1) if count >> step > _LIMIT]


def vectors_in(indexes: Sequence[Path]) -> Matrix:
    """All vectors of indexes on disk, each once, in an order of which every beginning is a sample.

    Vectors of zeros are of texts that the model cannot read.
    """
    paths = [path for index in indexes for path in index.rglob("vectors-*/vectors-*.npy")]
    if not paths:
        raise SystemExit(f"There are no vectors in {indexes[0]}. Index the folder first.")
    vectors = np.unique(np.concatenate([np.load(path) for path in sorted(paths)]), axis=0)
    vectors = vectors[vectors.any(axis=1)].astype(np.float32)
    return vectors[np.random.default_rng(1).permutation(len(vectors))]


def scanned(vectors: Matrix, folder: Path) -> VectorIndex:
    """An index of these vectors that never searches exactly."""
    folder.mkdir(parents=True)
    rotation = random_rotation(vectors.shape[1])
    save_array(folder / ROTATION, rotation)
    rows = ((key, vector.astype("<f2").tobytes()) for key, vector in enumerate(vectors))
    save_segment(folder, 1, blocks(rows, rotation), len(rotation))
    return VectorIndex([OpenSegment(folder, 1)], OpenFile(folder / ROTATION), None, exact_rows=0)


def recall(index: VectorIndex, vectors: Matrix, query: Vector) -> float:
    """The share of the nearest vectors that the index finds."""
    nearest = np.argsort(-(vectors @ query), kind="stable")[:_LIMIT]
    found = {key for key, _ in index.nearest(query, _LIMIT)}
    return len(found & set(nearest.tolist())) / _LIMIT


if __name__ == "__main__":
    main()
