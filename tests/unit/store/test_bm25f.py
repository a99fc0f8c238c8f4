"""The keyword ranking is BM25F: BM25 over one stream in which a field weighs as its boost says.

k1 = 1.2, b = 0.75, and a term's rarity is ln(1 + (N - n + 0.5) / (n + 0.5)), where N chunks are
held and n of them hold the term. tantivy keeps a length exactly up to 40 terms and rounds longer
ones down; the texts here stay below that. It calculates in single floats: hence the tolerance.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from documents import STAMP, make_document
from dowse._model import Batch, Fields, IndexedDocument
from dowse._store.store import EmbeddedStore
from dowse._text.analyzer import TextAnalyzer
from dowse._text.options import BOOSTED, KeywordOptions

_SINGLE = 1e-6  # relative
_WORDS = ["apple", "pear", "plum", "cherry", "quince", "medlar", "grape", "lemon"]


@contextmanager
def indexed(
    folder: Path, options: KeywordOptions, *documents: IndexedDocument
) -> Iterator[EmbeddedStore]:
    store = EmbeddedStore(folder / "index", TextAnalyzer(options))
    with store.write() as writing:
        writing.start(STAMP)
        writing.apply(Batch(documents))
    yield store
    store.close()


def scores(store: EmbeddedStore, options: KeywordOptions, query: str) -> dict[str, float]:
    """The score of each document that a query finds, by id."""
    with store.read() as reading:
        found = dict(reading.keyword.search("body", TextAnalyzer(options).query_terms(query), 100))
        return {
            chunk.document.id: found[chunk.key] for chunk in reading.catalogue.chunks(list(found))
        }


def plain_bm25(bodies: dict[str, list[str]], query: list[str]) -> dict[str, float]:
    """BM25 by its definition, written without looking at either store."""
    mean = sum(map(len, bodies.values())) / len(bodies)
    found: dict[str, float] = {}
    for name, body in bodies.items():
        for term in query:
            holders = sum(term in other for other in bodies.values())
            rarity = math.log(1 + (len(bodies) - holders + 0.5) / (holders + 0.5))
            saturation = body.count(term) + 1.2 * (0.25 + 0.75 * len(body) / mean)
            if term in body:
                score = rarity * 2.2 * body.count(term) / saturation
                found[name] = found.get(name, 0.0) + score
    return found


@pytest.mark.parametrize("seed", range(5))
def test_one_field_of_boost_one_scores_as_bm25(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    boosts: dict[str, Any] = {name: float(name == "content") for name in BOOSTED}
    only_content = replace(KeywordOptions(stemming=False), **boosts)
    bodies = {
        f"{number}.md": rng.choices(_WORDS, range(8, 0, -1), k=rng.randint(1, 40))
        for number in range(30)
    }
    documents = [
        make_document(name, " ".join(body), fields=Fields("pear", tags=("plum",)))
        for name, body in bodies.items()
    ]
    with indexed(tmp_path, only_content, *documents) as store:
        for size in (1, 2, 4):
            query = rng.sample(_WORDS, size)
            found = scores(store, only_content, " ".join(query))
            assert found == pytest.approx(plain_bm25(bodies, query), rel=_SINGLE)


def test_boosts_by_hand(tmp_path: Path) -> None:
    """Three documents under the boosts that ship: the title weighs 3, the content 1.

    document   stream                                  length
    1.md       apple apple apple pear plum             5
    2.md       pear pear pear apple plum plum          6
    3.md       plum plum plum cherry                   4        mean 15 / 3 = 5

    saturation of f occurrences in length l:  2.2 f / (f + 1.2 (0.25 + 0.75 l / 5))
    apple: rarity ln(1 + 1.5 / 2.5) = ln 1.6 = 0.4700036
      1.md  2.2 · 3 / (3 + 1.20) = 1.5714286   →  0.7385771
      2.md  2.2 · 1 / (1 + 1.38) = 0.9243697   →  0.4344571
    plum: rarity ln(1 + 0.5 / 3.5) = ln 1.1428571 = 0.1335314
      1.md  2.2 · 1 / (1 + 1.20) = 1.0000000   →  0.1335314
      2.md  2.2 · 2 / (2 + 1.38) = 1.3017751   →  0.1738279
      3.md  2.2 · 3 / (3 + 1.02) = 1.6417910   →  0.2192306
    """
    options = KeywordOptions(title=3.0, content=1.0)
    documents = [
        make_document("1.md", "pear plum", fields=Fields("Apple")),
        make_document("2.md", "apple plum plum", fields=Fields("Pear")),
        make_document("3.md", "cherry", fields=Fields("Plum")),
    ]
    with indexed(tmp_path, options, *documents) as store:
        apple = {"1.md": 0.7385771, "2.md": 0.4344571}
        assert scores(store, options, "apple") == pytest.approx(apple, abs=2e-7)
        plum = {"1.md": 0.1335314, "2.md": 0.1738279, "3.md": 0.2192306}
        assert scores(store, options, "plum") == pytest.approx(plum, abs=2e-7)
        both = {"1.md": 0.8721085, "2.md": 0.6082850, "3.md": 0.2192306}
        assert scores(store, options, "apple plum") == pytest.approx(both, abs=2e-7)
        assert list(scores(store, options, "apple plum")) == ["1.md", "2.md", "3.md"]
