"""`dowse project` and the choice of a project."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from command_line import Dowse
from dowse._interfaces.http.security import Access
from dowse._interfaces.http.server import application
from dowse._project.pool import EnginePool
from dowse._project.workspace import Workspace


def test_the_life_of_a_project(vault: Path, dowse: Dowse) -> None:
    assert dowse("project", "add", vault, "--name", "notes").code == 0
    assert [one["name"] for one in dowse("project", "list", "--json").json["projects"]] == ["notes"]
    assert "notes  ~/vault" in dowse("project", "list").out
    assert dowse("project", "rename", "notes", "vault").code == 0
    assert dowse("project", "remove", "vault").code == 2
    assert dowse("project", "remove", "vault", "--yes").code == 0
    assert dowse("project", "list", "--json").json == {"projects": [], "broken": []}
    assert vault.is_dir()


@pytest.mark.usefixtures("indexed")
def test_the_project_may_be_named_before_and_after_the_command(dowse: Dowse) -> None:
    for line in (["-p", "vault", "ls"], ["ls", "-p", "vault"], ["--project=vault", "ls"]):
        assert len(dowse(*line).out.split()) == 5
    for line in (["-p", "nope", "ls"], ["ls", "-p", "nope"]):
        result = dowse(*line)
        assert result.code == 2
        assert "There is no project 'nope'." in result.err
        assert "vault" in result.err


def test_the_current_folder_chooses_the_project(
    indexed: Path, home: Path, dowse: Dowse, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = home / "other"
    other.mkdir()
    (other / "a.md").write_text("# A\n", "utf-8")
    assert dowse("index", other).code == 0
    monkeypatch.chdir(indexed / "guides")
    assert len(dowse("ls").out.split()) == 5
    monkeypatch.chdir(other)
    assert dowse("ls").out == "a.md\n"
    monkeypatch.chdir(home)
    listed = dowse("ls").out.splitlines()
    assert [one for one in listed if one.startswith("other: ")] == ["other: a.md"]
    assert len([one for one in listed if one.startswith("vault: ")]) == 5
    result = dowse("reset", "--yes")
    assert result.code == 2
    assert "Choose one with -p: other, vault." in result.err


def test_without_any_project_the_next_step_is_reported(dowse: Dowse) -> None:
    for line in (["ls"], ["search", "x"], ["status"], ["get", "a"], ["reset", "--yes"], ["watch"]):
        result = dowse(*line)
        assert result.code == 2
        assert "dowse index PATH" in result.err


@pytest.mark.usefixtures("indexed")
def test_a_broken_project_does_not_hide_the_others(home: Path, dowse: Dowse) -> None:
    folder = home / "own/data/projects/bad"
    folder.mkdir()
    (folder / "project.toml").write_text("[project\n", "utf-8")
    assert len(dowse("ls").out.split()) == 5
    listed = dowse("project", "list")
    assert "vault" in listed.out
    assert "dowse project remove bad" in listed.err
    assert dowse("doctor").code == 1
    assert dowse("project", "remove", "bad", "--yes").code == 0
    assert not folder.exists()


def test_trust_shows_what_is_asked_and_needs_consent(vault: Path, home: Path, dowse: Dowse) -> None:
    (home / "secret").mkdir()
    (home / "secret" / "s.md").write_text("# Secret\n", "utf-8")
    toml = vault / "dowse.toml"
    toml.write_text(
        '[project]\nname = "book"\nroots = [".", "../secret"]\n[embed]\nprovider = "local"\n',
        "utf-8",
    )
    result = dowse("index", vault)
    assert result.code == 0
    assert result.out.startswith("book: 5 added")
    assert result.err.count("dowse project trust") == 1
    assert str(home / "secret") in result.err
    asked = dowse("project", "trust", vault)
    assert asked.code == 2
    assert f"read {home / 'secret'}" in asked.err
    assert "set embed.provider = 'local'" in asked.err
    assert dowse("project", "trust", vault, "--yes", "--json").json["trusted"] is True
    assert dowse("index", "-p", "book", "--json").json["added"] == 1
    toml.write_text(toml.read_text("utf-8") + "# changed\n", "utf-8")
    again = dowse("index", "-p", "book", "--json")
    assert again.json["removed"] == 1
    assert "dowse project trust" in again.err


def test_trust_can_be_taken_back(vault: Path, dowse: Dowse) -> None:
    (vault / "dowse.toml").write_text('[embed]\nmodel = "/elsewhere"\n', "utf-8")
    assert dowse("project", "trust", vault, "--yes").code == 0
    assert dowse("project", "trust", vault, "--revoke", "--json").json["trusted"] is False
    assert "dowse project trust" in dowse("index", vault).err


def test_a_name_may_have_spaces(vault: Path, dowse: Dowse, workspace: Workspace) -> None:
    assert dowse("project", "add", vault, "--name", "My notes").code == 0
    assert "dowse index -p 'My notes'" in dowse("search", "restore", "-p", "My notes").err
    assert dowse("index", "-p", "My notes").code == 0
    hits = dowse("search", "restore", "-p", "My notes", "--json").json["hits"]
    assert {hit["project"] for hit in hits} == {"My notes"}
    service = EnginePool(workspace, only="My notes")
    with TestClient(
        application(service, Access(), watch=False), base_url="http://127.0.0.1:7333"
    ) as client:
        told = client.get("/api/v1/search", params={"query": "restore", "project": "My notes"})
        assert told.json()["hits"] == hits
        assert client.get("/api/v1/projects").json()["current"] == "My notes"


def test_trust_without_a_file(dowse: Dowse) -> None:
    assert dowse("project", "trust").code == 2


def test_a_moved_folder_is_recognised_and_keeps_its_index(
    indexed: Path, home: Path, dowse: Dowse
) -> None:
    moved = home / "moved"
    indexed.rename(moved)
    assert "is not here. If it has moved: dowse project move vault" in dowse("status").out
    told = dowse("index", moved)
    assert told.code == 2
    assert "the files of the project vault are in" in told.err
    assert "dowse project move vault" in told.err
    assert [one["name"] for one in dowse("project", "list", "--json").json["projects"]] == ["vault"]

    assert dowse("project", "move", "vault", home / "nowhere").code == 2
    assert dowse("project", "move", "vault", moved).code == 0
    told = dowse("index", "-p", "vault", "--json").json
    assert (told["unchanged"], told["added"], told["embedded"]) == (5, 0, 0)
    assert told["roots"] == [str(moved)]


def test_of_several_folders_the_one_that_is_gone_has_moved(
    vault: Path, home: Path, dowse: Dowse
) -> None:
    first, second = home / "first", home / "second"
    for folder in (first, second):
        folder.mkdir()
    assert dowse("project", "add", first, second, "--name", "both").code == 0
    told = dowse("project", "move", "both", vault)
    assert told.code == 2
    assert "not clear which of the 2 folders" in told.err
    second.rmdir()
    assert dowse("project", "move", "both", vault, "--json").json["roots"] == [
        str(first),
        str(vault),
    ]


def test_another_folder_makes_a_project_of_its_own(indexed: Path, home: Path, dowse: Dowse) -> None:
    indexed.rename(home / "away")
    other = home / "other"
    other.mkdir()
    (other / "a.md").write_text("# A\n", "utf-8")
    assert dowse("index", other).code == 0


def test_an_empty_folder_makes_no_project(home: Path, dowse: Dowse) -> None:
    (home / "empty").mkdir()
    told = dowse("index", home / "empty")
    assert told.code == 2
    assert "no document in" in told.err
    assert ".markdown, .md, .mdx" in told.err
    assert dowse("project", "list", "--json").json["projects"] == []
