from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from dowse.analyze import KeywordOptions, TextAnalyzer
from dowse.present import snippet

_TERMS = TextAnalyzer(KeywordOptions()).query_terms


def _snippet(text: str, query: str) -> str:
    return snippet(text, _TERMS(query), _TERMS)


def test_matched_words_are_marked_in_the_form_in_which_they_stand() -> None:
    assert _snippet("It configures (authentication), mostly.", "configure authenticating") == (
        "It **configures** (**authentication**), mostly."
    )


def test_the_window_with_most_distinct_words_is_shown() -> None:
    text = "rain " * 60 + "then the gateway clock drifted after the outage " + "wind " * 60
    shown = _snippet(text, "rain gateway clock")
    assert "**gateway** **clock**" in shown
    assert shown.startswith("… ")
    assert shown.endswith(" …")


def test_without_a_match_the_beginning_is_shown() -> None:
    text = "First words of a text. " + "More of it follows here. " * 30
    assert _snippet(text, "zzz").startswith("First words of a text.")


def test_an_empty_text_has_an_empty_snippet() -> None:
    assert _snippet("", "anything") == ""
    assert _snippet(" \n\t ", "anything") == ""


def test_one_endless_word_is_shown() -> None:
    assert _snippet("x" * 5000, "anything") == "x" * 5000


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.text(max_size=600), st.text(max_size=40))
def test_any_text_has_a_snippet_of_its_own_words(text: str, query: str) -> None:
    words = set(text.split())
    for word in _snippet(text, query).removeprefix("… ").removesuffix(" …").split():
        assert word in words or word.replace("**", "") in {one.replace("**", "") for one in words}
