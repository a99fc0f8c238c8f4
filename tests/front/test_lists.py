"""Lists with counts: documents, tags, folders and fields, at the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import Dowse


@pytest.mark.usefixtures("notes")
def test_documents_are_listed_by_date_and_by_links(dowse: Dowse) -> None:
    newest = dowse("ls", "--sort", "modified", "--since", "2022", "*.md").out.split()
    assert newest == [
        "guides/restore.md",
        "guides/copy.md",
        "reference/stations.md",
        "lonely.md",
    ]
    linked = dowse("ls", "--sort", "links", "-n", 1, "--json").json
    assert [(one["id"], one["links_in"]) for one in linked["documents"]] == [
        ("reference/stations.md", 2)
    ]
    assert linked["total"] == 6
    assert "1 of 6 are shown" in dowse("ls", "--limit", 1).err
    assert dowse("ls", "--since", "soon").code == 2
    assert dowse("ls", "--since", "2999").err == "Nothing changed since 2999.\n"


@pytest.mark.usefixtures("notes")
def test_recent_changes_come_newest_first(dowse: Dowse) -> None:
    lines = dowse("recent", "--path", "guides/").out.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["2025-03-09", "guides/restore.md"],
        ["2024-01-02", "guides/copy.md"],
    ]
    told = dowse("recent", "--since", "2025", "-n", 1, "--json").json
    assert [len(told["items"]), told["total"]] == [1, 2]  # a file without a date is of today
    assert dowse("recent", "--since", "2999").err == "Nothing changed since 2999.\n"


@pytest.mark.usefixtures("notes")
def test_tags_folders_and_fields_have_counts(dowse: Dowse) -> None:
    assert dowse("tags").out.split() == [
        *("1", "database", "1", "ops", "1", "ops/backup", "1", "reference")
    ]
    assert dowse("folders").out.split() == ["2", "guides/", "1", "journal/", "1", "reference/"]
    assert dowse("tags", "--path", "reference/", "--json").json == {
        "project": "notes",
        "items": [{"name": "reference", "documents": 1}],
        "total": 1,
    }
    first = dowse("fields").out.splitlines()[0]
    assert first.split()[:2] == ["5", "modified"]
    assert first.endswith("and 2 more")
    assert dowse("fields", "Category").out.split() == ["1", "guide", "1", "reference"]
    field = dowse("fields", "category", "-n", 1, "--json").json["items"][0]
    assert (field["documents"], field["different"], len(field["values"])) == (2, 2, 1)
    assert "dowse fields" in dowse("fields", "nothing").err


def test_values_that_differ_in_case_alone_are_one(home: Path, dowse: Dowse) -> None:
    folder = home / "mixed"
    folder.mkdir()
    for place, tag in enumerate(["Ops", "ops", "ops/Backup"]):
        text = f"---\nTags: [{tag}]\nSTATUS: Draft\n---\n# {place}\n\nNote {place}.\n"
        (folder / f"{place}.md").write_text(text, "utf-8")
    assert dowse("index", folder).code == 0
    assert dowse("tags", "-p", "mixed").out.split() == ["3", "ops", "1", "ops/Backup"]
    assert dowse("fields", "status", "-p", "mixed").out.split() == ["3", "Draft"]
