"""Vectors of passages of other documentation, which tell foreign queries from one's own.

    python -m training.elsewhere CHUNKS src/dowse/_search/background.npy

CHUNKS is a file of chunks (corpus.py). The passages are drawn from all sources in turn, embedded
with the encoder that ships, and kept as whole numbers from -127 to 127.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain, islice, zip_longest
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from dowse._embed.open import open_embedder
from dowse._embed.options import EmbedOptions
from dowse._model.ports import Embedder
from dowse._util.files import locations
from training.corpus import HELD_OUT, SHARE_ALIKE, Chunk, read_chunks
from training.passages import encoder_text

PASSAGES = 2000
LEFT_OUT = SHARE_ALIKE | HELD_OUT | {"pubmedqa", "pubmedqa-answers", "covid-faq"}
"""Sources that give none: for their licence, because they judge, or because they are medicine."""


def main() -> None:
    """Makes the file of vectors."""
    chunks, target = map(Path, sys.argv[1:])
    embedder = open_embedder(EmbedOptions(), locations().cache, fetch=False)
    np.save(target, packed(drawn(read_chunks(chunks), PASSAGES), embedder))


def drawn(chunks: Iterable[Chunk], count: int) -> list[Chunk]:
    """So many chunks, of every source one after the other; the same ones every time."""
    sources: defaultdict[str, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        if chunk.source not in LEFT_OUT:
            sources[chunk.source].append(chunk)
    mixed = [Random(name).sample(sources[name], len(sources[name])) for name in sorted(sources)]
    in_turn = chain.from_iterable(zip_longest(*mixed))
    return list(islice((one for one in in_turn if one is not None), count))


def packed(chunks: Sequence[Chunk], embedder: Embedder) -> NDArray[np.int8]:
    """The vectors of chunks, a byte for each number; the largest of each vector becomes 127."""
    vectors = np.zeros((len(chunks), embedder.model.dimensions), np.float32)
    for batch in embedder.passages([encoder_text(chunk) for chunk in chunks]):
        vectors[list(batch.positions)] = batch.vectors
    return np.rint(vectors * 127 / np.abs(vectors).max(axis=1, keepdims=True)).astype(np.int8)


if __name__ == "__main__":
    main()
