"""Answers over a whole search: the documents' own sentences, or those of a model that may fail."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from dowse._project.engine import Engine
from dowse._search.request import SearchRequest
from dowse.errors import EndpointFailed
from vaults import index_notes

_NOTES = {
    "pump.md": "# Pump\n\nThe pump runs at night. It stops before the morning shift begins.\n",
    "bread.md": "# Bread\n\nFlour, water and salt are all it takes.\n",
}


class Model:
    """Writes what it is told to, or fails."""

    name = "small-model"

    def __init__(self, text: str = "") -> None:
        self._text = text
        self.read: list[str] = []

    def write(self, instructions: str, material: str) -> str:
        self.read.append(f"{instructions}\n{material}")
        if not self._text:
            raise EndpointFailed("The endpoint does not answer.", "Start it.")
        return self._text


def with_writer(engine: Engine, model: Model) -> Engine:
    return Engine(engine.project, engine.settings, replace(engine.parts, writer=model))


def test_the_documents_own_sentences_with_their_source(tmp_path: Path) -> None:
    response = index_notes(tmp_path, _NOTES).answer(SearchRequest("when does the pump run"))
    assert response.answer is not None
    assert "runs at night" in response.answer.text
    assert response.hits[response.answer.sources[0] - 1].document == "pump.md"
    assert response.answer.written_by == ""


def test_a_model_writes_from_the_results_and_its_citations_are_checked(tmp_path: Path) -> None:
    model = Model("At night [1], never on Mondays [99].")
    response = with_writer(index_notes(tmp_path, _NOTES), model).answer(
        SearchRequest("when does the pump run")
    )
    assert response.answer is not None
    assert response.answer.written_by == "small-model"
    assert response.answer.sources == (1,)
    assert "[99]" not in response.answer.text
    assert "runs at night" in model.read[0]


def test_a_model_that_fails_leaves_the_documents_own_sentences_and_says_so(tmp_path: Path) -> None:
    response = with_writer(index_notes(tmp_path, _NOTES), Model()).answer(
        SearchRequest("when does the pump run")
    )
    assert response.answer is not None
    assert response.answer.written_by == ""
    assert any("The endpoint does not answer" in notice for notice in response.notices)


def test_nothing_found_is_no_answer(tmp_path: Path) -> None:
    model = Model("Anything.")
    engine = with_writer(index_notes(tmp_path, _NOTES), model)
    assert engine.answer(SearchRequest("zzzz", changes={"search.mode": "keyword"})).answer is None
    assert model.read == []


def test_there_is_no_answer_unless_the_first_result_has_what_was_asked_for(tmp_path: Path) -> None:
    notes = _NOTES | {"bot.md": "# Bot\n\nThe Discord bot reports pumps that fail.\n"}
    response = index_notes(tmp_path, notes).answer(SearchRequest("is there a Slack bot for pumps"))
    assert response.hits
    assert response.answer is None


def test_sentences_are_compared_with_the_part_of_the_query_that_asks(tmp_path: Path) -> None:
    told = "The harbour office was flooded last winter"
    text = f"{told} by heavy rain and snow.\n\nPumps are tested often, once in every month."
    engine = index_notes(tmp_path, {"pump.md": f"# Pump\n\n{text}\n"})
    query = f"{told}. How often are the pumps tested?"
    response = engine.answer(SearchRequest(query, changes={"fuse.keyword": 0.01}))
    assert response.answer is not None
    assert response.answer.sentences[0].text == "Pumps are tested often, once in every month."
