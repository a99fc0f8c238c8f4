"""`dowse export` and `dowse import`."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from command_line import Dowse


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
    assert all(hit["stale"] for hit in after)


def test_people_are_told_in_a_line_each(dowse: Dowse, notes: Path, home: Path) -> None:
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
