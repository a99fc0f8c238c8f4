"""A query in the words of the documents: prefixes, slips of the keyboard, lost phrases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse._model import Condition, Fields, Keys, Query
from dowse._model.ports import IndexReader, KeywordField
from dowse._search.confidence import QueryWords
from dowse._search.query import understand
from dowse._search.understand import correct
from dowse._text.analyzer import TextAnalyzer
from dowse._text.options import KeywordOptions

_ANALYZER = TextAnalyzer(KeywordOptions())


class Passages:
    """What rewriting asks of an index, over a few passages; counts the questions."""

    def __init__(self, *texts: str) -> None:
        streams = [_ANALYZER.chunk_terms(Fields(), (), text) for text in texts]
        self._terms = [[term for term, _ in stream] for stream in streams]
        self._words = sum(map(_ANALYZER.vocabulary, texts), Counter[str]())
        self.asked: Counter[str] = Counter()
        self.keyword = self.vocabulary = self  # it has all parts in one

    @property
    def size(self) -> int:
        return len(self._terms)

    def frequencies(self, field: KeywordField, terms: Sequence[str]) -> dict[str, int]:
        assert field == "body"
        self.asked["frequencies"] += 1
        return {term: sum(term in held for held in self._terms) for term in terms}

    def beginning(self, prefix: str, limit: int) -> list[str]:
        self.asked["words"] += 1
        return [word for word in self._by_frequency() if word.startswith(prefix)][:limit]

    def spelled_like(self, word: str, limit: int) -> list[str]:
        self.asked["spellings"] += 1
        return [each for each in self._by_frequency() if _one_apart(each, word)][:limit]

    def matching(self, conditions: Sequence[Condition]) -> Keys:
        self.asked["matching"] += 1
        held = [
            key
            for key, terms in enumerate(self._terms)
            if all(_follows(terms, each.values) for each in conditions)
        ]
        return np.array(held, dtype=np.int64)

    def _by_frequency(self) -> list[str]:
        return sorted(self._words, key=lambda word: (-self._words[word], word))


def _one_apart(a: str, b: str) -> bool:
    """Whether one letter too many or too few is all that differs."""
    longer, shorter = sorted((a, b), key=len, reverse=True)
    return len(b) > 3 and any(
        longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer))
    )


def _follows(terms: list[str], values: tuple[str, ...]) -> bool:
    return any(tuple(terms[at : at + len(values)]) == values for at in range(len(terms)))


def rewritten(text: str, passages: Passages) -> Query:
    return correct(understand(text, _ANALYZER), cast("IndexReader", passages), _ANALYZER)


def test_a_query_of_known_words_costs_one_question_and_stays_as_it_is() -> None:
    passages = Passages("authentication with tokens", "tokens expire")
    query = understand("do authentication tokens expire?", _ANALYZER)
    assert correct(query, cast("IndexReader", passages), _ANALYZER) is query
    assert passages.asked == {"frequencies": 1}


@pytest.mark.parametrize("text", ["", "?!", "the", "tag:draft", "-draft"])
def test_a_query_without_words_costs_nothing(text: str) -> None:
    passages = Passages("authentication")
    assert rewritten(text, passages) == understand(text, _ANALYZER)
    assert not passages.asked


def test_a_prefix_becomes_the_words_that_begin_with_it() -> None:
    passages = Passages("authentication authentication", "authorization auth-server", "wind")
    query = rewritten("Auth* wind", passages)
    assert query.terms == ("auth", "wind", "authent", "auth-server", "author")
    assert {"authentication", "authorization"} <= set(query.code_terms)
    assert (query.text, query.prefixes, query.notices) == ("Auth wind", (), ())
    assert "spellings" not in passages.asked


def test_a_prefix_that_is_no_word_itself_is_not_missed() -> None:
    query = rewritten("anemom* wind", Passages("the anemometer of the mast", "wind"))
    assert query.terms == ("wind", "anemomet")
    assert query.alternatives == (("anemomet",),)


def test_a_prefix_of_nothing_is_reported() -> None:
    query = rewritten("zzz* wind", Passages("wind power"))
    assert query.terms == ("zzz", "wind")
    assert query.notices == ('No word begins with "zzz".',)


def test_at_most_fifty_words_stand_for_a_prefix_and_eight_prefixes_are_looked_up() -> None:
    many = Passages(" ".join(f"word{letter}{number}z" for letter in "abc" for number in range(99)))
    assert len(rewritten("word*", many).terms) == 50
    query = rewritten(" ".join(f"pre{number}*" for number in range(40)), many)
    assert many.asked["words"] == 9
    assert query.notices[-1] == "Only the first 8 words with a star were completed."


def test_the_beginning_of_a_word_finds_it_when_nothing_holds_it_alone() -> None:
    query = rewritten("auth", Passages("authentication by token", "the authenticator", "wind"))
    assert query.terms == ("authent",)
    assert query.code_terms == ("auth", "authentication", "authenticator")
    assert query.text == "auth"
    assert query.notices == (
        'Nothing has "auth"; searched for "authentication", "authenticator" instead.',
    )


def test_a_slip_of_the_keyboard_is_fixed_and_reported() -> None:
    query = rewritten("Kuberntes, pods", Passages("kubernetes pods", "a pod"))
    assert query.terms == ("pod", "kubernet")
    assert query.text == "Kuberntes, pods"
    assert query.notices == ('Nothing has "Kuberntes"; searched for "kubernetes" instead.',)


def test_words_are_looked_up_as_written_and_not_as_stems() -> None:
    # The stem of "organisational" is "organis", which is no beginning of what is meant.
    query = rewritten("organizatonal", Passages("organizational matters"))
    assert query.notices == ('Nothing has "organizatonal"; searched for "organizational" instead.',)


@pytest.mark.parametrize(
    "text",
    [
        "`kuberntes`",
        "kuberntes.io",
        "kuberntes::pod",
        "--kuberntes",
        "kuberntes_pod",
        "@kuberntes",
        "kuberntes7",
        "-kuberntes",
        "tag:kuberntes",
        "ku",
        "/kuberntes",
    ],
)
def test_code_exclusions_and_fields_are_left_as_written(text: str) -> None:
    passages = Passages("kubernetes pods io kubed")
    assert rewritten(text, passages).terms == understand(text, _ANALYZER).terms
    assert passages.asked["spellings"] == passages.asked["words"] == 0


def test_compound_words_are_fixed_by_their_parts() -> None:
    query = rewritten("kuberntes-native", Passages("kubernetes native"))
    assert query.terms == ("kuberntes-native", "nativ", "kubernet")


def test_an_unknown_word_that_resembles_nothing_stays_without_a_notice() -> None:
    query = understand("zzzzzz wind", _ANALYZER)
    assert correct(query, cast("IndexReader", Passages("wind")), _ANALYZER) is not None
    assert rewritten("zzzzzz wind", Passages("wind")) == query


def test_next_to_other_words_only_likely_slips_are_fixed() -> None:
    passages = Passages("the branch", "wind and cloud")
    for text, meant in (("xbranch", "branch"), ("clod", "cloud")):
        assert rewritten(f"{text} wind", passages).terms == (text, "wind")
        assert rewritten(text, passages).terms == (meant,)
    assert rewritten("xbranch clod", passages).terms == ("branch", "cloud")
    assert rewritten("clouud wind", passages).terms == ("wind", "cloud")


@pytest.mark.parametrize(
    ("text", "alike"),
    [("Slack", "slac"), ("rain", "ran"), ("probe", "prose"), ("mango", "mongo"), ("blast", "last")],
)
def test_a_word_of_its_own_is_no_slip_for_another_one(text: str, alike: str) -> None:
    passages = Passages(f"{alike} and wind", f"{alike} again")
    passages.spelled_like = lambda *_: [alike]  # type: ignore[method-assign]  # may be two apart
    for query in (text, f"{text} wind"):
        found = rewritten(query, passages)
        assert found.terms == understand(query, _ANALYZER).terms
        assert found.notices == ()


def test_a_slip_that_may_be_for_several_words_is_left_as_it_is() -> None:
    assert rewritten("brnch", Passages("branch", "brunch")).terms == ("brnch",)
    assert rewritten("brnch", Passages("branch", "branches")).terms == ("branch",)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("wait for any", "wait-for-any"),
        ("before all", "BeforeAll"),
        ("before all hooks", "beforeAll"),
        ("not in", "NotIn"),
        ("what is a for each loop", "for-each"),
    ],
)
def test_common_words_find_the_name_that_they_are_together(text: str, name: str) -> None:
    term = max(_ANALYZER.query_terms(name), key=len)
    query = rewritten(text, Passages(f"`{name}` is a name", "hooks", "a loop", "wait"))
    assert term in query.terms
    assert query.notices == ()


@pytest.mark.parametrize("text", ["how to use it", "what is it", "to be or not to be", "who am i"])
def test_common_words_that_are_no_name_stay_out(text: str) -> None:
    query = rewritten(text, Passages("a how-to guide", "use it", "WhatIs", "whoami"))
    assert query.terms == understand(text, _ANALYZER).terms


def test_next_to_other_words_the_beginning_of_a_word_brings_fewer() -> None:
    passages = Passages("authentication authorship authorized authn authz wind")
    assert len(rewritten("auth", passages).terms) == 5
    assert len(rewritten("auth wind", passages).terms) == 4


def test_a_pasted_page_of_unknown_words_is_not_proofread() -> None:
    passages = Passages("wind")
    words = [f"{a}{b}qqq{c}" for a in "bcdfghj" for b in "klmnprs" for c in "tvwxz"]
    rewritten(" ".join(words), passages)
    assert passages.asked["spellings"] == 8


def test_a_short_word_alone_that_few_hold_brings_its_longer_forms() -> None:
    passages = Passages("auth", "authentication", "authentication again", "authn", "wind")
    query = rewritten("auth", passages)
    assert query.terms == ("auth", "authent", "authn")
    assert query.notices == (
        'Few passages have "auth"; searched for "authentication", "authn" as well.',
    )


@pytest.mark.parametrize(("text", "words"), [("auth", 1), ("auth*", 1), ("auth* wind", 2)])
def test_a_word_and_its_longer_forms_are_one_word_of_the_query(text: str, words: int) -> None:
    passages = Passages("the auth-server", "authentication", "authentication again", "wind")
    query = rewritten(text, passages)
    assert {"auth", "authent"} <= set(query.terms)
    found = QueryWords(query, _ANALYZER.query_terms).found_in(["authentication"])
    assert (found.found, found.total) == (1, words)


@pytest.mark.parametrize("text", ["auth wind", '"auth"', "`auth`", "authen", "au"])
def test_other_words_that_few_hold_stay_alone(text: str) -> None:
    passages = Passages("auth", "authentication", "authentication again", "authen au wind")
    assert rewritten(text, passages).terms == understand(text, _ANALYZER).terms


def test_a_short_word_that_many_hold_stays_alone() -> None:
    passages = Passages(*["auth"] * 5, *["authentication"] * 9)
    assert rewritten("auth", passages).terms == ("auth",)


def test_a_short_word_does_not_stand_for_a_longer_one() -> None:
    passages = Passages("a film on vimeo", "vimeo again", "an editor")
    for text in ("vim", "vim editor"):
        query = rewritten(text, passages)
        assert query.notices == ()
        assert "vimeo" not in query.terms
    assert rewritten("vim", Passages("vim", "vimeo", "vimeo")).terms == ("vim",)


@pytest.mark.parametrize(("word", "text"), [("mode", "a modem"), ("roll", "a rollup")])
def test_a_known_word_is_not_short_for_one_that_is_hardly_longer(word: str, text: str) -> None:
    query = rewritten(word, Passages(text, text, text))
    assert query.notices == ()
    assert query.terms == understand(word, _ANALYZER).terms


def test_a_common_word_of_another_language_is_no_slip() -> None:
    assert rewritten("keine", Passages("eine", "eine")).notices == ()


def test_a_rare_word_takes_no_others_place() -> None:
    texts = ["the anemometer of the mast", *["wind"] * 4000]
    assert rewritten("anemometr", Passages(*texts)).notices == ()
    query = rewritten("anemometr", Passages(texts[0], *texts))
    assert query.terms == ("anemomet",)


def test_a_phrase_that_nothing_holds_is_dropped_and_reported() -> None:
    passages = Passages("rolling updates", "updates to rolling stock")
    query = rewritten('"rolling updates" “updates rolling wheels” tag:x', passages)
    assert [condition.written for condition in query.conditions] == ['"rolling updates"', "tag:x"]
    assert query.notices == (
        'Nothing has the phrase "updates rolling wheels"; its words were searched for instead.',
    )
    assert "wheel" in query.terms


def test_phrases_that_nothing_holds_together_are_dropped_together() -> None:
    passages = Passages("rolling updates", "blue green", "wind")
    query = rewritten('"rolling updates" "blue green" "gray area" tag:x', passages)
    assert [condition.written for condition in query.conditions] == ["tag:x"]
    lost, apart = query.notices
    assert lost == 'Nothing has the phrase "gray area"; its words were searched for instead.'
    assert apart.startswith('Nothing has all of "rolling updates", "blue green"; their words')


def test_an_excluded_phrase_that_nothing_holds_stays() -> None:
    passages = Passages("wind")
    query = rewritten('wind -"rolling updates"', passages)
    assert len(query.conditions) == 1
    assert "matching" not in passages.asked


def test_words_of_a_phrase_are_not_fixed() -> None:
    query = rewritten('"kuberntes pods"', Passages("kubernetes pods"))
    assert query.terms == ("kubernt", "pod")
    assert query.conditions == ()


@settings(deadline=None, max_examples=100, derandomize=True)
@given(st.text(alphabet='kubernts auh*"-`集群é\ud800\x00.:', max_size=40))
def test_rewriting_never_fails_and_changes_nothing_the_second_time(text: str) -> None:
    reading = cast("IndexReader", Passages("kubernetes authentication", "auth 集群 rest", "ersatz"))
    once = correct(understand(text, _ANALYZER), reading, _ANALYZER)
    assert correct(once, reading, _ANALYZER).terms == once.terms
    assert once.text == understand(text, _ANALYZER).text
