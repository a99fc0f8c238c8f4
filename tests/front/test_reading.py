"""`dowse search`, `dowse get` and `dowse ls`."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from command_line import Dowse


@pytest.mark.usefixtures("indexed")
def test_search_for_people(dowse: Dowse) -> None:
    result = dowse("search", "restore", "the", "database")
    assert result.code == 0
    first, where, *_ = result.out.split("\n")
    assert first == " 1  strong  Restore a backup  both words found"
    assert "guides/restore.md:" in where
    assert "**" not in result.out


def test_search_as_json(indexed: Path, dowse: Dowse) -> None:
    shape = dowse("search", "restore", "--json").json
    assert shape["query"] == "restore"
    hit = next(hit for hit in shape["hits"] if hit["document"] == "guides/restore.md")
    assert hit["path"] == str(indexed / "guides/restore.md")
    assert hit["modified"] == "2026-03-09T00:00:00+00:00"
    assert datetime.fromisoformat(hit["modified"]).tzinfo is not None
    assert hit["tags"] == ["database", "backup"]
    assert hit["places"][0]["strategy"] == "keyword"
    assert "**" in hit["snippet"]
    assert [hit["rank"] for hit in shape["hits"]] == list(range(1, len(shape["hits"]) + 1))


@pytest.mark.usefixtures("indexed")
def test_search_takes_options(dowse: Dowse) -> None:
    assert len(dowse("search", "-n", "1", "restore", "--json").json["hits"]) == 1
    refused = dowse("search", "--mode", "semantic", "restore")
    assert refused.code == 2
    assert "embed.provider" in refused.err
    assert dowse("search", "--mode", "nonsense", "x").code == 2
    assert dowse("search", "-n", "0", "x").code == 2


@pytest.mark.usefixtures("indexed")
def test_search_explains(dowse: Dowse) -> None:
    out = dowse("search", "restore", "--explain").out
    assert "keyword" in out
    assert "place 1" in out
    assert "calibrate" in out
    assert "\nstage " in out


@pytest.mark.usefixtures("indexed")
def test_lines_can_be_asked_for_by_id_too(dowse: Dowse) -> None:
    documents = dowse("ls", "--json").json["documents"]
    short = next(one["short_id"] for one in documents if one["id"] == "guides/restore.md")
    assert dowse("get", f"{short}:3:2").out == dowse("get", "guides/restore.md:3:2").out
    assert dowse("get", short).out == dowse("get", "guides/restore.md").out


@pytest.mark.usefixtures("indexed")
@pytest.mark.parametrize("reference", ["~nobody/a.md", "restore:" + "9" * 5000, "beef:1:1", ""])
def test_what_cannot_be_found_is_no_bug(dowse: Dowse, reference: str) -> None:
    assert dowse("get", reference).code == 2


@pytest.mark.parametrize("lines", ["", ":3", ":3-3", ":3:1", "#restore-a-backup"])
def test_the_colon_of_a_drive_letter_begins_no_lines(
    dowse: Dowse, home: Path, indexed: Path, lines: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "C:").mkdir()  # elsewhere, a name like any other
    (home / "C:" / "notes").symlink_to(indexed)
    monkeypatch.chdir(home)
    expected = dowse("get", "-p", "vault", f"guides/restore.md{lines}")
    assert expected.code == 0
    assert dowse("get", "-p", "vault", f"C:/notes/guides/restore.md{lines}").out == expected.out


def test_a_home_that_is_nobodys_is_no_bug(dowse: Dowse) -> None:
    assert dowse("index", "~nobody/notes").code == 2
    assert dowse("project", "add", "~nobody/notes").code == 2


@pytest.mark.usefixtures("indexed")
def test_an_id_from_search_can_be_got(dowse: Dowse) -> None:
    where = dowse("search", "restore").out.split("\n")[1]
    assert "restore" in dowse("get", where.split()[-1]).out.lower()


@pytest.mark.usefixtures("indexed")
def test_nothing_found_is_no_error(dowse: Dowse) -> None:
    result = dowse("search", "xyzzy")
    assert (result.code, result.out) == (0, "")
    assert "Nothing found" in result.err


@pytest.mark.parametrize("query", ["", "  ", "\t"])
@pytest.mark.usefixtures("indexed")
def test_an_empty_query_is_refused(dowse: Dowse, query: str) -> None:
    assert dowse("search", query).code == 2


@pytest.mark.parametrize(
    "query", ['"', "a AND (", "^$*", "\x1b[31m", "🌧️", "点検", "--", "a" * 5000, "\udcff"]
)
@pytest.mark.usefixtures("indexed")
def test_no_query_breaks_the_search(dowse: Dowse, query: str) -> None:
    assert dowse("search", "--", query).code == 0


@pytest.mark.usefixtures("indexed")
def test_a_query_with_a_nul_character_is_refused(dowse: Dowse) -> None:
    refused = dowse("search", "--", "a\0b")
    assert (refused.code, refused.err.splitlines()[0]) == (2, "dowse: query has a NUL character.")


def test_get_prints_the_text_as_it_is(indexed: Path, dowse: Dowse) -> None:
    text = (indexed / "guides/restore.md").read_text("utf-8")
    assert dowse("get", "guides/restore.md").out == text
    assert dowse("get", "restore").out == text
    assert dowse("get", indexed / "guides/restore.md").out == text
    assert dowse("get", "restore:6:1").out == "# Restore a backup\n"
    assert dowse("get", "restore:6:1", "--lines").out == "6  # Restore a backup\n"


@pytest.mark.usefixtures("indexed")
def test_get_takes_places_as_results_name_them(dowse: Dowse) -> None:
    assert dowse("get", "restore:6-7").out == dowse("get", "restore:6:2").out
    result = dowse("get", "restore:7-6")
    assert result.code == 2
    assert "ends before it begins" in result.err


def test_get_several(indexed: Path, dowse: Dowse) -> None:
    assert dowse("get", "Home:1:1", "restore:6:1").out == "# Home\n# Restore a backup\n"
    shape = dowse("get", "Home:1:1", "restore:6:1", "--json").json
    assert [one["document"] for one in shape["passages"]] == ["Home.md", "guides/restore.md"]
    assert shape["passages"][0]["path"] == str(indexed / "Home.md")
    assert shape["passages"][0]["text"] == "# Home"


@pytest.mark.usefixtures("indexed")
def test_get_suggests_what_is_near(dowse: Dowse) -> None:
    result = dowse("get", "guides/restor.md")
    assert result.code == 2
    assert "guides/restore.md" in result.err
    for nearly in ("Hme", "[[restroe]]", "Restore a backpu"):
        assert "Did you mean" in dowse("get", nearly).err, nearly
    assert "dowse ls" in dowse("get", "something else entirely").err
    assert dowse("get", "Home:99").code == 2


@pytest.mark.usefixtures("indexed")
def test_ls(dowse: Dowse) -> None:
    everything = dowse("ls").out.split("\n")[:-1]
    assert everything == sorted(everything)
    assert len(everything) == 5
    assert dowse("ls", "guides/").out.split() == ["guides/restore.md", "guides/winter-ja.md"]
    assert dowse("ls", "*-ja.md").out.split() == ["guides/winter-ja.md"]
    assert dowse("ls", "nothing").code == 2


@pytest.mark.usefixtures("indexed")
def test_ls_long(dowse: Dowse) -> None:
    long = next(one for one in dowse("ls", "--long").out.split("\n") if "restore" in one)
    digits, day, *_ = long.split()
    assert day == "2026-03-09"
    assert dowse("get", digits).out.startswith("---\ntitle: Restore")


def test_ls_as_json(indexed: Path, dowse: Dowse) -> None:
    shape = dowse("ls", "guides/", "--json").json
    assert shape["project"] == "vault"
    entry = shape["documents"][0]
    assert (entry["id"], entry["title"]) == ("guides/restore.md", "Restore a backup")
    assert entry["path"] == str(indexed / "guides/restore.md")
    assert entry["created"] is None


@pytest.fixture
def closed(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that the user may not enter, also when the user is root."""

    def guarded(look: Callable[..., Any]) -> Callable[..., Any]:
        def refuse(path: Any = ".", *rest: Any, **options: Any) -> Any:
            # Not the folder itself, which only its parents guard, but all that is in it.
            written = str(path) if isinstance(path, str | Path) else ""
            if written.startswith(f"{indexed}/"):
                raise PermissionError(errno.EACCES, "Permission denied", written)
            return look(path, *rest, **options)

        return refuse

    scan = os.scandir

    def refuse_to_list(path: Any = ".") -> Any:
        if str(path) == str(indexed):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scan(path)

    for name in ("stat", "lstat", "open"):
        monkeypatch.setattr(os, name, guarded(getattr(os, name)))
    monkeypatch.setattr(os, "scandir", refuse_to_list)
    return indexed


def test_a_folder_that_cannot_be_entered_is_searched_as_it_was_indexed(
    closed: Path, dowse: Dowse
) -> None:
    found = dowse("search", "restore", "--json")
    assert found.code == 0, found.err
    assert found.json["hits"]
    assert any(f"chmod u+rwx {closed}" in notice for notice in found.json["notices"])


def test_a_folder_that_cannot_be_entered_is_named_with_what_to_do(
    closed: Path, dowse: Dowse
) -> None:
    status = dowse("status", "--json")
    assert status.code == 0, status.err
    assert any(f"chmod u+rwx {closed}" in notice for notice in status.json["notices"])
    assert status.json["counts"]["documents"] > 0
    findings = dowse("doctor", "--json").json["findings"]
    assert [one["repair"] for one in findings] == [f"chmod u+rwx {closed}"]
    refused = dowse("index", "-p", "vault")
    assert refused.code == 2
    assert f"chmod u+rwx {closed}" in " ".join(refused.err.split())
    assert dowse("search", "restore", "--json").json["hits"]
