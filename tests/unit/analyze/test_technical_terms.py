"""Technical terms are found as written, wherever they stand, before they are found by a part."""

from __future__ import annotations

from itertools import product

import pytest

from documents import make_document
from dowse._model import Batch, Fields
from dowse._text.analyzer import TextAnalyzer
from dowse._text.options import KeywordOptions
from memory_store import MemoryStore
from rows import check_rows

_ANALYZER = TextAnalyzer(KeywordOptions())

# Each term with a text that holds only a part of it.
TERMS = {
    "C++": "the letter C and vitamin c",
    "C#": "the letter C and the key of c",
    "F#": "the letter F, or f",
    ".NET": "a net of wires",
    "Node.js": "a node and js files",
    "std::vector": "std and a vector",
    "--no-verify": "verify it, no matter what",
    "/etc/hosts": "hosts, etc.",
    "E0382": "error 0382",
    "v1.2.3": "version 1.2 of 3",
    "$PATH": "a path",
    "@types/node": "types of a node",
    "#include": "include it",
    "a->b": "from a to b",
    "foo()": "foo and bar",
    "x86_64": "x86 with 64 bits",
    "UTF-8": "utf in 8 bits",
    "2>&1": "2 is more than 1",
    "~/.bashrc": "the bashrc file",
    "*.md": "an md file",
    "getUserById": "get a user by its id",
    "parse_json_data": "parse json data",
}

SENTENCES = [
    "{}",
    "see {}.",
    "Is it {}?",
    "It is {}!",
    "({})",
    "[{}](x.html)",
    "“{}”, and more",
    '"{}"',
    "'{}'",
    "‘{}’",
    "`{}`: yes",
    "`{}`'s rules",
    "**{}**",
    "*{}*",
    "__{}__",
    "_{}_ is one",
    "~~{}~~",
    "use {}; then",
    "first, {}, last",
    "| {} | cell |",
    "- {}\n- other",
    "{}…",
    "使用{}编写",
    "「{}」を使う",
    "（{}）",
]


def found_in(text: str) -> set[str]:
    return {term for term, _ in _ANALYZER.chunk_terms(Fields(), (), text)}


def test_a_term_is_found_wherever_it_is() -> None:
    def check(row: tuple[str, str]) -> None:
        term, sentence = row
        as_written = _ANALYZER.query_terms(term)[0]
        assert as_written == term.casefold()
        assert as_written in found_in(sentence.format(term))
        assert as_written in _ANALYZER.query_terms(sentence.format(term))

    check_rows(product(TERMS, SENTENCES), check)


def test_a_possessive_is_no_part_of_it() -> None:
    def check(row: tuple[str, str]) -> None:
        term, ending = row
        assert found_in(f"{term}{ending} rules") == found_in(f"{term} rules")

    terms = ["C++", "C#", ".NET", "Node.js", "std::vector", "UTF-8", "v1.2.3"]
    check_rows(product(terms, ["'s", "’s", "'s.", "'S"]), check)


def test_a_part_of_it_is_not_the_term() -> None:
    def check(row: tuple[str, str]) -> None:
        term, part = row
        assert _ANALYZER.query_terms(term)[0] not in found_in(part)
        assert "c" not in _ANALYZER.query_terms(term)

    check_rows(TERMS.items(), check)


def test_what_has_it_as_written_ranks_above_what_has_a_part() -> None:
    def check(row: tuple[str, str]) -> None:
        term, part = row
        store = MemoryStore(_ANALYZER)
        written = f"what to know of {term}, in short"
        texts = {"part": part, "other": "nothing of it", "written": written}
        documents = [make_document(f"{name}.md", text) for name, text in texts.items()]
        with store.write() as writing:
            writing.start({})
            writing.apply(Batch(tuple(documents)))
        with store.read() as reading:
            ranked = reading.keyword.search("body", _ANALYZER.query_terms(term), 10)
            best = reading.catalogue.chunks([ranked[0][0]])[0]
        assert best.document.id == "written.md"

    check_rows(TERMS.items(), check)


def test_a_sign_in_front_or_behind_hides_nothing() -> None:
    def check(row: tuple[str, set[str]]) -> None:
        written, parts = row
        assert found_in(written) == parts

    rows: list[tuple[str, set[str]]] = [
        ("$HOME/bin", {"$home/bin", "home/bin", "home", "bin"}),
        ("@app.route", {"@app.route", "app.route", "app", "rout"}),
        ("os.path.join()", {"os.path.join()", "os.path.join", "os", "path", "join"}),
        ("getUser()", {"getuser()", "getus", "user"}),
        ("ptr->next", {"ptr->next", "ptr", "next"}),
        ("#123", {"#123", "123"}),
        ("**/*.md", {"*.md", ".md", "md"}),
        ("#!/bin/bash", {"#!/bin/bash", "bin", "bash"}),
        ("main()", {"main()", "main"}),
        ("v10.2", {"v10.2", "10.2", "10"}),
        ("vitamin2.1", {"vitamin2.1", "vitamin"}),
    ]
    check_rows(rows, check)


@pytest.mark.parametrize("text", ["a --> b", "<b>1</b>", "**bold**", "f(x)", "()", "-> *", "> &"])
def test_the_same_signs_elsewhere_are_no_terms(text: str) -> None:
    assert not any(sign in term for term in found_in(text) for sign in "<>*()&")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("getAuthToken", "get_auth_token"),
        ("HTTPResponseError", "http_response_error"),
        ("parseJsonData", "PARSE_JSON_DATA"),
        ("ParseJSONData", "parse_json_data"),
    ],
)
def test_camel_case_and_snake_case_are_one_name(one: str, other: str) -> None:
    whole = _ANALYZER.query_terms(one)[0]
    assert whole in found_in(f"call {other} first")
    assert whole in _ANALYZER.query_terms(other)
    assert set(_ANALYZER.query_terms(one)) <= found_in(other)
    code = {term for term, _ in _ANALYZER.code_terms(f"x = {other}(1)")}
    assert {term for term, _ in _ANALYZER.code_terms(one)} <= code


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("getUserById", ["getuserbyid", "get", "user", "by", "id"]),
        ("parse_json_data", ["parse_json_data", "parsejsondata", "parse", "json", "data"]),
        ("HTTPResponseError", ["httpresponseerror", "http", "response", "error"]),
        ("myVar123", ["myvar123", "my", "var", "123"]),
    ],
)
def test_identifiers_have_parts_in_text_as_in_code(name: str, parts: list[str]) -> None:
    plain = TextAnalyzer(KeywordOptions(stemming=False, stopwords=False))
    assert plain.query_terms(name) == parts
    assert [term for term, _ in plain.code_terms(name)] == parts
