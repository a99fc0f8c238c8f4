from __future__ import annotations

import json
from pathlib import Path

import pytest

from dowse._index.options import ReadOptions
from dowse._index.source.files import Unreadable
from dowse._index.source.load import canvas_text, load
from dowse._model import SourceFile
from dowse._util.process import Deadline, TookTooLong


def _card(name: str, x: int, y: int, **more: object) -> dict[str, object]:
    return {"id": name, "type": "text", "x": x, "y": y, "width": 10, "height": 10, **more}


def test_cards_are_read_from_top_to_bottom_group_by_group() -> None:
    canvas = {
        "nodes": [
            _card("b", 0, 120, text="Second in the group"),
            _card("a", 0, 105, text="# First\n\nin the group"),
            _card("loose", 500, 0, text="Outside"),
            _card("g", -5, 100, type="group", label="Plan", width=100, height=100),
            _card("f", 20, 130, type="file", file="notes/Mast.md", subpath="#Steps"),
            _card("l", 20, 150, type="link", url="https://example.org"),
        ],
        "edges": [
            {"fromNode": "a", "toNode": "f", "label": "leads to"},
            {"fromNode": "a", "toNode": "b"},
        ],
    }
    assert canvas_text(json.dumps(canvas), Deadline()).split("\n\n") == [
        "Outside",
        "## Plan",
        "# First",
        "in the group",
        "Second in the group",
        "![[notes/Mast.md#Steps]]",
        "<https://example.org>",
        "First → [[notes/Mast.md#Steps]]: leads to\n",
    ]


@pytest.mark.parametrize("text", ["", "{}", '{"nodes": 5}', '{"nodes": [7, {"type": "text"}]}'])
def test_what_has_no_cards_has_no_text(text: str) -> None:
    assert canvas_text(text, Deadline()).strip() == ""


@pytest.mark.parametrize("text", ["[", "[]", "[" * 100_000, "5"])
def test_what_is_no_canvas_is_refused(text: str) -> None:
    with pytest.raises(Unreadable, match="It is not a canvas"):
        canvas_text(text, Deadline())


def test_a_card_belongs_to_the_smallest_group_around_it() -> None:
    sizes = [("Wide", 1000), ("Close", 50), ("Same size", 50), ("Middle", 400)]
    groups = [_card(n, -s, -s, type="group", label=n, width=2 * s, height=2 * s) for n, s in sizes]
    text = canvas_text(json.dumps({"nodes": [*groups, _card("c", 0, 0, text="Card")]}), Deadline())
    # Groups are sorted by their place; of two that are equally large, the first one has the card.
    assert "## Close\n\nCard\n\n## Same size" in text


def test_many_cards_in_many_groups_do_not_take_long() -> None:
    groups = [_card(f"g{n}", 0, 0, type="group", label="G", width=9e6) for n in range(4000)]
    cards = [_card(f"c{n}", n, 0, text="C") for n in range(4000)]
    text = canvas_text(json.dumps({"nodes": [*groups, *cards]}), Deadline(1.0))
    assert text.count("C") == 4000


def test_many_arrows_at_a_long_card_do_not_take_long() -> None:
    card = _card("c", 0, 0, text=f"Name\n{'x' * 3_000_000}")
    edges = [{"fromNode": "c", "toNode": "c", "label": "again"}] * 20_000
    deadline = Deadline(1.0)
    text = canvas_text(json.dumps({"nodes": [card], "edges": edges}), deadline)
    deadline.check()
    assert text.count("Name → Name: again") == 20_000


def test_reading_a_canvas_is_under_the_deadline_of_its_file(tmp_path: Path) -> None:
    data = json.dumps({"nodes": [_card("c", 0, 0, text="C")]})
    (tmp_path / "x.canvas").write_text(data, "utf-8")
    source = SourceFile("x.canvas", str(tmp_path / "x.canvas"), len(data), 0)
    with pytest.raises(TookTooLong):
        load(source, ReadOptions(file_seconds=1e-9))
