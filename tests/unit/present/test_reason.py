"""Why a passage was found, in plain words."""

from __future__ import annotations

import pytest

from dowse._model import Query
from dowse._search.confidence import QueryWords
from dowse._search.query import understand
from dowse._text.analyzer import TextAnalyzer
from dowse._text.options import KeywordOptions

_TERMS = TextAnalyzer(KeywordOptions()).query_terms


def _query(text: str, *alternatives: tuple[str, ...]) -> Query:
    terms = dict.fromkeys([*_TERMS(text), *(term for group in alternatives for term in group)])
    return Query(text, text, tuple(terms), (), alternatives=alternatives)


def _reason(query: Query, *texts: str) -> str:
    return QueryWords(query, _TERMS).found_in(texts).reason(["semantic"])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Restore the database backup.", "all 3 words found"),
        ("The backups of a database.", "2 of 3 words found"),
        ("Databases.", "only 1 of 3 words found"),
        ("Bread and cheese.", "close in meaning, no word in common"),
    ],
)
def test_words_are_counted_as_people_count_them(text: str, reason: str) -> None:
    assert _reason(_query("how do I restore the database backup"), text) == reason


def test_few_words_read_as_a_sentence() -> None:
    assert _reason(_query("backup"), "Backups.") == "word found"
    assert _reason(_query("night backup"), "Backups", "at night") == "both words found"
    assert _reason(_query("the"), "the") == ""


def test_a_name_from_code_is_one_word() -> None:
    query = _query("get_station_by_id masts")
    assert _reason(query, "get_station_by_id") == "1 of 2 words found"
    assert _reason(query, "a station with an id") == "only parts of words found"


def test_a_name_from_code_is_the_same_word_in_every_style() -> None:
    assert _reason(_query("get_station_by_id"), "getStationById") == "word found"
    assert _reason(_query("getStationById"), "get_station_by_id") == "word found"


def test_only_what_vectors_ranked_is_close_in_meaning() -> None:
    found = QueryWords(_query("getUserById"), _TERMS).found_in
    assert found(["stations of a user"]).reason(["keyword"]) == "only parts of the word found"
    assert found(["stations of a user"]).reason(["semantic"]) == "only parts of the word found"
    assert found(["bread"]).reason(["graph"]) == "linked with a result, no word in common"
    assert found(["bread"]).reason(["code"]) == "no word in common"


def test_words_joined_by_or_are_one_word() -> None:
    query = understand("harbour (lantern OR gap)", TextAnalyzer(KeywordOptions()))
    assert _reason(query, "a lantern in the harbour") == "both words found"
    assert _reason(query, "mind the gap") == "1 of 2 words found"
    either = understand("lantern OR gap", TextAnalyzer(KeywordOptions()))
    assert _reason(either, "mind the gap") == "word found"


def test_one_of_several_spellings_is_enough() -> None:
    query = _query("database", ("backup", "backupset"))
    assert _reason(query, "the database of a backup") == "both words found"


def test_each_word_of_a_text_without_blanks_counts() -> None:
    words = QueryWords(_query("数据库备份"), _TERMS)
    total = words.found_in([]).total
    assert total > 1
    assert words.found_in(["数据库备份"]).complete
    assert 0 < words.found_in(["数据库"]).found < total


@pytest.mark.parametrize(
    ("query", "text", "without"),
    [
        ("export to Kindle", "Export a note as a PDF file.", ("Kindle",)),
        ("export to Kindle", "Kindles are a target of the export.", ()),
        ("Kindle, Kobo or Nook?", "A Kobo.", ("Kindle", "Nook")),
        ("what is the best way to use export", "A note.", ()),  # many have it; the rest asks
        ("数据库 Kindle", "export", ("Kindle",)),  # terms of a text without blanks are no words
        ("auth-server Kindle", "the server", ("Kindle", "auth-server")),
        ("a b3 c4 d5 e6 f7", "nothing", ("b3", "c4", "d5")),  # three are enough
    ],
)
def test_a_rare_word_that_a_result_lacks_is_named(
    query: str, text: str, without: tuple[str, ...]
) -> None:
    held = {"export": 300, "auth-server": 1, "server": 400}
    found = QueryWords(_query(query), _TERMS, held, 1000).found_in([text])
    assert found.without == without
    assert found.lacks_rarest == bool(without)
    if found.found and without:
        assert found.reason([]).endswith(", ".join(f'"{one}"' for one in without))


def test_only_the_rarest_word_of_a_query_lowers_the_label() -> None:
    words = QueryWords(_query("export Kindle lantern"), _TERMS, {"export": 9, "lantern": 2}, 1000)
    assert words.found_in(["export a lantern"]).lacks_rarest
    lacking = words.found_in(["export to a Kindle"])
    assert (lacking.without, lacking.lacks_rarest) == (("lantern",), False)


def test_a_passage_with_a_word_that_is_put_in_lacks_nothing() -> None:
    query = _query("export", ("kindl", "kobo"))
    words = QueryWords(query, _TERMS, {"export": 900}, 1000)
    assert not words.found_in(["export"]).without
