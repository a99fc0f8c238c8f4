"""What users of Obsidian and of site generators have in their folders, at the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import Dowse

_NOTES: dict[str, bytes] = {
    "plan.md": (
        b"# Plan\n\nThe mast is %% the secret budget is zero %% ready. ^mast-1\n\n"
        b"> [!warning] Hot\n> Do not touch the boiler.\n\n![[mast.png|300]] shows the turbine.\n"
    ),
    "site.md": b'# Site\n\n{{< tip text="Use gloves" >}} and {% include a.html %} ladders.\n',
    "old.md": "# Alt\n\nDie Größe der Straßenkarte.\n".encode("cp1252"),
    "board.canvas": json.dumps(
        {
            "nodes": [
                {"id": "1", "type": "text", "text": "Paint the lighthouse"},
                {"id": "2", "type": "file", "file": "plan.md"},
            ]
        }
    ).encode(),
    "table.base": b"filters:\n  and: []\n",
}


@pytest.fixture
def vault_of_obsidian(home: Path) -> Path:
    folder = home / "obsidian"
    folder.mkdir()
    for name, data in _NOTES.items():
        (folder / name).write_bytes(data)
    return folder


def _snippets(dowse: Dowse, *query: str) -> list[tuple[str, str]]:
    hits = dowse("search", "--json", *query).json["hits"]
    return [(hit["document"], hit["snippet"].replace("*", "")) for hit in hits]


def test_a_base_is_left_out_with_a_word_and_a_western_file_is_read_with_one(
    vault_of_obsidian: Path, dowse: Dowse
) -> None:
    result = dowse("index", vault_of_obsidian)
    told = " ".join(result.out.split())
    assert result.code == 0
    assert "1 .base file left out: dowse does not read bases of Obsidian" in told
    assert "old.md: It is not UTF-8 and was read as Windows-1252" in told
    assert _snippets(dowse, "straßenkarte") == [("old.md", "Die Größe der Straßenkarte.")]


def test_a_canvas_is_searched_and_its_files_are_links(
    vault_of_obsidian: Path, dowse: Dowse
) -> None:
    dowse("index", vault_of_obsidian)
    assert _snippets(dowse, "lighthouse")[0][0] == "board.canvas"
    related = dowse("related", "plan.md", "--json").json
    assert [one["document"] for one in related["linked_from"]] == ["board.canvas"]


def test_comments_are_neither_found_nor_shown(vault_of_obsidian: Path, dowse: Dowse) -> None:
    dowse("index", vault_of_obsidian)
    assert _snippets(dowse, "--mode", "keyword", "budget") == []
    assert "budget" not in dowse("get", "plan.md").out


def test_callouts_embeds_and_tags_are_shown_as_what_they_mean(
    vault_of_obsidian: Path, dowse: Dowse
) -> None:
    dowse("index", vault_of_obsidian)
    shown = dict(_snippets(dowse, "-n", "20", "boiler OR ladders"))
    assert shown["plan.md"].endswith(
        "The mast is ready. Warning: Hot Do not touch the boiler. shows the turbine."
    )
    assert shown["site.md"] == "Use gloves and ladders."
