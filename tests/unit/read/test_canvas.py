from __future__ import annotations

import json

import pytest

from dowse.read.canvas import canvas_text
from dowse.read.safe_open import Unreadable


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
    assert canvas_text(json.dumps(canvas)).split("\n\n") == [
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
    assert canvas_text(text).strip() == ""


@pytest.mark.parametrize("text", ["[", "[]", "[" * 100_000, "5"])
def test_what_is_no_canvas_is_refused(text: str) -> None:
    with pytest.raises(Unreadable, match="It is not a canvas"):
        canvas_text(text)
