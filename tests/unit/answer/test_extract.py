from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse._model import Answer, Hit
from dowse._search.answer import AnswerOptions, extract_answer, read_of
from dowse._text.analyzer import TextAnalyzer
from dowse._text.options import KeywordOptions

if TYPE_CHECKING:
    from unit.conftest import MakeHit

_TERMS = TextAnalyzer(KeywordOptions()).query_terms


def _answer(hits: Sequence[Hit], query: str, **options: Any) -> Answer | None:
    return extract_answer(read_of(hits), _TERMS(query), _TERMS, None, AnswerOptions(**options))


def _texts(answer: Answer | None) -> list[str]:
    assert answer is not None
    return [sentence.text for sentence in answer.sentences]


def test_the_sentence_that_holds_the_words_is_the_answer(make_hit: MakeHit) -> None:
    hits = [
        make_hit("# Tokens\n\nWeather is fine. A **token** expires after ten minutes.", score=0.9),
        make_hit("Birds sing. Fish swim.", score=0.4),
    ]
    answer = _answer(hits, "When does a token expire?")
    assert answer is not None
    assert answer.text == "A token expires after ten minutes. [1]"
    assert answer.sources == (1,)
    assert answer.written_by == ""


def test_sentences_are_in_the_order_of_the_results_and_the_text(make_hit: MakeHit) -> None:
    hits = [
        make_hit("The gateway is old. Rain falls. The gateway clock drifts badly.", score=0.9),
        make_hit("The gateway clock was mended.", score=0.8),
    ]
    answer = _answer(hits, "gateway clock")
    assert answer is not None
    assert [sentence.hit for sentence in answer.sentences] == sorted(
        sentence.hit for sentence in answer.sentences
    )
    assert answer.text.endswith("The gateway clock was mended. [2]")
    assert answer.sources == (1, 2)


def test_rare_words_weigh_more_than_frequent_ones(make_hit: MakeHit) -> None:
    common = " ".join(f"The server answers in way {number}." for number in range(9))
    hits = [make_hit(f"{common} Certificates last a year.")]
    [best] = _texts(_answer(hits, "server certificates", sentences=1))
    assert best.endswith("Certificates last a year.")


def test_headings_lend_their_words_to_what_is_below(make_hit: MakeHit) -> None:
    hits = [
        make_hit("It lasts for ten minutes.", header_path=("Tokens", "Expiry"), score=0.6),
        make_hit("Nothing of that kind here.", score=0.6),
    ]
    assert _texts(_answer(hits, "token expiry")) == ["It lasts for ten minutes."]


def test_meaning_finds_what_words_do_not(make_hit: MakeHit) -> None:
    hits = [make_hit("Cats sleep a lot. The vehicle needs petrol.")]

    def similarity(texts: Sequence[str]) -> list[float]:
        return [0.8 if "vehicle" in text else 0.05 for text in texts]

    answer = extract_answer(read_of(hits), ["car"], _TERMS, similarity, AnswerOptions())
    assert _texts(answer) == ["The vehicle needs petrol."]


def test_words_choose_which_sentences_are_compared_by_meaning(make_hit: MakeHit) -> None:
    hits = [make_hit(" ".join(f"Filler {number} stands." for number in range(50)) + " A token.")]
    asked: list[Sequence[str]] = []

    def similarity(texts: Sequence[str]) -> list[float]:
        asked.append(texts)
        return [0.5] * len(texts)

    extract_answer(read_of(hits), ["token"], _TERMS, similarity, AnswerOptions(candidates=7))
    assert [len(texts) for texts in asked] == [7]
    assert asked[0][0].endswith("A token.")


def test_no_candidates_by_meaning_leaves_words_alone(make_hit: MakeHit) -> None:
    def never(texts: Sequence[str]) -> list[float]:
        raise AssertionError(texts)

    hits = [make_hit("A token expires.")]
    answer = extract_answer(read_of(hits), ["token"], _TERMS, never, AnswerOptions(candidates=0))
    assert _texts(answer) == ["A token expires."]


@pytest.mark.parametrize("query", ["zebra", "", "the of and", "?!"])
def test_nothing_that_touches_the_query_gives_no_answer(make_hit: MakeHit, query: str) -> None:
    hits = [make_hit("Rain falls in spring. Wind blows.")]
    assert _answer(hits, query) is None
    assert (
        extract_answer(
            read_of(hits), _TERMS(query), _TERMS, lambda t: [0.1] * len(t), AnswerOptions()
        )
        is None
    )


def test_no_results_give_no_answer() -> None:
    assert _answer([], "token") is None
    assert extract_answer([], ["token"], _TERMS, lambda _: [], AnswerOptions()) is None


def test_code_headings_and_crumbs_are_no_answer(make_hit: MakeHit) -> None:
    assert (
        _answer([make_hit("# Token\n\n```\ntoken = make_token()\n```\n\n- token\n")], "token")
        is None
    )


def test_what_is_said_twice_is_said_once(make_hit: MakeHit) -> None:
    hits = [
        make_hit("A token expires after ten minutes."),
        make_hit("A **token** expires after ten minutes!"),
        make_hit("A token always expires after ten minutes."),
    ]
    assert _texts(_answer(hits, "token expires")) == ["A token expires after ten minutes."]


def test_a_lead_in_gives_way_to_what_it_leads_to(make_hit: MakeHit) -> None:
    hits = [make_hit("To renew a token:\n\n- Call renew with the token.\n- Wait for it.\n")]
    assert _texts(_answer(hits, "renew token", sentences=1)) == ["Call renew with the token."]


def test_the_beginning_of_a_word_is_enough_when_the_word_itself_is_nowhere(
    make_hit: MakeHit,
) -> None:
    assert _texts(_answer([make_hit("Authentication needs a key.")], "auth")) == [
        "Authentication needs a key."
    ]


def test_a_single_long_sentence_is_cut(make_hit: MakeHit) -> None:
    answer = _answer([make_hit("token " * 100)], "token", max_chars=60)
    assert answer is not None
    assert answer.text.endswith("token … [1]")
    assert len(answer.text) <= 60


def test_text_without_blanks_is_answered(make_hit: MakeHit) -> None:
    hits = [make_hit("天気がよい。検索エンジンは速い。")]
    assert _texts(_answer(hits, "検索エンジン")) == ["検索エンジンは速い。"]


_WORDS = st.lists(st.sampled_from(["token", "gateway", "rain.", "Clock", "10", "a:"]), max_size=40)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(_WORDS, max_size=4), st.integers(1, 4), st.integers(50, 200))
def test_limits_hold_and_the_same_call_gives_the_same_answer(
    texts: list[list[str]], most: int, size: int
) -> None:
    hits = [_hit(" ".join(words), 1.0 - place / 10) for place, words in enumerate(texts)]
    answer = _answer(hits, "token clock", sentences=most, max_chars=size)
    assert answer == _answer(hits, "token clock", sentences=most, max_chars=size)
    if answer is not None:
        assert 1 <= len(answer.sentences) <= most
        assert len(answer.text) <= size
        assert set(answer.sources) == {sentence.hit for sentence in answer.sentences}


def _hit(text: str, score: float) -> Hit:
    return Hit(
        score=score, id="", section="", document="a.md", title="", header_path=(), line=1,
        first_line=1, last_line=2, date="1970-01-01T00:00:00+00:00", stale=False, tags=(),
        links_out=(), links_in=(), snippet="", text=text,
    )  # fmt: skip


# ── What a sentence belongs to ───────────────────────────────────────────────

_HANDBOOK = """# Handbook

## Pages

A service answers. Its pages are static.

## Backups

Every night a dump goes to another building.

## Routines

| how often | what |
|---|---|
| every quarter | visit the mast |
"""


def test_a_heading_inside_a_passage_counts_for_what_is_under_it(make_hit: MakeHit) -> None:
    [best] = _texts(_answer([make_hit(_HANDBOOK)], "how often are backups made", sentences=1))
    assert best == "Every night a dump goes to another building."


def test_the_name_of_a_column_is_no_word_of_a_row(make_hit: MakeHit) -> None:
    hits = [make_hit(_HANDBOOK + "\nMasts are visited often, at least twice a year.\n")]
    [best] = _texts(_answer(hits, "how often", sentences=1))
    assert best.startswith("Masts are visited often")


def test_a_short_sentence_takes_along_what_explains_it(make_hit: MakeHit) -> None:
    text = "- **LK-303** locked. Another run holds the lock.\n- **LK-305** no space.\n"
    [best] = _texts(_answer([make_hit(text)], "LK-303", sentences=1))
    assert best == "LK-303 locked. Another run holds the lock."


def test_a_sentence_is_quoted_once(make_hit: MakeHit) -> None:
    filler = "Nothing else is said about it here, and it takes a whole line to say so."
    text = f"The token is old. The token is short. {filler} The token is blue."
    answer = _answer([make_hit(text)], "token")
    assert answer is not None
    assert "The token is blue." in answer.text
    assert answer.text.count("The token is short.") == 1


def test_a_word_that_nothing_has_makes_the_others_weigh_less(make_hit: MakeHit) -> None:
    hits = [make_hit("Nights were left out of the survey. A page gives two free hours.")]

    def similarity(texts: Sequence[str]) -> list[float]:
        return [0.6 if text.endswith("A page gives two free hours.") else 0.2 for text in texts]

    rarity = {"night": 1.0, "compens": 5.0}
    options = AnswerOptions(sentences=1)
    found = extract_answer(
        read_of(hits), ["night", "compens"], _TERMS, similarity, options, rarity=rarity
    )
    assert "two free hours" in _texts(found)[0]
