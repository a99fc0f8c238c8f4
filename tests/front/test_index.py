"""`dowse index` and what follows from it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from command_line import Dowse
from dowse._store.files import writer_lock


def test_a_folder_becomes_a_project_on_the_fly(vault: Path, dowse: Dowse) -> None:
    result = dowse("index", vault)
    assert result.code == 0
    assert result.out.startswith("vault: 5 added, ")
    assert "1 file indexed with a remark:" in result.out
    assert "broken.md" in result.out


def test_a_second_run_finds_nothing_to_do(indexed: Path, dowse: Dowse) -> None:
    assert "5 unchanged" in dowse("index", indexed).out


def test_changes_and_removals_are_reported(indexed: Path, dowse: Dowse) -> None:
    (indexed / "Home.md").write_text("# Home\n\nAnother text.\n", "utf-8")
    (indexed / "broken.md").unlink()
    (indexed / "new.md").write_text("# New\n\nNew text.\n", "utf-8")
    result = dowse("index", indexed, "--json").json
    found = {name: result[name] for name in ("added", "changed", "removed", "unchanged")}
    assert found == {"added": 1, "changed": 1, "removed": 1, "unchanged": 3}
    assert result["complete"] is True
    assert result["project"] == "vault"


def test_files_left_out_are_named_and_give_exit_code_3(vault: Path, dowse: Dowse) -> None:
    for number in range(25):
        (vault / f"bad-{number:02d}.md").write_bytes(b"\x00\xff\x00binary" * 30)
    result = dowse("index", vault)
    assert result.code == 3
    assert "25 files left out:" in result.out
    assert "bad-19.md: " in result.out
    assert "bad-20.md" not in result.out
    assert "and 5 more: --verbose shows all" in result.out
    every = dowse("index", vault, "--verbose")
    assert every.code == 3
    assert "bad-24.md: " in every.out


def test_a_file_that_cannot_be_read_is_not_called_new_until_it_changes(
    vault: Path, dowse: Dowse
) -> None:
    bad = vault / "bad.md"
    bad.write_bytes(b"\x00\xff\x00binary" * 30)
    assert dowse("index", vault).code == 3
    seen = dowse("status")
    assert "up to date" in seen.out
    assert "1 file could not be read; why: dowse index -p vault" in seen.out
    assert dowse("index", vault / "guides").code == 0  # it looks at other files
    shape = dowse("status", "--json").json
    assert (shape["up_to_date"], shape["unread"]) == (True, 1)
    bad.write_text("# Good\n\nIt can be read now.\n")
    assert dowse("status", "--json").json["freshness"]["new"] == 1
    assert dowse("index", vault).code == 0
    assert dowse("status", "--json").json["unread"] == 0


def test_a_path_that_is_not_there(home: Path, dowse: Dowse) -> None:
    result = dowse("index", home / "nowhere")
    assert result.code == 2
    assert result.err.startswith("dowse: ")
    assert "does not exist" in result.err


def test_several_folders_in_one_project(vault: Path, home: Path, dowse: Dowse) -> None:
    other = home / "other"
    other.mkdir()
    (other / "more.md").write_text("# More\n\nText elsewhere.\n", "utf-8")
    assert dowse("index", vault, other, "-p", "both").code == 0
    assert "@other/more.md" in dowse("ls", "-p", "both").out.split("\n")


def test_quiet_says_nothing(vault: Path, dowse: Dowse) -> None:
    result = dowse("index", vault, "--quiet")
    assert (result.code, result.out, result.err) == (0, "", "")


def test_rebuild_starts_again(indexed: Path, dowse: Dowse) -> None:
    assert dowse("index", indexed, "--rebuild", "--json").json["added"] == 5


def test_a_second_writer_learns_who_writes(indexed: Path, home: Path, dowse: Dowse) -> None:
    with writer_lock(home / "own/data/projects/vault/index", wait=0):
        result = dowse("index", indexed, "--wait", "0")
    assert result.code == 5
    assert "is being written by process" in result.err


def test_settings_that_need_a_rebuild_are_refused_with_the_command(
    indexed: Path, dowse: Dowse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOWSE_CHUNK_STRATEGY", "fixed")
    for line in (["index", indexed], ["search", "restore"], ["get", "Home.md"]):
        result = dowse(*line)
        assert result.code == 4
        assert "dowse index --rebuild -p vault" in result.err
    assert dowse("index", indexed, "--rebuild").code == 0
    assert dowse("search", "restore").code == 0


def test_a_file_that_was_read_right_after_it_was_written_is_not_called_changed(
    vault: Path, dowse: Dowse
) -> None:
    fresh, soon = vault / "fresh.md", time.time_ns() + 60 * 10**9
    fresh.write_text("# One\n")
    os.utime(fresh, ns=(soon, soon))
    dowse("index", vault)
    assert dowse("status", "--json").json["up_to_date"]
    fresh.write_text("# Two\n")
    os.utime(fresh, ns=(soon, soon))
    assert dowse("status", "--json").json["freshness"]["changed"] == 1


@pytest.mark.usefixtures("indexed")
def test_reset_asks_and_is_refused_where_nobody_answers(dowse: Dowse) -> None:
    refused = dowse("reset")
    assert refused.code == 2
    assert "--yes" in refused.err
    assert len(dowse("ls").out.split()) == 5
    assert dowse("reset", "--yes").code == 0
    assert dowse("ls").out == ""


def test_status(indexed: Path, dowse: Dowse) -> None:
    told = dowse("status")
    assert told.code == 0
    assert "up to date" in told.out
    (indexed / "new.md").write_text("# New\n", "utf-8")
    assert "1 new since the last run: dowse index -p vault" in dowse("status").out
    shape = dowse("status", "--json").json
    assert shape["freshness"] == {"new": 1, "changed": 0, "deleted": 0}
    assert shape["counts"]["documents"] == 5
    assert (shape["indexed"], shape["up_to_date"]) == (True, False)


def test_status_of_a_project_that_is_not_indexed(vault: Path, dowse: Dowse) -> None:
    assert dowse("project", "add", vault).code == 0
    assert "not indexed yet" in dowse("status").out
    refused = dowse("search", "x")
    assert refused.code == 2
    assert "dowse index -p vault" in refused.err
