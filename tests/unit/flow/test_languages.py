"""Documents in other languages are found by other forms of their words."""

from __future__ import annotations

from pathlib import Path

import pytest

from dowse._model import Response
from dowse._project.engine import Engine
from dowse._search.request import SearchRequest
from dowse._text.languages import COMMON_WORDS
from vaults import open_engine

_PAGES = {
    "german": "Die Häuser und die Straßen sind auf den Karten eingezeichnet, aber nicht von Hand.",
    "french": "Les sauvegardes des serveurs sont créées par le service, mais elles ne sont pas là.",
    "spanish": "Las carpetas de los servidores se guardan en la nube, pero no en este lugar.",
    "portuguese": "As pastas dos servidores são guardadas na nuvem, mas não são para você.",
    "italian": "Le cartelle dei server sono salvate nella nuvola, ma non sono per questo utente.",
    "dutch": "De bestanden van de servers worden in de mappen bewaard, maar niet voor altijd.",
    "russian": "Папки серверов хранятся в облаке, но они не для того, чтобы их читать.",
    "english": "The backups of the servers are kept in the cloud, but they are not for everyone.",
}
_QUERIES = [
    ("german", "haus", "Häuser"),
    ("german", "eingezeichnete Karte", "Karten"),
    ("french", "sauvegarder", "sauvegardes"),
    ("spanish", "carpeta", "carpetas"),
    ("portuguese", "guardar pasta", "guardadas"),
    ("italian", "cartella", "cartelle"),
    ("dutch", "bestand", "bestanden"),
    ("russian", "папка", "Папки"),
    ("english", "backup", "backups"),
]


def _engine(folder: Path, languages: list[str]) -> Engine:
    (folder / "vault").mkdir(parents=True)
    for language in languages:
        text = f"# Page\n\n{_PAGES[language]}\n"
        (folder / "vault" / f"{language}.md").write_text(text, "utf-8")
    engine = open_engine(folder / "vault", folder / "index")
    engine.index()
    return engine


@pytest.fixture(scope="module")
def polyglot(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return _engine(tmp_path_factory.mktemp("polyglot"), list(_PAGES))


def _by_words(engine: Engine, query: str) -> Response:
    return engine.search(SearchRequest(query, changes={"search.mode": "keyword"}))


@pytest.mark.parametrize(("language", "query", "marked"), _QUERIES)
def test_another_form_of_a_word_finds_the_page_and_is_marked(
    polyglot: Engine, language: str, query: str, marked: str
) -> None:
    best = _by_words(polyglot, query).hits[0]
    assert best.document == f"{language}.md"
    assert f"**{marked}**" in best.snippet


@pytest.mark.parametrize(("language", "query", "marked"), _QUERIES)
def test_the_same_holds_where_all_pages_are_in_one_language(
    tmp_path: Path, language: str, query: str, marked: str
) -> None:
    best = _by_words(_engine(tmp_path, [language]), query).hits[0]
    assert f"**{marked}**" in best.snippet


def test_common_words_of_the_language_of_a_query_do_not_count(polyglot: Engine) -> None:
    said = _by_words(polyglot, "wo sind die Straßen auf den Karten").hits[0]
    assert said.document == "german.md"
    assert said.reason == _by_words(polyglot, "Straßen Karten").hits[0].reason


def test_a_phrase_is_found_as_it_is_written(polyglot: Engine) -> None:
    assert _by_words(polyglot, '"Häuser und die Straßen"').hits[0].document == "german.md"


def test_a_slip_is_corrected_in_another_language(polyglot: Engine) -> None:
    response = _by_words(polyglot, "sauvegrades")
    assert response.hits[0].document == "french.md"
    assert 'searched for "sauvegardes"' in " ".join(response.notices)


def test_an_answer_is_taken_from_a_page_in_the_language_of_the_question(polyglot: Engine) -> None:
    answer = polyglot.answer(SearchRequest("Wo sind die Häuser eingezeichnet?"))
    assert answer.answer is not None
    assert "Häuser" in answer.answer.text


def test_pages_in_other_languages_change_nothing_for_an_english_query(
    polyglot: Engine, tmp_path: Path
) -> None:
    alone = _by_words(_engine(tmp_path, ["english"]), "where are the backups of a server kept")
    among = _by_words(polyglot, "where are the backups of a server kept")
    assert alone.hits[0].document == among.hits[0].document == "english.md"
    assert alone.hits[0].snippet == among.hits[0].snippet


def test_every_language_has_its_common_words() -> None:
    assert COMMON_WORDS.keys() == _PAGES.keys()
    for words in COMMON_WORDS.values():
        assert len(words) >= 100
        assert all(word == word.lower() for word in words)
