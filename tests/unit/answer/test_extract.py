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
    return extract_answer(query, read_of(hits), _TERMS(query), _TERMS, AnswerOptions(**options))


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


def test_one_sentence_is_the_answer_unless_another_one_adds_a_word(make_hit: MakeHit) -> None:
    hits = [
        make_hit("Every gateway has a clock. Rain falls. Every gateway clock drifts.", score=0.9),
        make_hit("Every gateway clock drifts badly.", score=0.9),
    ]
    assert len(_texts(_answer(hits, "gateway clock drifts", sentences=5))) == 1
    text = (
        "A small machine has 4 units of cpu at least. A small machine has 8 units of ram at least."
    )
    asked = ("how many", read_of([make_hit(text)]), ["unit", "cpu", "ram"], _TERMS)
    rarity = {"unit": 5.0}
    assert len(_texts(extract_answer(*asked, AnswerOptions(), rarity=rarity))) == 2
    one = extract_answer(*asked, AnswerOptions(sentences=1), rarity=rarity)
    assert len(_texts(one)) == 1


def test_rare_words_weigh_more_than_frequent_ones(make_hit: MakeHit) -> None:
    common = " ".join(f"The server answers in way {number}." for number in range(9))
    hits = [make_hit(f"{common} Certificates last a year.")]
    [best] = _texts(_answer(hits, "server certificates", sentences=1))
    assert best.endswith("Certificates last a year.")


def test_headings_decide_between_sentences_that_have_the_words(make_hit: MakeHit) -> None:
    hits = [
        make_hit("A token lasts for an hour.", header_path=("Weather",), score=0.6),
        make_hit("A token lasts for ten minutes.", header_path=("Gateway",), score=0.6),
    ]
    asked = ("how long", read_of(hits), ["token", "gateway"], _TERMS, AnswerOptions())
    rarity = {"token": 5.0, "gateway": 1.0}
    assert _texts(extract_answer(*asked, rarity=rarity)) == ["A token lasts for ten minutes."]


def test_a_sentence_that_lacks_the_words_is_no_answer(make_hit: MakeHit) -> None:
    hits = [make_hit("It lasts for ten minutes.", header_path=("Tokens", "Expiry"), score=0.6)]
    assert _answer(hits, "token expiry") is None
    slack = [make_hit("Discord has a bot for such things.", header_path=("Slack bot",))]
    assert _answer(slack, "Is there a Slack bot?") is None


def test_meaning_decides_between_sentences_that_have_the_words(make_hit: MakeHit) -> None:
    hits = [make_hit("The car sleeps a lot in spring. The car needs petrol to run.")]

    def similarity(texts: Sequence[str]) -> list[float]:
        return [0.8 if "petrol" in text else 0.05 for text in texts]

    answer = extract_answer(
        "car", read_of(hits), ["car"], _TERMS, AnswerOptions(), similarity=similarity
    )
    assert _texts(answer) == ["The car needs petrol to run."]


def test_where_a_better_sentence_is_none_there_is_no_answer(make_hit: MakeHit) -> None:
    hits = [make_hit("The vehicle needs petrol to run every day. The car sleeps a lot in spring.")]

    def similarity(texts: Sequence[str]) -> list[float]:
        return [0.9 if "petrol" in text else 0.05 for text in texts]

    options = AnswerOptions()
    asked = ("car", read_of(hits), ["car"], _TERMS, options)
    assert extract_answer(*asked, similarity=similarity) is None


@pytest.mark.parametrize(
    ("question", "about", "answers"),
    [
        ("How many pods fit on a node?", "Pods fit on any node.", "A node fits 110 pods."),
        ("Why are pages slow?", "Slow pages are bad.", "Pages are slow because of pictures."),
        (
            "How do I mute a note?",
            "To mute a note is often wise.",
            "To mute a note, press the bell.",
        ),
        (
            "What happens when a pod is removed?",
            "Pods are removed in what happens to be spring.",
            "When a pod is removed, it happens that its data is, too.",
        ),
        (
            "Which port does the server use?",
            "The server does use any open port.",
            "The server does use port 6443.",
        ),
        ("Who made dowse?", "Somebody made dowse.", "In fact Ada made dowse."),
        ("When do tokens expire?", "Tokens expire.", "Tokens expire after a day."),
        ("Where are notes kept?", "Notes are kept.", "Notes are kept in a vault."),
    ],
)
def test_a_sentence_has_what_the_question_asks_for(
    make_hit: MakeHit, question: str, about: str, answers: str
) -> None:
    assert _answer([make_hit(about)], question) is None
    assert _texts(_answer([make_hit(answers)], question)) == [answers]


@pytest.mark.parametrize(
    "half",
    [
        "This makes a gateway token.",
        "For example, a gateway token is short.",
        "Note: It is a gateway token.",
        "A gateway token is one of the following.",
        "is a command for a gateway token.",
        "To make a gateway token:",
    ],
)
def test_a_sentence_that_leans_on_another_is_no_answer(make_hit: MakeHit, half: str) -> None:
    assert _answer([make_hit(half)], "gateway token") is None


def test_words_choose_which_sentences_are_compared_by_meaning(make_hit: MakeHit) -> None:
    filler = " ".join(
        f"Filler {number} stands here and says nothing of it." for number in range(50)
    )
    hits = [make_hit(f"{filler} A token.")]
    asked: list[Sequence[str]] = []

    def similarity(texts: Sequence[str]) -> list[float]:
        asked.append(texts)
        return [0.5] * len(texts)

    options = AnswerOptions(candidates=7)
    extract_answer("token", read_of(hits), ["token"], _TERMS, options, similarity=similarity)
    assert [len(texts) for texts in asked] == [7]
    assert asked[0][0].endswith("A token.")


def test_no_candidates_by_meaning_leaves_words_alone(make_hit: MakeHit) -> None:
    def never(texts: Sequence[str]) -> list[float]:
        raise AssertionError(texts)

    hits = [make_hit("A token expires.")]
    options = AnswerOptions(candidates=0)
    answer = extract_answer("", read_of(hits), ["token"], _TERMS, options, similarity=never)
    assert _texts(answer) == ["A token expires."]


@pytest.mark.parametrize("query", ["zebra", "", "the of and", "?!"])
def test_nothing_that_touches_the_query_gives_no_answer(make_hit: MakeHit, query: str) -> None:
    hits = [make_hit("Rain falls in spring. Wind blows.")]
    assert _answer(hits, query) is None
    assert (
        extract_answer(
            query,
            read_of(hits),
            _TERMS(query),
            _TERMS,
            AnswerOptions(),
            similarity=lambda texts: [0.1] * len(texts),
        )
        is None
    )


def test_no_results_give_no_answer() -> None:
    assert _answer([], "token") is None
    options = AnswerOptions()
    assert extract_answer("", [], ["token"], _TERMS, options, similarity=lambda _: []) is None


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


def test_a_sentence_that_does_not_fit_is_no_answer(make_hit: MakeHit) -> None:
    hits = [make_hit("token " * 100)]
    assert _answer(hits, "token", max_chars=60) is None
    assert _answer(hits, "token", max_chars=700) is not None


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
    text = f"## Other\n\nEvery night a dump goes to the cellar.\n\n{_HANDBOOK}"
    terms, options = ["dump", "night", "backup"], AnswerOptions(sentences=1)
    rarity = {"dump": 5.0, "night": 5.0, "backup": 1.0}
    asked = ("how often", read_of([make_hit(text)]), terms, _TERMS, options)
    [best] = _texts(extract_answer(*asked, rarity=rarity))
    assert best == "Every night a dump goes to another building."


def test_the_name_of_a_column_is_no_word_of_a_row(make_hit: MakeHit) -> None:
    hits = [make_hit(_HANDBOOK + "\nMasts are visited often, at least twice a year.\n")]
    [best] = _texts(_answer(hits, "how often", sentences=1))
    assert best.startswith("Masts are visited often")


def test_a_short_sentence_takes_along_what_explains_it(make_hit: MakeHit) -> None:
    text = "- **LK-303** locked. Another run holds the lock.\n- **LK-305** no space.\n"
    [best] = _texts(_answer([make_hit(text)], "LK-303", sentences=1))
    assert best == "LK-303 locked. Another run holds the lock."


def test_where_nothing_has_the_rarest_word_there_is_no_answer(make_hit: MakeHit) -> None:
    hits = [make_hit("Nights were left out of the survey. A page gives two free hours.")]

    def similarity(texts: Sequence[str]) -> list[float]:
        return [0.6 if text.endswith("A page gives two free hours.") else 0.2 for text in texts]

    rarity = {"night": 1.0, "compens": 5.0}
    asked = ("", read_of(hits), ["night", "compens"], _TERMS, AnswerOptions())
    assert extract_answer(*asked, similarity=similarity, rarity=rarity) is None
