import numpy as np
from training.corpus import Chunk
from training.elsewhere import drawn, packed

from dowse.testing import HashEmbedder


def chunks(source: str, count: int) -> list[Chunk]:
    return [Chunk(source, n, f"{source} {n}", [], f"Text {n} of {source}.") for n in range(count)]


def test_every_source_gives_passages_in_turn_and_judging_sources_give_none() -> None:
    found = drawn(chunks("large", 50) + chunks("small", 2) + chunks("18F+handbook", 9), 12)
    assert sorted(one.source for one in found) == ["large"] * 10 + ["small"] * 2
    assert {one.source for one in found[:2]} == {"large", "small"}
    assert found == drawn(chunks("large", 50) + chunks("small", 2), 12)


def test_bytes_keep_the_direction_of_a_vector() -> None:
    embedder, some = HashEmbedder(), chunks("a", 20)
    rows = packed(some, embedder).astype(np.float32)
    assert np.abs(rows).max(axis=1).tolist() == [127] * 20
    query = embedder.query("a 7\n\nText 7 of a.")
    cosines = rows @ query / np.linalg.norm(rows, axis=1)
    assert np.argmax(cosines) == 7
    assert cosines[7] > 0.99
