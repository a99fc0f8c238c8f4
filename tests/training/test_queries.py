from random import Random

import pytest
from training.corpus import Chunk, Query
from training.queries import heading_queries, more_queries, sentence_queries
from training.questions import question_from
from training.rephrase import SYNONYMS, as_question, continuous, plural, with_slip, with_synonyms

FILLER = "The page has more to say about this, so that the passage is long enough to be found. " * 4


def test_a_heading_is_said_in_other_words() -> None:
    said = {with_synonyms("Rotate the API keys", Random(n), share=1.0) for n in range(60)}
    assert "replace the API tokens" in said
    assert all(one != "Rotate the API keys" for one in said)


def test_synonyms_are_mutual_where_both_are_single_words() -> None:
    for word, others in SYNONYMS.items():
        assert all(word in SYNONYMS[other] for other in others if " " not in other)


@pytest.mark.parametrize(
    ("verb", "form"),
    [("rotate", "rotating"), ("set up", "setting up"), ("run", "running"), ("fix", "fixing")],
)
def test_verbs_have_a_continuous_form(verb: str, form: str) -> None:
    assert continuous(verb) == form


def test_nouns_have_a_plural() -> None:
    assert [plural(one) for one in ("key", "query", "branch")] == ["keys", "queries", "branches"]


def test_a_heading_with_a_verb_becomes_a_question_about_doing_it() -> None:
    assert as_question("Rotating API keys", Random(0)).endswith("rotate API keys")
    assert "Rate limits" in as_question("Rate limits", Random(0))


@pytest.mark.parametrize(
    ("sentence", "questions"),
    [
        (
            "To rotate your keys, open the console.",
            {"how do i rotate my keys", "how to rotate my keys"},
        ),
        ("If the disk is full, delete old logs.", {"what happens if the disk is full"}),
        ("A runner is a machine that executes jobs.", {"what is a runner", "explain a runner"}),
        ("You must sign the form before you travel.", {"do i need to sign the form"}),
        ("Use the audit log to find who changed it.", {"how to find who changed it"}),
    ],
)
def test_a_sentence_becomes_a_question(sentence: str, questions: set[str]) -> None:
    assert questions <= {question_from(sentence, Random(n)) for n in range(80)}


def test_a_sentence_that_fits_no_rule_becomes_no_question() -> None:
    assert question_from("Nothing here.", Random(0)) == ""


def test_a_slip_keeps_the_letters() -> None:
    slipped = with_slip("rotate the credentials", Random(1))
    assert slipped != "rotate the credentials"
    assert sorted(slipped) == sorted("rotate the credentials")


def test_a_question_made_of_a_sentence_says_where_the_sentence_is() -> None:
    sentence = "To rotate your keys, open the console."
    chunk = Chunk("a", 0, "Keys", ["Keys"], f"# Keys\n\n{sentence} {FILLER}")
    (query,) = sentence_queries([chunk], seed=1)
    assert query.kind == "asked"
    assert query.cut is not None
    assert chunk.text[slice(*query.cut)] == sentence


def test_only_headings_that_a_source_has_once_are_queries() -> None:
    chunks = [Chunk("a", n, "", [], f"## See the notes\n\n## Part number {n}\n") for n in range(2)]
    assert [one.key for one in heading_queries(chunks, seed=0)] == [
        "part number 0",
        "part number 1",
    ]


def test_no_query_is_made_of_sources_that_are_not_trained_on() -> None:
    chunks = [Chunk(source, n, "", [], f"To fix the broken disk, call the office. {FILLER}")
              for n, source in enumerate(("laravel+docs", "qed", "docker+docs"))]  # fmt: skip
    queries = [
        Query("title", "Rotate the keys", one.source, n, n + 1) for n, one in enumerate(chunks)
    ] * 9
    made = more_queries(chunks, queries, seed=0)
    assert {one.source for one in made} == {"docker+docs"}
    assert {one.kind for one in made} == {"rephrased", "asked"}
