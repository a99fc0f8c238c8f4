"""Running text and queries become the same terms; technical terms stay as they are written."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse._model import Fields
from dowse._text.analyzer import TextAnalyzer
from dowse._text.options import KeywordOptions
from rows import check_rows

_PLAIN = TextAnalyzer(KeywordOptions(stemming=False, stopwords=False))
_ANALYZER = TextAnalyzer(KeywordOptions())


def terms_of(text: str, analyzer: TextAnalyzer = _ANALYZER) -> list[str]:
    """The terms of a chunk that has nothing but this text."""
    return [term for term, _ in analyzer.chunk_terms(Fields(), (), text)]


def test_technical_terms_survive_with_their_parts() -> None:
    def check(row: tuple[str, list[str]]) -> None:
        text, expected = row
        assert terms_of(text, _PLAIN) == expected

    rows: list[tuple[str, list[str]]] = [
        ("C++", ["c++"]),
        ("C#", ["c#"]),
        ("F#", ["f#"]),
        ("g++", ["g++"]),
        ("notepad++", ["notepad++", "notepad"]),
        (".NET", [".net", "net"]),
        ("Node.js", ["node.js", "node", "js"]),
        ("std::vector", ["std::vector", "std", "vector"]),
        ("--no-verify", ["--no-verify", "no", "verify"]),
        ("-v", ["-v"]),
        ("/etc/hosts", ["/etc/hosts", "etc", "hosts"]),
        ("~/.ssh/config", ["~/.ssh/config", "ssh", "config"]),
        ("E0382", ["e0382", "0382"]),
        ("v1.2.3", ["v1.2.3", "1.2.3"]),
        ("sha256", ["sha256"]),
        ("user@example.com", ["user@example.com", "user", "example", "com"]),
        ("C/C++", ["c/c++", "c++"]),
        ("C#/.NET", ["c#/.net", "c#", "net"]),
        ("well-known", ["well-known", "well", "known"]),
        ("don't", ["don't", "don"]),
        ("3.14", ["3.14", "14"]),
    ]
    check_rows(rows, check)


def test_punctuation_and_markup_fall_away() -> None:
    def check(row: tuple[str, list[str]]) -> None:
        text, expected = row
        assert terms_of(text, _PLAIN) == expected

    rows: list[tuple[str, list[str]]] = [
        ("word", ["word"]),
        ("Word, word; WORD", ["word", "word", "word"]),
        ("_emphasis_ __strong__ ~~gone~~", ["emphasis", "strong", "gone"]),
        ("## $$ @ #", []),
        ("user's James’s", ["user", "james"]),
        ("first—second", ["first", "second"]),
        ("...then", ["then"]),
        ("a b c", []),
        ("a=b key=value", ["key", "value"]),
        ("(see: this…)", ["see", "this"]),
        ("'quoted' ’quoted’", ["quoted", "quoted"]),
        ("end.", ["end"]),
        ("...", []),
        ("- - - *** ---", []),
        ("| cell | other |", ["cell", "other"]),
    ]
    check_rows(rows, check)


def test_words_are_stemmed_and_common_ones_left_out() -> None:
    assert terms_of("the stations of all networks are running") == ["station", "network", "run"]
    assert terms_of("running", _PLAIN) == ["running"]
    assert terms_of("the of", TextAnalyzer(KeywordOptions(stopwords=False))) == ["the", "of"]


def test_the_stemmer_speaks_the_language_that_is_set() -> None:
    german = TextAnalyzer(KeywordOptions(language="german"))
    assert german.query_terms("Häuser") == german.query_terms("Haus")


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("iPhone", "iphone"),
        ("DevOps", "devops"),
        ("YouTube", "youtube"),
        ("GitHub", "github"),
        ("RÉSUMÉS", "résumés"),
        ("GRÖSSE", "größe"),
        ("HTTP", "http"),
        ("naïve", unicodedata.normalize("NFD", "naïve")),
        ("Straße", "STRASSE"),
    ],
)
def test_spelling_in_large_or_small_letters_makes_no_difference(written: str, asked: str) -> None:
    assert set(_ANALYZER.query_terms(asked)) <= set(terms_of(written))
    assert _ANALYZER.query_terms(written)[0] == _ANALYZER.query_terms(asked)[0]


def test_no_term_is_long() -> None:
    for text in ("x" * 10_000, "ab/" * 5_000, "é" * 500 + "1", "a_b" * 4_000, "1" * 300):
        assert all(len(term) <= 256 for term in terms_of(text))


def test_a_word_that_is_too_long_is_found_by_its_parts() -> None:
    path = "/" + "/".join(f"folder{number}" for number in range(20))
    assert "folder" in terms_of(path, _PLAIN)


_ugly = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("aA1 _-./:+#*'’\n\té日あ한\u0301\u200d\0\ufeff\U0001f600"),
    ),
    max_size=60,
)


@settings(deadline=None, max_examples=200, derandomize=True)
@given(_ugly)
def test_any_text_is_found_by_itself(text: str) -> None:
    for analyzer in (_ANALYZER, _PLAIN):
        terms = analyzer.query_terms(text)
        assert len(terms) == len(set(terms))
        assert set(terms) <= set(terms_of(text, analyzer))
        assert all(terms)


@settings(deadline=None, max_examples=100, derandomize=True)
@given(_ugly)
def test_terms_do_not_depend_on_what_was_seen_before(text: str) -> None:
    assert terms_of(text, TextAnalyzer(KeywordOptions())) == terms_of(text)


@settings(deadline=None, max_examples=100, derandomize=True)
@given(_ugly)
def test_normal_forms_make_no_difference(text: str) -> None:
    assert terms_of(unicodedata.normalize("NFD", text)) == terms_of(
        unicodedata.normalize("NFC", text)
    )
