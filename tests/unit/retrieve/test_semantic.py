"""How far vectors can be trusted, and what a keyword score could be at most."""

from __future__ import annotations

import math

import pytest

from dowse._search.fusion import trusted
from dowse._search.strategies import most_bm25
from dowse._text.matching import rarity
from dowse._text.scripts import latin_share


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("plain words", 1.0),
        ("Grüße, ça va", 1.0),
        ("", 1.0),
        ("12 34 !?", 1.0),
        ("風速計", 0.0),
        ("Pod 的生", 0.6),
        ("насос", 0.0),
    ],
)
def test_the_share_of_latin_letters(text: str, share: float) -> None:
    assert latin_share(text) == pytest.approx(share)


def test_scores_are_lowered_and_ordered_again() -> None:
    trust = {1: 0.5, 2: 1.0, 3: 0.0}
    assert trusted([(1, 0.8), (2, 0.6)], trust) == [(2, 0.6), (1, 0.4)]
    assert trusted([(3, 0.5)], trust) == [(3, 0.0)]


def test_the_most_that_bm25_could_give() -> None:
    rare, common, nowhere = (math.log(1 + (100 - n + 0.5) / (n + 0.5)) for n in (1, 50, 0))
    assert [rarity(held, 100) for held in (1, 50, 0)] == pytest.approx([rare, common, nowhere])
    both = {"rare": rare, "common": common}
    assert most_bm25(both) == pytest.approx(2.2 * (rare + common))
    assert most_bm25({"rare": rare, "gone": nowhere}) == pytest.approx(2.2 * (rare + nowhere))
    assert most_bm25(both, (("rare", "common"),)) == pytest.approx(2.2 * rare)
    assert most_bm25({}) == 0
