from __future__ import annotations

import re
from typing import Annotated, get_origin, get_type_hints

import pytest
from msgspec.structs import fields

from dowse._index.options import ChunkOptions
from dowse._util.bounds import meaning
from dowse.errors import BadSettings
from rows import check_rows


def test_the_defaults_are_those_of_the_specification() -> None:
    options = ChunkOptions()

    assert options.strategy == "headers"
    assert (options.section_min, options.section_max) == (1500, 2000)
    assert (options.chunk_min, options.chunk_max, options.overlap) == (200, 1500, 100)
    assert (options.fixed_size, options.fixed_overlap) == (1000, 200)


def test_settings_that_cannot_mean_anything() -> None:
    def check(row: tuple[dict[str, object], list[str]]) -> None:
        wrong, names = row
        with pytest.raises(BadSettings) as caught:
            ChunkOptions(**wrong)  # type: ignore[arg-type]

        for name in names:
            assert re.search(re.escape(name), str(caught.value))
        assert caught.value.hint

    rows: list[tuple[dict[str, object], list[str]]] = [
        (
            {"strategy": "sentences"},
            ["sentences", "`headers` along the headings, `fixed` into windows"],
        ),
        ({"context": "author"}, ["chunk.context", "author"]),
        ({"chunk_max": 0}, ["chunk.chunk_max", "between 1 and 100,000"]),
        ({"overlap": -1}, ["chunk.overlap", "between 0 and 100,000"]),
        ({"section_max": 2000.5}, ["chunk.section_max", "between 1 and 100,000"]),
        ({"chunk_min": True}, ["chunk.chunk_min", "between 1 and 100,000"]),
        ({"fixed_size": "1000"}, ["chunk.fixed_size", "between 1 and 100,000"]),
        ({"chunk_goal": 100}, ["chunk_min is 200, chunk_goal only 100"]),
        ({"chunk_goal": 1600}, ["chunk_goal is 1600, chunk_max only 1500"]),
        ({"chunk_max": 2500}, ["chunk_max is 2500, section_max only 2000"]),
        ({"section_min": 2001}, ["section_min is 2001, section_max only 2000"]),
        ({"overlap": 1001}, ["overlap is 1001, chunk_goal only 700"]),
        ({"fixed_overlap": 1000}, ["fixed_overlap is 1000, fixed_size only 1000"]),
    ]
    check_rows(rows, check)


def test_every_field_explains_itself() -> None:
    hints = get_type_hints(ChunkOptions, include_extras=True)

    for field in fields(ChunkOptions):
        assert get_origin(hints[field.name]) is Annotated
        assert meaning(hints[field.name]).endswith(".")
