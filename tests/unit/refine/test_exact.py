"""The scores of passages that are called like the query."""

from __future__ import annotations

import pytest

from dowse._search.fusion import raised_scores


def test_one_passage_goes_more_than_half_of_the_way_to_one() -> None:
    assert raised_scores([0.5], 0.2) == [pytest.approx(0.2 + 0.8 * 0.75)]


def test_several_passages_share_the_way_and_keep_their_order() -> None:
    first, second = raised_scores([0.4, 0.0], 0.6)
    assert 0.6 < second < first < raised_scores([0.4], 0.6)[0] < 1


def test_nothing_goes_beyond_one() -> None:
    assert raised_scores([1.0], 1.0) == [1.0]
