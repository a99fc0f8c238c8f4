"""Every text is a query; signs become conditions, and what is embedded holds only words."""

from __future__ import annotations

import string
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse._model import Condition, Fields, Query
from dowse._search.query import MOST_TERMS, understand
from dowse._text.analyzer import TextAnalyzer
from dowse._text.options import KeywordOptions

_ANALYZER = TextAnalyzer(KeywordOptions())


def understood(text: str) -> Query:
    return understand(text, _ANALYZER)


def phrases(text: str) -> list[tuple[str, ...]]:
    return [condition.values for condition in understood(text).conditions]


def test_plain_words_are_terms_and_text_and_nothing_else() -> None:
    query = understood("  How do\tKubernetes  pods talk? ")
    assert query == Query(
        written="  How do\tKubernetes  pods talk? ",
        text="How do Kubernetes pods talk?",
        terms=("kubernet", "pod", "talk"),
        code_terms=("how", "do", "kubernetes", "pods", "talk"),
    )


def test_a_phrase_is_a_condition_and_its_words_are_searched_for() -> None:
    query = understood('deploy "rolling updates" now')
    assert query.text == "deploy rolling updates now"
    assert query.terms == ("deploy", "roll", "updat")
    assert query.conditions == (
        Condition("phrase", ("roll", "updat"), written='"rolling updates"'),
    )


@pytest.mark.parametrize("quotes", ['""', "“”", "„“", "„”", "«»", "»«", "「」", "『』"])
def test_quotes_of_every_kind_make_a_phrase(quotes: str) -> None:
    written = f"{quotes[0]}rolling updates{quotes[1]}"
    assert understood(f"a {written} b").conditions == (
        Condition("phrase", ("roll", "updat"), written=written),
    )


@pytest.mark.parametrize(
    "text", ['say "hello', '5" and 7" pipes', "«open", "Home » Docs » Page", '"', '""', '"  "']
)
def test_a_quote_that_does_not_close_is_an_ordinary_character(text: str) -> None:
    assert understood(text).conditions == ()


def test_a_phrase_keeps_repeated_words() -> None:
    assert phrases('"knock knock joke"') == [("knock", "knock", "joke")]
    assert phrases('"tick-tick boom"') == [("tick-tick", "tick", "tick", "boom")]


def test_a_phrase_of_words_that_are_not_indexed_sets_no_condition() -> None:
    query = understood('"to be or not to be"')
    assert (query.conditions, query.text) == ((), "to be or not to be")


@pytest.mark.parametrize("content", [0.0, 0.3, 0.5, 1.0, 2.0, 2.5])
def test_a_phrase_is_whole_whatever_the_text_weighs(content: float) -> None:
    analyzer = TextAnalyzer(KeywordOptions(content=content))
    query = understand('"knock knock joke"', analyzer)
    assert query.conditions[0].values == ("knock", "knock", "joke")


def test_the_terms_of_a_phrase_follow_each_other_in_a_chunk_that_holds_it() -> None:
    text = "We moved to Node.js and getUserById (v1.2.3) with C++ at last."
    laid_down = [term for term, _ in _ANALYZER.chunk_terms(Fields(), (), text)]
    for phrase in ("Node.js and getUserById", "getUserById (v1.2.3) with C++", "moved to Node.js"):
        values = phrases(f'"{phrase}"')[0]
        places = range(len(laid_down))
        assert any(tuple(laid_down[at : at + len(values)]) == values for at in places)


def test_code_is_searched_for_as_it_is() -> None:
    query = understood("`kubectl get -name tag:x auth*` pods")
    assert (query.text, query.conditions) == ("kubectl get -name tag:x auth* pods", ())
    assert query.prefixes == ()


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("-draft", ("draft",)),
        ("-getUserById", ("getuserbyid", "user", "id")),
        ("-“old notes”", ("old", "note")),
        ('-"old notes"', ("old", "note")),
        ("-`old notes`", ("old", "note")),
        ("-.NET", (".net", "net")),
        ("-well-known", ("well-known", "well", "known")),
    ],
)
def test_a_minus_excludes(text: str, values: tuple[str, ...]) -> None:
    query = understood(f"kept {text}")
    assert (query.text, query.terms) == ("kept", ("kept",))
    assert query.conditions == (Condition("phrase", values, negated=True, written=text),)
    alone = understood(text)
    assert (alone.text, alone.terms, alone.notices) == ("", (), ())


def test_a_minus_excludes_short_words_of_scripts_that_have_no_flags() -> None:
    query = understood("部署 -集群")
    assert query.text == "部署"
    assert [(each.negated, each.written) for each in query.conditions] == [(True, "-集群")]


@pytest.mark.parametrize(
    "text",
    [
        "--no-verify",
        "-n",
        "-rf",
        "-la",
        "-x86",
        "foo-bar",
        "a->next",
        "->next",
        "- item",
        "-",
        "--",
        "(-draft)",
        "rock-n-roll",
        "-1.5",
    ],
)
def test_flags_and_dashes_exclude_nothing(text: str) -> None:
    query = understood(f"git {text}")
    assert (query.text, query.conditions) == (f"git {text}", ())


def test_an_exclusion_that_cannot_hold_is_reported() -> None:
    query = understood("notes -the -auth* -“not turning”")
    assert [condition.values for condition in query.conditions] == [("auth",), ("turn",)]
    assert [notice.split(" leaves ")[0] for notice in query.notices] == [
        "-the",
        "-auth*",
        "-“not turning”",
    ]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("title:intro", "title", "intro"),
        ('TITLE:"two words"', "title", "two words"),
        ("title:“two words”", "title", "two words"),
        ("tag:draft", "tag", "draft"),
        ("tag:#draft", "tag", "draft"),
        ("Tags:area/work,", "tag", "area/work"),
        ("path:docs/guides/", "path", "docs/guides/"),
        ("path:docs/*", "path", "docs/"),
        ("author:Ada", "author", "Ada"),
        ("category:howto", "category", "howto"),
        ("type:howto", "category", "howto"),
        ("lang:Python", "language", "Python"),
        ("language:c++", "language", "c++"),
        ("ext:.pdf", "source", "pdf"),
        ("source:md", "source", "md"),
        ('title:"open', "title", "open"),
    ],
)
def test_fields_set_conditions_and_are_not_searched_for(text: str, kind: str, value: str) -> None:
    for written in (text, f"-{text}"):
        query = understood(f"wind {written} power")
        assert query.text == "wind power"
        (condition,) = query.conditions
        assert (condition.kind, condition.values) == (kind, (value,))
        assert (condition.negated, condition.written) == (written != text, written)


@pytest.mark.parametrize(
    "text",
    [
        "std::vector",
        "http://x",
        "12:30",
        "tag:",
        "tag: draft",
        "tag:#",
        "(tag:draft)",
        "a,tag:draft",
        "title:",
    ],
)
def test_other_colons_are_part_of_words(text: str) -> None:
    query = understood(text)
    assert (query.text, query.conditions, query.notices) == (text, (), ())


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("after:2024", (2024, 1, 1)),
        ("before:2024-03", (2024, 3, 1)),
        ("After:2024-02-29", (2024, 2, 29)),
        ("before:1969-07-20", (1969, 7, 20)),
    ],
)
def test_dates_bound_the_documents(text: str, day: tuple[int, int, int]) -> None:
    (condition,) = understood(text).conditions
    assert condition.kind == text.split(":", maxsplit=1)[0].lower()
    assert condition.bound == datetime(*day, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "text", ["after:soon", "before:2024-13", "after:2023-02-29", "after:0000", "before:२०२४"]
)
def test_what_is_no_date_is_searched_for_and_reported(text: str) -> None:
    query = understood(text)
    assert (query.text, query.conditions) == (text, ())
    assert query.notices[0].startswith(f"{text} names no date")


def test_a_star_makes_a_prefix() -> None:
    query = understood("auth* (get_user*), x* * a*b **bold** --no-ver* auth*")
    assert query.prefixes == ("auth", "get_user", "no-ver")
    assert query.text == "auth (get_user x* a*b **bold** --no-ver auth"
    assert {"auth", "get_user", "bold"} <= set(query.terms)


def test_the_same_condition_twice_is_one() -> None:
    query = understood('tag:a Tag:a "rolling update" “rolling updates”')
    assert [condition.written for condition in query.conditions] == ["tag:a", '"rolling update"']


def test_pasted_pages_are_cut_and_that_is_reported() -> None:
    query = understood(" ".join(f"word{number}x" for number in range(2000)))
    assert len(query.terms) == len(query.code_terms) == MOST_TERMS
    assert query.notices == ("Only the first 512 of 2000 words were searched for.",)
    many = understood("x " + " ".join(f"tag:t{number}" for number in range(1000)))
    assert len(many.conditions) == 64
    assert many.notices == ("Only the first 64 of 1000 conditions were kept.",)


@pytest.mark.parametrize("text", ["", "   ", "?!", "* * *", "-", '""', "\x00"])
def test_a_query_without_words_is_reported(text: str) -> None:
    query = understood(text)
    assert (query.written, query.terms) == (text, ())
    assert query.notices == ("The query has no words to search for.",)


def test_common_words_alone_can_still_be_embedded() -> None:
    query = understood("who are you")
    assert (query.text, query.terms, query.notices) == ("who are you", (), ())


def test_characters_that_nothing_can_store_are_replaced() -> None:
    query = understood('nul\x00byte \ud800 tag:a\udfff "esc\x1baped word"')
    whole = " ".join([query.text, *query.terms, *query.code_terms])
    whole += "".join(part for each in query.conditions for part in (*each.values, each.written))
    assert whole.encode()
    assert all(character.isprintable() for character in whole)


@pytest.mark.parametrize("unit", ["„", '"', '"a ', "`a", "x", "*", "-", "tag:", "(", "1.", "aB"])
def test_ten_thousand_characters_of_anything_are_a_query(unit: str) -> None:
    understood(unit * (10_000 // len(unit)))


_SIGNS = st.sampled_from([*'"“”„«»「」`-:*# \n\x00', "tag:", "after:", "title:", " -", "auth*"])


@settings(deadline=None, max_examples=200, derandomize=True)
@given(st.lists(st.text(max_size=8) | _SIGNS | st.characters(categories=["Cs"])).map("".join))
def test_any_text_is_understood_the_same_way_twice(text: str) -> None:
    query = understood(text)
    assert query == understood(text)
    assert query.written == text
    assert len(set(query.terms)) == len(query.terms) <= MOST_TERMS
    assert all(each.values or each.kind in {"after", "before"} for each in query.conditions)
    query.text.encode()


@settings(deadline=None, max_examples=100, derandomize=True)
@given(st.lists(st.text(string.ascii_letters, min_size=1), min_size=1))
def test_words_without_signs_are_taken_as_they_are(words: list[str]) -> None:
    query = understood(" ".join(words))
    assert query.text == " ".join(words)
    assert list(query.terms) == _ANALYZER.query_terms(query.text)
    assert (query.conditions, query.prefixes, query.notices) == ((), (), ())


def test_quotes_in_a_sentence_demand_nothing() -> None:
    sentence = 'list the cron jobs of the user "apache web" every morning'
    assert understood(sentence).conditions == ()
    assert understood('cron jobs "apache web"').conditions != ()
    assert understood(f"{sentence} -draft").conditions[0].negated
    assert understood('why does my pod say "no space left"').conditions == ()
    assert understood('what is "rolling update"').conditions != ()


@pytest.mark.parametrize("quotes", ["“”", "„“", "«»", "「」"])
def test_typographic_quotes_demand_nothing_next_to_other_words(quotes: str) -> None:
    written = f"{quotes[0]}rolling updates{quotes[1]}"
    assert understood(f"deploy {written}").conditions == ()
    assert understood(f"deploy {written}").terms == ("deploy", "roll", "updat")
    assert understood(written).conditions != ()
