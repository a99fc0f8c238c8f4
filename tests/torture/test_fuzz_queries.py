"""Every text is a query: it is understood without an error, and searching with it ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from document_work import ANALYZER
from dowse._search.query import FIELDS, MOST_TERMS, lex, understand
from dowse._search.request import SearchRequest
from dowse._search.understand import classify
from dowse.errors import DowseError
from fuzzing import Fuzzer, corpus
from vaults import index_notes

SEED = 10

PARTS = [
    '"', "'", "`", "“", "”", "„", "«", "»", "「", "」",
    "-", "--", "*", "**", ":", "::", " ", " ", " ",
    "\t", "\n", "\u3000", "word", "words", "restore",
    "gate*", "-not", "a", "of the", "漢字", "かな",
    "가나", "🎉", "\u0301", "\u202e", "\ufeff", "\x00",
    "\ud800", "C++", "a.b->c()", "[[x]]", "#tag",
    "2024-05", "2024-99-99", "(", ")", "[", "]", "{", "}", "<", ">", "\\", "/", "?", "!", ".", ",",
    ";", "%", "^", "~", "+", "=", "|", "&", "@", "$", "NOT",
    "AND", "OR", "x" * 300, "?" * 40, "-" * 40,
    *(f"{name}:" for name in FIELDS),
]  # fmt: skip


def check_query(text: str) -> None:
    pieces = lex(text)
    assert "".join("".join(piece.written.split()) for piece in pieces).strip() or not pieces
    query = understand(text, ANALYZER)
    assert query.written == text
    assert len(query.terms) <= MOST_TERMS
    assert len(query.code_terms) <= MOST_TERMS
    assert all(query.terms)
    assert classify(text) in {"factual", "navigational", "exploratory"}


@pytest.mark.takes(15)
def test_queries_at_random_are_understood(
    rounds: Callable[[int, int], int], tally: Callable[[str, object], None]
) -> None:
    fuzzer = Fuzzer(SEED, corpus("queries"), PARTS)
    tried = rounds(600, 15_000)
    for number in range(tried):
        text = fuzzer.text()
        try:
            check_query(text)
        except Exception as error:
            raise AssertionError(f"query {number} of seed {SEED}: {text!r}") from error

    tally("queries fuzzed", tried)


@pytest.mark.takes(9)
def test_searching_at_random_gives_hits_or_a_reason(
    tmp_path: Path, rounds: Callable[[int, int], int], tally: Callable[[str, object], None]
) -> None:
    engine = index_notes(tmp_path, {f"{n}.md": text for n, text in enumerate(corpus("documents"))})
    fuzzer = Fuzzer(SEED + 1, corpus("queries"), PARTS)
    tried = rounds(30, 1000)
    refused = 0
    for number in range(tried):
        text = fuzzer.text()
        try:
            response = engine.search(SearchRequest(text))
        except DowseError:
            refused += 1
        except Exception as error:
            raise AssertionError(f"search {number} of seed {SEED + 1}: {text!r}") from error
        else:
            assert all(hit.first_line <= hit.last_line for hit in response.hits)

    tally("searches fuzzed", tried)
    assert refused < tried
