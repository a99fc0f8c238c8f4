"""How far vectors can be trusted, and what a keyword score could be at most."""

from __future__ import annotations

import math

import pytest

from dowse._search.fusion import trusted
from dowse._search.strategies import most_bm25
from dowse._text.matching import rarity
from dowse._text.scripts import is_readable, readable_share, scripts_of


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
    assert readable_share(text, ()) == pytest.approx(share)


@pytest.mark.parametrize(
    ("text", "scripts", "share"),
    [
        ("風速計", ("han",), 1.0),
        ("サーバーを起動する", ("han",), 2 / 9),
        ("サーバーを起動する", ("han", "kana"), 1.0),
        ("насос pump", ("cyrillic",), 1.0),
        ("насос 펌프", ("hangul",), 2 / 7),
        ("насос 펌프 ポンプ", None, 1.0),
    ],
)
def test_the_share_of_letters_that_a_model_reads(
    text: str, scripts: tuple[str, ...] | None, share: float
) -> None:
    assert readable_share(text, scripts) == pytest.approx(share)
    assert is_readable(text, scripts)
    assert not is_readable("กขค", ("han", "kana", "hangul", "cyrillic"))


def test_a_vocabulary_says_which_scripts_a_model_reads() -> None:
    words = [f"word{n}" for n in range(3000)]
    letters = ["##" + chr(code) for code in range(0x0400, 0x0460)]
    assert scripts_of(words + letters) == ()
    russian = [f"слово{chr(0x430 + n % 32)}{chr(0x430 + n // 32)}" for n in range(1000)]
    chinese = [chr(0x4E00 + n) for n in range(1500)]
    assert scripts_of(words + russian + chinese) == ("cyrillic", "han")


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
