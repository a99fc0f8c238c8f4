"""Differences between two runs: what they are, and whether they are more than chance."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse._project.evaluation import compare


def _named(values: list[float]) -> dict[str, float]:
    return {f"q{place:04}": value for place, value in enumerate(values)}


def _exact(differences: list[float]) -> float:
    observed = abs(sum(differences)) - 1e-9
    sums = [
        abs(sum(sign * one for sign, one in zip(signs, differences, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    return sum(one >= observed for one in sums) / len(sums)


def test_the_figures_by_hand() -> None:
    got = compare(_named([0.5, 0.5, 1.0, 0.0]), _named([1.0, 0.5, 0.5, 1.0]))
    assert (got.first, got.second) == (0.5, 0.75)
    assert got.difference == 0.25
    assert got.relative == 0.5
    assert (got.wins, got.ties, got.losses) == (2, 1, 1)
    assert got.p == _exact([0.5, 0.0, -0.5, 1.0])


@settings(deadline=None, max_examples=50, derandomize=True)
@given(
    st.lists(st.sampled_from([-1.0, -0.5, -0.25, 0.0, 0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=9)
)
def test_few_queries_are_tested_exactly(differences: list[float]) -> None:
    got = compare(_named([0.0] * len(differences)), _named(differences))
    assert got.p == pytest.approx(_exact(differences))


def test_many_queries_are_tested_nearly_exactly() -> None:
    rng = random.Random(5)
    differences = [rng.choice([-0.4, -0.1, 0.2, 0.5]) for _ in range(16)]
    got = compare(_named([0.0] * 16), _named(differences))
    assert got.p == pytest.approx(_exact(differences), abs=0.015)


def test_the_test_agrees_with_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(8)
    first, second = rng.random(60), rng.random(60) + 0.06
    theirs = stats.permutation_test(
        (second, first),
        lambda a, b: np.mean(a) - np.mean(b),
        permutation_type="samples",
        n_resamples=9_999,
        rng=np.random.default_rng(1),
    )
    ours = compare(_named(first.tolist()), _named(second.tolist()))
    assert ours.p == pytest.approx(theirs.pvalue, abs=0.02)
    interval = stats.bootstrap(
        (second - first,), np.mean, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    assert ours.low == pytest.approx(interval.low, abs=0.01)
    assert ours.high == pytest.approx(interval.high, abs=0.01)


def test_a_clear_difference_is_sure_and_none_is_not() -> None:
    rng = random.Random(2)
    base = [rng.random() for _ in range(3_000)]
    better = compare(_named(base), _named([one + rng.gauss(0.05, 0.1) for one in base]))
    assert better.p < 0.001
    assert 0 < better.low < better.difference < better.high
    same = compare(_named(base), _named(base))
    assert (same.difference, same.p, same.low, same.high, same.ties) == (0, 1, 0, 0, 3_000)


def test_turning_the_comparison_round_changes_the_sign_alone() -> None:
    rng = random.Random(4)
    one, two = [_named([rng.random() for _ in range(40)]) for _ in range(2)]
    there, back = compare(one, two), compare(two, one)
    assert there.difference == -back.difference
    assert (there.wins, there.losses) == (back.losses, back.wins)
    assert there.p == back.p


def test_the_order_of_queries_does_not_matter_and_results_repeat() -> None:
    rng = random.Random(6)
    one, two = [_named([rng.random() for _ in range(30)]) for _ in range(2)]
    turned = dict(reversed(one.items())), dict(reversed(two.items()))
    assert compare(one, two) == compare(one, two) == compare(*turned)


def test_a_share_of_nothing_is_not_given() -> None:
    assert compare(_named([0.0]), _named([1.0])).relative is None
