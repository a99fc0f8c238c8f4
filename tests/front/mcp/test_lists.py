"""`browse` and `recent`: what is there, before anything is asked."""

from __future__ import annotations

from mcp_client import Ask, text_of


def test_folders_tags_and_fields_are_counted(ask: Ask) -> None:
    found = ask("browse")
    told = found.structured_content
    assert {one["name"]: one["documents"] for one in told["folders"]} == {
        "guides/": 2,
        "journal/": 1,
        "reference/": 1,
    }
    assert {"name": "database", "documents": 1} in told["tags"]
    category = next(one for one in told["fields"] if one["name"] == "category")
    assert category["values"] == [
        {"name": "guide", "documents": 1},
        {"name": "reference", "documents": 1},
    ]
    assert "`guides/` 2, `journal/` 1, `reference/` 1" in text_of(found)
    assert "documents" not in told


def test_what_is_below_a_folder_is_listed(ask: Ask) -> None:
    found = ask("browse", path="guides/")
    told = found.structured_content
    assert [one["document"] for one in told["documents"]] == ["guides/copy.md", "guides/restore.md"]
    assert [one["name"] for one in told["folders"]] == ["guides/"]
    assert told["total"] == 2
    assert "- `guides/restore.md` `Restore a backup` 2025-03-09" in text_of(found)


def test_recent_changes_come_newest_first(ask: Ask) -> None:
    told = ask("recent", since="2023-01-01", path=["guides/", "reference/"]).structured_content
    dates = {one["document"]: one["modified"][:10] for one in told["documents"]}
    assert list(dates.items()) == [
        ("guides/restore.md", "2025-03-09"),
        ("guides/copy.md", "2024-01-02"),
        ("reference/stations.md", "2023-05-01"),
    ]
    few = ask("recent", since="2023-01-01", n=1).structured_content
    assert len(few["documents"]) == 1
    assert few["total"] == 4


def test_a_wrong_date_is_reported(ask: Ask) -> None:
    wrong = ask("recent", since="soon")
    assert wrong.is_error
    assert "7d" in text_of(wrong)
