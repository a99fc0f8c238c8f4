"""Files of other kinds, where a user meets them: pages of a PDF, old encodings, missing extras."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from command_line import Dowse
from dowse import Dowse as Opened
from dowse._interfaces.http.security import Access
from dowse._interfaces.http.server import application
from dowse._project.pool import EnginePool
from dowse._project.workspace import Workspace

_PAGES = {
    2: "The mast is oiled.",
    12: "The anemometer turns.",
    13: "The gauge is dry.",
    14: "The anemometer rests.",
}


def _page(number: int, text: str) -> str:
    rest = " ".join(f"word{number}x{place}" for place in range(80))
    return f"## Page {number}\n\n{text} {rest}"


@pytest.fixture
def papers(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a PDF; the converter is replaced by one that needs no process."""

    def convert(data: bytes, kind: str, _: float) -> str:
        if kind != "pdf":
            return data.decode("utf-8")
        return "\n\n".join(_page(number, text) for number, text in _PAGES.items())

    # The package has a function of the same name.
    monkeypatch.setattr(import_module("dowse._index.source.load"), "convert", convert)
    folder = home / "papers"
    folder.mkdir()
    (folder / "manual.pdf").write_bytes(b"%PDF")
    return folder


def test_a_hit_in_a_pdf_names_its_page_at_every_door(
    papers: Path, dowse: Dowse, workspace: Workspace
) -> None:
    assert dowse("index", papers).code == 0
    shown = dowse("search", "anemometer").out
    assert "manual.pdf p. 12  " in shown
    assert "manual.pdf p. 12`" in dowse("search", "anemometer", "--format", "md").out
    hit = dowse("search", "anemometer", "--json").json["hits"][0]
    assert (hit["page"], hit["place"]) == (12, "manual.pdf p. 12")
    assert "turns" in dowse("get", "manual.pdf p. 12").out
    assert "rests" not in dowse("get", "manual.pdf p. 12").out
    with Opened("papers") as notes:
        assert "manual.pdf p. 12" in repr(notes.search("anemometer"))
    service = EnginePool(workspace, papers)
    with TestClient(
        application(service, Access(), watch=False), base_url="http://127.0.0.1:7333"
    ) as client:
        found = client.get("/api/v1/search", params={"query": "anemometer"}).json()
        assert found["hits"][0]["place"] == "manual.pdf p. 12"


def test_files_in_old_encodings_are_read_with_a_note(papers: Path, dowse: Dowse) -> None:
    (papers / "note.md").write_bytes("# Größe\n\nDie Größe der Masten.\n".encode("latin-1"))
    (papers / "list.csv").write_bytes("Größe;“alt”\n5;Föhn\n".encode("cp1252"))
    indexed = dowse("index", papers)
    assert indexed.code == 0
    for name in ("note.md", "list.csv"):
        assert f"{name}: It is not UTF-8 and was read as Windows-1252" in indexed.out
    assert "note.md" in dowse("search", "Größe Masten").out
    assert "list.csv" in dowse("search", "Föhn").out


def test_files_that_need_an_extra_are_one_line_per_kind_and_no_failure(
    papers: Path, dowse: Dowse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dowse._index.source.walk.is_installed", lambda: False)
    (papers / "note.md").write_text("# Note\n\nText.\n", "utf-8")
    for number in range(30):
        (papers / f"{number}.docx").write_bytes(b"PK")
    indexed = dowse("index", papers)
    assert indexed.code == 0
    told = [line for line in indexed.out.splitlines() if "left out" in line]
    assert [line.partition(":")[0] for line in told] == [
        "30 .docx files left out",
        "1 .pdf file left out",
    ]
    assert indexed.out.count("pip install 'dowse-search[formats]'") == 2
    again = dowse("index", papers, "--json").json
    assert (again["complete"], len(again["left_out"])) == (True, 31)
    (papers / "broken.md").write_bytes(b"\x00\x01")
    assert dowse("index", papers).code == 3
