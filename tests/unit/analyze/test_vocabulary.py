"""The words that can stand in the vocabulary."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse._text.analyzer import TextAnalyzer
from dowse._text.languages import STOPWORDS
from dowse._text.options import KeywordOptions, VocabularyOptions
from dowse.errors import BadSettings
from rows import check_rows

_ANALYZER = TextAnalyzer(KeywordOptions())


def test_words_of_the_vocabulary() -> None:
    def check(row: tuple[str, list[str]]) -> None:
        text, expected = row
        assert list(_ANALYZER.vocabulary(text).elements()) == expected

    rows: list[tuple[str, list[str]]] = [
        ("Gateway gateway GATEWAY", ["gateway"] * 3),
        ("the a of an io", []),
        ("log2 2fast x9y", ["log2", "fast", "x9y"]),
        ("_emphasis_ **strong** __bold__", ["emphasis", "strong", "bold"]),
        ("pre- and post-war self--made", ["pre", "post-war", "self--made"]),
        ("snake_case", ["snake_case"]),
        ("naïve nai\u0308ve", ["naïve", "naïve"]),
        ("running runs", ["running", "runs"]),
        ("x" * 41 + " " + "y" * 40, ["y" * 40]),
        ("", []),
    ]
    check_rows(rows, check)


def test_there_are_stopwords_enough() -> None:
    assert len(STOPWORDS) >= 100
    assert all(word == word.lower() for word in STOPWORDS)
    assert not _ANALYZER.vocabulary(" ".join(STOPWORDS))


@settings(deadline=None, max_examples=200, derandomize=True)
@given(st.text(max_size=80))
def test_any_text_has_plain_words(text: str) -> None:
    for word in _ANALYZER.vocabulary(text):
        assert 3 <= len(word) <= 40
        assert word not in STOPWORDS
        assert word == word.strip("_-")


@pytest.mark.parametrize("size", [-2, 100_001])
def test_a_vocabulary_of_that_size_cannot_be(size: int) -> None:
    with pytest.raises(BadSettings, match=r"vocabulary\.size"):
        VocabularyOptions(size)
