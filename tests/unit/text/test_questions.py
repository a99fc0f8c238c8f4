from __future__ import annotations

import pytest

from dowse._text.sentences import asking_part


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("My laptop was stolen. How do I get my files back?", "How do I get my files back?"),
        ("the phone lost its signal; how do we avoid paying twice", "how do we avoid paying twice"),
        ("I am abroad for a month, will my plants survive", "will my plants survive"),
        ("Is it safe? There are children.", "Is it safe?"),
        ("データが消えた。どう復元しますか？", "どう復元しますか？"),
    ],
)
def test_the_part_that_asks_is_found(text: str, asks: str) -> None:
    assert asking_part(text) == asks


@pytest.mark.parametrize(
    "text",
    ["", "LK-303", "restore a backup; the disk failed", "Which key, old or new?", "what is 3.5 mm"],
)
def test_a_text_without_such_a_part_is_asked_as_it_is(text: str) -> None:
    assert asking_part(text) == text
