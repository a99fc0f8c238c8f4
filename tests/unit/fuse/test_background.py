"""How usual the words of a query are here, compared with other documentation."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse._search.confidence import background_terms, frequency_ratio
from dowse._text.analyzer import TextAnalyzer
from dowse._text.options import KeywordOptions

SETTINGS = settings(deadline=None, derandomize=True, max_examples=100)
STAMP = TextAnalyzer(KeywordOptions()).stamp
LENGTH = background_terms().length
KNOWN = "kubernet"  # a stem that many passages elsewhere have
UNKNOWN = "zwiebelfisch"


def one(here: int, term: str = KNOWN, chunks: int = 1_000, length: float = LENGTH) -> float:
    return frequency_ratio({term: here}, chunks, length, STAMP)


def test_the_words_were_counted_as_the_default_settings_make_terms() -> None:
    counted = background_terms()
    assert counted.analyzer.items() <= STAMP.items()
    analyzer = TextAnalyzer(KeywordOptions())
    for written in ("configuring", "databases", "installation"):
        (term,) = analyzer.query_terms(written)
        assert counted.terms[term] > counted.passages / 1_000


def test_a_word_that_is_rare_here_and_usual_elsewhere_speaks_against_the_query() -> None:
    assert one(0) < one(10) < 0 < one(60) < one(120)


def test_a_word_that_is_known_here_alone_speaks_for_the_query() -> None:
    assert one(3, UNKNOWN) > 1


def test_a_word_that_nobody_knows_says_nothing_next_to_one_that_somebody_knows() -> None:
    both = frequency_ratio({KNOWN: 5, UNKNOWN: 0}, 1_000, LENGTH, STAMP)
    assert both == pytest.approx(one(5) / 2)
    assert one(0, UNKNOWN) == -2
    assert frequency_ratio({}, 1_000, LENGTH, STAMP) == 0


def test_a_word_that_is_as_usual_here_as_elsewhere_says_nothing() -> None:
    counted = background_terms()
    share = counted.terms[KNOWN] / counted.passages
    assert one(round(share * 100_000), chunks=100_000) == pytest.approx(0, abs=0.02)


def test_few_chunks_say_little() -> None:
    assert one(0, chunks=10_000) < one(0, chunks=100) < one(0, chunks=5) < 0


def test_longer_chunks_are_expected_to_have_more_words() -> None:
    assert one(20, length=2 * LENGTH) == pytest.approx(one(20, chunks=2_000))


def test_words_made_with_other_settings_are_not_compared() -> None:
    for options in (
        KeywordOptions(stemming=False),
        KeywordOptions(language="german"),
        KeywordOptions(stopwords=False),
    ):
        assert frequency_ratio({KNOWN: 0}, 1_000, LENGTH, TextAnalyzer(options).stamp) == 0


@SETTINGS
@given(
    st.dictionaries(st.sampled_from([KNOWN, UNKNOWN, "file", "x"]), st.integers(0, 10**6)),
    st.integers(1, 10**6),
    st.floats(0, 10_000),
)
def test_no_word_counts_for_more_than_two(held: dict[str, int], chunks: int, length: float) -> None:
    found = frequency_ratio(held, chunks, length, STAMP)
    assert math.isfinite(found)
    assert -2 <= found <= 2
