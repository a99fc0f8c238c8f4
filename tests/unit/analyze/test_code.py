"""Identifiers are found as written and by their parts, in whatever style either is written."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse._text.analyzer import TextAnalyzer, split_identifier
from dowse._text.options import KeywordOptions
from rows import check_rows

_ANALYZER = TextAnalyzer(KeywordOptions())


def terms_of(code: str) -> list[str]:
    return [term for term, _ in _ANALYZER.code_terms(code)]


def test_an_identifier_has_words_inside() -> None:
    def check(row: tuple[str, list[str]]) -> None:
        name, parts = row
        assert split_identifier(name) == parts

    rows: list[tuple[str, list[str]]] = [
        ("getUserById", ["get", "user", "by", "id"]),
        ("parse_json_data", ["parse", "json", "data"]),
        ("HTTPResponseError", ["http", "response", "error"]),
        ("myVar123", ["my", "var", "123"]),
        ("HTTPResponse_v2", ["http", "response", "v", "2"]),
        ("SCREAMING_CASE", ["screaming", "case"]),
        ("kebab-case", ["kebab", "case"]),
        ("XMLHttpRequest", ["xml", "http", "request"]),
        ("iOS", ["i", "os"]),
        ("utf8Decoder", ["utf", "8", "decoder"]),
        ("__init__", ["init"]),
        ("A", ["a"]),
        ("", []),
        ("___", []),
        ("größeÄndern", ["grösse", "ändern"]),
        ("МояФункция", ["моя", "функция"]),
        ("变量Name", ["变量", "name"]),
        ("ǅungla", ["ǆungla"]),
    ]
    check_rows(rows, check)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("getUserById(42)", ["getuserbyid", "get", "user", "by", "id", "42"]),
        ("x = 1", ["x", "1"]),
        ("std::vector<int> v;", ["std::vector", "std", "vector", "int", "v"]),
        ("a.b->c", ["a.b->c", "a", "b", "c"]),
        ("C++ C# i++", ["c++", "c#", "i++"]),
        ("#include <stdio.h>", ["include", "stdio.h", "stdio", "h"]),
        ("print", ["print"]),
        ("", []),
        ("{}();", []),
    ],
)
def test_code_becomes_identifiers_and_their_parts(code: str, expected: list[str]) -> None:
    assert terms_of(code) == expected


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ("getUserById", "get_user_by_id"),
        ("get_user_by_id", "getUserById"),
        ("HTTPResponseError", "http_response_error"),
        ("parseJsonData", "PARSE_JSON_DATA"),
    ],
)
def test_one_style_finds_another(asked: str, written: str) -> None:
    assert set(split_identifier(asked)) <= set(terms_of(written))


def test_code_is_never_stemmed_and_loses_no_short_or_common_word() -> None:
    assert terms_of("for i in running") == ["for", "i", "in", "running"]


def test_positions_count_up() -> None:
    positions = [position for _, position in _ANALYZER.code_terms("getUser(a.b, c)")]
    assert positions == list(range(len(positions)))


def test_no_term_is_long() -> None:
    blob = "QUJD" * 50_000
    assert all(len(term) <= 64 for term in terms_of(f'data = "{blob}"; x{"y" * 1000} = 1'))
    assert "data" in terms_of(f'data = "{blob}"')


@settings(deadline=None, max_examples=200, derandomize=True)
@given(st.text(max_size=60))
def test_any_code_is_found_by_itself(code: str) -> None:
    terms = terms_of(code)
    assert all(terms)
    assert terms == terms_of(code)


@settings(deadline=None, max_examples=200, derandomize=True)
@given(st.from_regex(r"\A\w{1,30}\Z"))
def test_the_parts_of_an_identifier_put_together_give_it_back(name: str) -> None:
    letters = "".join(character for character in name if character.isalnum())
    assert "".join(split_identifier(name)) == letters.casefold()
