"""`dowse related` and `dowse graph`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from command_line import Dowse


@pytest.mark.usefixtures("notes")
def test_what_belongs_to_a_document(dowse: Dowse) -> None:
    out = dowse("related", "stations").out
    groups = {part.split("\n")[0]: part for part in out.split("\n\n")}
    assert "guides/restore.md  Restore a backup" in groups["Links to"]
    assert "journal/day.txt" in groups["Links to"]
    assert "guides/copy.md  A copy" in groups["Linked from"]
    assert re.search(r"\n  -?\d\.\d\d  \S+", groups["Similar"])
    assert groups["Unresolved links"].split("\n")[1] == "  nowhere at all"
    assert "Same community" in dowse("related", "copy").out


@pytest.mark.usefixtures("notes")
def test_related_as_json(dowse: Dowse, notes: Path) -> None:
    shape = dowse("related", "stations", "-n", "1", "--json").json
    assert shape["document"] == "reference/stations.md"
    for group in ("links_to", "linked_from", "community", "similar"):
        assert len(shape[group]) <= 1
    first = shape["links_to"][0]
    assert first["path"] == str(notes / first["document"])
    assert first["score"] is None
    assert isinstance(shape["similar"][0]["score"], float)
    assert shape["dangling"] == ["nowhere at all"]


@pytest.mark.usefixtures("notes")
def test_related_to_nothing(dowse: Dowse) -> None:
    assert dowse("related", "not-there").code == 2
    assert dowse("related", "stations", "-n", "0").code == 2


def test_a_document_on_its_own(home: Path, dowse: Dowse) -> None:
    (home / "one").mkdir()
    (home / "one/a.md").write_text("# Alone\n\nNothing else is here.\n", "utf-8")
    assert dowse("index", home / "one").code == 0
    assert "No other document is linked to it" in dowse("related", "a.md").err


@pytest.mark.usefixtures("notes")
def test_the_graph_as_json(dowse: Dowse) -> None:
    shape = dowse("graph").json
    assert shape == dowse("graph", "--json").json
    ids = [one["id"] for one in shape["documents"]]
    assert ids == sorted(ids)
    assert {one["community"] for one in shape["documents"] if one["id"] == "lonely.md"} == {None}
    dangling = [edge for edge in shape["edges"] if edge["target"] is None]
    assert [edge["written"] for edge in dangling] == ["nowhere at all"]
    edge = next(one for one in shape["edges"] if one["target"] == "journal/day.txt")
    assert (edge["source"], edge["kind"]) == ("reference/stations.md", "relative")
    assert edge["label"] == "the log"
    assert edge["line"] > 1


@pytest.mark.usefixtures("notes")
def test_the_graph_goes_into_a_file(home: Path, dowse: Dowse) -> None:
    result = dowse("graph", "-o", home / "graph.json")
    assert (result.code, result.out) == (0, "")
    assert "written to" in result.err
    assert json.loads((home / "graph.json").read_text("utf-8")) == dowse("graph").json


def test_a_document_is_never_written_over(notes: Path, home: Path, dowse: Dowse) -> None:
    before = (notes / "lonely.md").read_bytes()
    for target in (notes / "lonely.md", notes / "new.json", notes / "no" / "such.json"):
        refused = dowse("graph", "-o", target, "--force")
        assert refused.code == 2
        assert "never writes there" in " ".join(refused.err.split())
    assert (notes / "lonely.md").read_bytes() == before
    assert not (notes / "new.json").exists()
    assert dowse("graph", "-o", home / "no" / "such" / "folder.json").code == 2


@pytest.mark.usefixtures("notes")
def test_another_file_is_written_over_only_on_request(home: Path, dowse: Dowse) -> None:
    (home / "graph.json").write_text("precious", "utf-8")
    assert "--force" in dowse("graph", "-o", home / "graph.json").err
    assert (home / "graph.json").read_text("utf-8") == "precious"
    assert dowse("graph", "-o", home / "graph.json", "--force").code == 0
    assert json.loads((home / "graph.json").read_text("utf-8"))["documents"]
