"""`dowse export` and `dowse import`."""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path

import pytest

from command_line import Dowse
from dowse._embed.endpoint import EndpointEmbedder
from dowse._embed.options import EmbedOptions


@pytest.mark.usefixtures("notes")
def test_a_project_goes_out_and_comes_in(dowse: Dowse, home: Path) -> None:
    done = dowse("export", home / "x.dowse", "--json")
    assert done.code == 0
    shape = done.json
    assert (shape["project"], shape["documents"], shape["notices"]) == ("notes", 6, [])
    assert shape["bytes"] == (home / "x.dowse").stat().st_size
    assert shape["vectors"] == shape["chunks"] > 0
    done = dowse("import", home / "x.dowse", "-p", "theirs", "--json")
    assert done.code == 0
    assert done.json["project"]["name"] == "theirs"
    assert done.json["counts"]["embedded"] == shape["chunks"]
    before = dowse("search", "-p", "notes", "restore the database", "--json").json["hits"]
    after = dowse("search", "-p", "theirs", "restore the database", "--json").json["hits"]
    assert [(hit["id"], hit["score"]) for hit in before] == [
        (hit["id"], hit["score"]) for hit in after
    ]
    assert not any(hit["stale"] for hit in after)
    assert "changed since" not in dowse("search", "-p", "theirs", "restore the database").out
    status = dowse("status", "-p", "theirs").out
    assert "theirs: not on this machine, its text comes from an import" in " ".join(status.split())
    shape = dowse("status", "-p", "theirs", "--json").json
    assert shape["imported"] == shape["roots"]
    assert dowse("status", "-p", "notes", "--json").json["imported"] == []


def test_people_are_reported_in_a_line_each(dowse: Dowse, notes: Path, home: Path) -> None:
    done = dowse("export", home / "x.dowse")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("~/x.dowse: 6 documents, ")
    done = dowse("import", home / "x.dowse", "-p", "theirs", "--root", notes)
    assert (done.code, done.err) == (0, "")
    assert "dowse search -p theirs" in done.out
    shown = dowse("get", "-p", "theirs", "lonely.md:6:1")
    assert "lighthouse" in shown.out
    assert dowse("index", "-p", "theirs").code == 0
    assert all(len(line) <= 80 for line in dowse("import", "--help").out.splitlines())


@pytest.mark.usefixtures("notes")
def test_what_is_elsewhere_can_be_searched_read_and_listed(dowse: Dowse, home: Path) -> None:
    dowse("export", home / "x.dowse")
    dowse("import", home / "x.dowse", "-p", "theirs")
    for line in (
        ["search", "lighthouse"],
        ["search", "lighthouse", "--format", "files"],
        ["answer", "who links to the lighthouse?"],
        ["get", "lonely.md"],
        ["get", "lonely.md", "--json"],
        ["ls", "--json"],
        ["related", "lonely.md"],
        ["explain", "lighthouse", "--doc", "lonely.md"],
        ["status"],
    ):
        done = dowse(*line, "-p", "theirs")
        assert done.code == 0, (line, done)
    assert "theirs  its index is whole" in dowse("doctor", "-p", "theirs").out
    assert dowse("index", "-p", "theirs").code == 3
    assert dowse("index", "-p", "theirs", "--rebuild").code == 2
    assert dowse("search", "-p", "theirs", "lighthouse", "--fail-on-empty").code == 0


@pytest.mark.usefixtures("indexed")
def test_what_goes_wrong_has_its_exit_code_and_a_way_out(dowse: Dowse, home: Path) -> None:
    file = home / "x.dowse"
    assert dowse("import", file).code == 2
    assert dowse("export", file).code == 0
    again = dowse("export", file)
    assert again.code == 2
    assert "--force" in again.err
    assert dowse("export", file, "--force").code == 0
    taken = dowse("import", file)
    assert taken.code == 2
    assert "already" in taken.err
    file.write_bytes(file.read_bytes()[:-40])
    broken = dowse("import", file, "-p", "theirs", "--json")
    assert broken.code == 2
    assert "no export of dowse" in broken.out
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("manifest.json", '{"format": "dowse-export", "version": 99}')
    newer = dowse("import", file, "-p", "theirs")
    assert newer.code == 4
    assert "Update dowse" in newer.err
    assert [one["name"] for one in dowse("project", "list", "--json").json["projects"]] == ["vault"]


@pytest.mark.parametrize("line", [["export"], ["graph", "-o"]])
def test_no_command_writes_over_a_document(
    dowse: Dowse, notes: Path, home: Path, line: list[str]
) -> None:
    before = {path: path.read_bytes() for path in notes.rglob("*") if path.is_file()}
    (home / "link").symlink_to(notes / "lonely.md")
    for target in (notes / "lonely.md", notes / "new", home / "link"):
        refused = dowse(*line, target, "--force")
        assert refused.code == 2, refused
        assert "never writes there" in " ".join(refused.err.split()), refused
    (home / "there").write_text("precious", "utf-8")
    refused = dowse(*line, home / "there")
    assert refused.code == 2
    assert "--force" in refused.err
    assert (home / "there").read_text("utf-8") == "precious"
    assert {path: path.read_bytes() for path in notes.rglob("*") if path.is_file()} == before
    done = dowse(*line, home / "there", "--force")
    assert done.code == 0, done
    assert stat.S_IMODE((home / "there").stat().st_mode) == 0o600


@pytest.mark.usefixtures("notes")
def test_an_export_holds_no_secrets_of_an_endpoint(
    dowse: Dowse, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = "https://ada:hunter2@127.0.0.1:9/v1?key=s3cret"
    monkeypatch.setenv("DOWSE_EMBED_ENDPOINT_URL", address)
    monkeypatch.setenv("DOWSE_EMBED_API_KEY_ENV", "KEY")
    assert dowse("export", home / "x").code == 0
    with zipfile.ZipFile(home / "x") as file:
        whole = b"".join(file.read(name) for name in file.namelist())
    assert not [word for word in (b"hunter2", b"s3cret", b"127.0.0.1") if word in whole]


def test_the_key_of_an_endpoint_model_does_not_depend_on_its_password(tmp_path: Path) -> None:
    def key(address: str) -> str:
        options = EmbedOptions(
            provider="endpoint", endpoint_url=address, endpoint_model="m", endpoint_dimensions=3
        )
        return EndpointEmbedder(options, tmp_path / "notes").model.key

    assert key("https://u:one@host/v1") == key("https://u:two@host/v1") != key("https://host/v1")
