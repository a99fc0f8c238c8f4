"""What the rules of another language add to the terms of a document and of a query."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from dowse._model import Fields
from dowse._text.analyzer import TextAnalyzer
from dowse._text.languages import COMMON_WORDS, MARKS, is_foreign, language_of
from dowse._text.options import KeywordOptions

_ANALYZER = TextAnalyzer(KeywordOptions())
_LANGUAGES = st.sampled_from(sorted(MARKS.values()))
_WORDS = st.sampled_from(sorted(frozenset[str]().union(*COMMON_WORDS.values())))
_TEXTS = st.lists(_WORDS | st.text(max_size=12), max_size=12).map(" ".join)


@settings(deadline=None, max_examples=200, derandomize=True)
@given(_TEXTS, _LANGUAGES)
def test_the_rules_of_a_language_add_terms_and_take_none_away(text: str, language: str) -> None:
    fields = Fields(title=text)
    own = _ANALYZER.chunk_terms(fields, (), text)
    more = _ANALYZER.chunk_terms(fields, (), text, language)
    assert {term for term, _ in own} <= {term for term, _ in more}
    assert (language.upper() in {term for term, _ in more}) == (language != "")


@settings(deadline=None, max_examples=200, derandomize=True)
@given(_TEXTS, _LANGUAGES)
def test_what_a_text_is_searched_for_is_among_its_terms(text: str, language: str) -> None:
    terms = {term for term, _ in _ANALYZER.chunk_terms(Fields(), (), text, language)}
    assert terms.issuperset(_ANALYZER.speaking([language]).query_terms(text))


@settings(deadline=None, max_examples=200, derandomize=True)
@given(_TEXTS)
def test_no_word_is_the_mark_of_a_language(text: str) -> None:
    assert MARKS.keys().isdisjoint(_ANALYZER.query_terms(f"{text} German FRENCH"))


@settings(deadline=None, max_examples=100, derandomize=True)
@given(st.lists(st.sampled_from(sorted(COMMON_WORDS["english"])), max_size=40).map(" ".join))
def test_common_words_of_english_are_no_other_language(text: str) -> None:
    assert _ANALYZER.language(text) == ""


def test_documents_are_stemmed_as_the_settings_say_where_these_name_a_language() -> None:
    german = " ".join(sorted(COMMON_WORDS["german"]))
    assert _ANALYZER.language(german) == language_of(german, 2) == "german"
    assert TextAnalyzer(KeywordOptions(language="german")).language(german) == ""
    assert TextAnalyzer(KeywordOptions(stemming=False)).language(german) == ""


def test_a_query_is_foreign_where_most_texts_are_in_another_language() -> None:
    french = ["Comment mettre à jour les objets dans l’état", "Où est la clé de cette base ?"]
    chinese = ["如何为 Pod 配置持久卷存储", "使用 kubectl apply 创建部署的步骤"]
    assert is_foreign("how do I update an object", french)
    assert not is_foreign("comment est-ce que je mets à jour un objet", french)
    assert not is_foreign("kubectl apply", french)
    assert is_foreign("persistent volumes", chinese)
    assert not is_foreign("持久卷", chinese)
    assert not is_foreign(
        "how do I update an object", ["Update the object in the state.", *french[:1]]
    )
    assert not is_foreign("anything", [])
