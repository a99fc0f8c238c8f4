"""`dowse tune` and `dowse eval --self`: what one's own documents say about a model and settings."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from rich.cells import cell_len

from command_line import Dowse
from dowse._model import Model
from dowse._project.workspace import Given
from dowse._search.fit import LEAST
from dowse.testing import HashEmbedder

_COUNT = 40


def _note(number: int) -> str:
    words = " ".join(f"filler{(number * 7 + place) % 90}" for place in range(60))
    return f"# Note {number}\n\nThe osprey{number} watches the harbour{number}. {words}\n"


@pytest.fixture
def marked(
    home: Path,
    by_meaning: None,  # noqa: ARG001  it comes first
    index_once: Callable[[Path], Path],
    dowse: Dowse,
) -> Path:
    """Notes that a page of links names by words which stand in each of them."""
    folder = home / "marked"
    folder.mkdir()
    links = [f"- [osprey{n} harbour{n}](note-{n}.md)" for n in range(_COUNT)]
    (folder / "index.md").write_text("# Index\n\n" + "\n".join(links) + "\n", "utf-8")
    for number in range(_COUNT):
        (folder / f"note-{number}.md").write_text(_note(number), "utf-8")
    index_once(folder)
    # The vectors of the test are made of letters, and words find every note.
    assert dowse("config", "set", "-p", "marked", "fuse.semantic", "1").code == 0
    return folder


def test_documents_without_anything_to_draw_from_are_reported(dowse: Dowse, home: Path) -> None:
    (home / "bare").mkdir()
    (home / "bare" / "a.md").write_text("Only text.\n", "utf-8")
    assert dowse("index", home / "bare").code == 0
    for line in (["--self"], ["--self", "--compare", "default", "seed-a"]):
        result = dowse("eval", *line, "-p", "bare")
        assert (result.code, result.out) == (2, "")
        assert "No queries can be drawn from the documents of bare." in result.err


@pytest.mark.usefixtures("marked")
def test_own_documents_are_measured_by_kind(dowse: Dowse) -> None:
    result = dowse("eval", "--self", "-p", "marked")
    assert result.code == 0, result.err
    assert f"marked: {_COUNT} queries with judgments, {_COUNT + 1} documents" in result.out
    assert max(cell_len(line) for line in result.out.split("\n")) <= 80
    (run,) = dowse("eval", "--self", "-p", "marked", "--json").json["runs"]
    assert (run["queries"], [one["type"] for one in run["types"]]) == (_COUNT, ["link"])
    # The page of links says every query, and yet is never the answer.
    assert run["measures"]["hit_1"] == 1.0


@pytest.mark.usefixtures("marked")
def test_own_documents_can_be_compared_and_other_settings_tried(dowse: Dowse) -> None:
    compared = dowse(
        "eval", "--self", "-p", "marked", "--compare", "default", "fuse.keyword=0", "--json"
    )
    assert compared.code == 0, compared.err
    assert compared.json["comparison"]["ndcg_10"]["difference"] < 0
    line = ["eval", "--self", "-p", "marked", "--set", "keyword.title=1"]
    assert dowse(*line, "--set", "chunk.overlap=0").code == 0
    assert dowse("search", "osprey3", "-p", "marked").code == 0


@pytest.mark.usefixtures("marked")
@pytest.mark.parametrize("line", [[], ["--self", "set"], ["--self", "--queries", "5"]])
def test_what_is_measured_must_be_clear(dowse: Dowse, line: list[str]) -> None:
    assert dowse("eval", "-p", "marked", *line).code == 2


_THINGS = ("anchor", "bridge", "candle", "drum", "engine")
_DEEDS = ("clean", "paint", "repair", "store", "weigh")


@pytest.fixture
def workshop(home: Path, by_meaning: None, dowse: Dowse) -> Path:  # noqa: ARG001  they come first
    """Notes whose headings are questions to the text below them, with a model nobody has judged."""
    folder = home / "workshop"
    folder.mkdir()
    for thing, deed in product(_THINGS, _DEEDS):
        text = f"To {deed} it, take the {thing} with both hands and {deed} the {thing} slowly."
        (folder / f"{deed}-{thing}.md").write_text(f"# About\n\n## {deed} one {thing}\n\n{text}\n")
    assert dowse("index", folder).code == 0
    return folder


@pytest.mark.usefixtures("workshop")
def test_the_confidence_is_fitted_for_another_model(dowse: Dowse, home: Path) -> None:
    file = home / "own/data/projects/workshop/confidence.json"
    first_run = file.read_text("utf-8")
    file.unlink()
    unknown = dowse("search", "qwertz asdfgh", "-p", "workshop", "--json").json
    assert not unknown["no_good_match"]
    said = dowse("tune", "-p", "workshop")
    assert said.code == 0, said.err
    assert said.out.startswith("Fitted for hash/64: its cosines count as ")
    assert file.read_text("utf-8") == first_run
    fit = dowse("tune", "-p", "workshop", "--json").json
    assert fit == json.loads(first_run)
    known = dowse("search", "qwertz asdfgh", "-p", "workshop", "--json").json
    assert known["no_good_match"]
    found = dowse("search", "how do I repair the bridge", "-p", "workshop", "--json").json
    assert (found["no_good_match"], found["hits"][0]["match"]) == (False, "strong")


def test_the_default_model_needs_no_fit(dowse: Dowse, workshop: Path) -> None:
    class Default(HashEmbedder):
        @property
        def model(self) -> Model:
            return Model("dowse-docs-2/test/64", 64, 100_000)

    given = Given(Default())
    assert dowse("index", workshop, "-p", "default", given=given).code == 0
    said = dowse("tune", "-p", "default", given=given)
    assert said.code == 0, said.err
    assert "dowse-docs-2 needs no fit" in said.out
    assert not (workshop.parent / "own/data/projects/default/confidence.json").exists()


@pytest.mark.usefixtures("indexed")
def test_what_the_confidence_cannot_be_fitted_on_is_reported(dowse: Dowse) -> None:
    refused = dowse("tune", "-p", "vault")
    assert (refused.code, refused.out) == (2, "")
    assert f"at least {LEAST} documents" in refused.err
