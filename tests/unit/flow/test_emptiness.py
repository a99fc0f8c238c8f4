"""Queries that find nothing, and queries that ask nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from dowse._project.engine import Engine
from dowse._search.request import Filters, SearchRequest
from dowse.errors import UsageError
from rows import check_rows
from vaults import index_notes

_NOTES = {
    "a.md": "---\ntags: [water/deep]\ncategory: guide\nauthor: Pump team\n---\n# A\n\nA pump.\n",
    "b.md": "---\ntags: [fire]\ndate: 2020-05-01\n---\n# B\n\nA pump, a hose.\n",
    "sub/c.md": "# C\n\nA pump.\n\n```python\npump()\n```\n",
}


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return index_notes(tmp_path, _NOTES)


def found(engine: Engine, query: str, **filters: object) -> list[str]:
    hits = engine.search(SearchRequest(query, filters=Filters(**filters))).hits  # type: ignore[arg-type]
    return sorted(hit.document for hit in hits)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"tag": ("water",)}, ["a.md"]),
        ({"tag": ("#water", "water/deep")}, ["a.md"]),
        ({"tag": ("water", "fire")}, []),
        ({"category": ("guide", "other")}, ["a.md"]),
        ({"author": ("pump",)}, ["a.md"]),
        ({"path": ("sub/",)}, ["sub/c.md"]),
        ({"source": (".md",)}, ["a.md", "b.md", "sub/c.md"]),
        ({"source": ("pdf",)}, []),
        ({"language": ("python",)}, ["sub/c.md"]),
        ({"before": "2021"}, ["b.md"]),
        ({"after": "2021-01-01"}, ["a.md", "sub/c.md"]),
        ({"after": "2020-05", "before": "2020-05-02"}, ["b.md"]),
    ],
)
def test_filters_let_pass_what_they_say(
    engine: Engine, filters: dict[str, object], expected: list[str]
) -> None:
    assert found(engine, "pump", **filters) == expected
    assert found(engine, "", **filters) == expected  # nothing is asked: a listing


def test_signs_in_the_query_hold_for_every_strategy(engine: Engine) -> None:
    assert found(engine, "pump -hose") == ["a.md", "sub/c.md"]
    assert found(engine, 'pump "a hose"') == ["b.md"]
    assert found(engine, "pump tag:fire") == ["b.md"]
    assert found(engine, "pump -tag:fire path:sub") == ["sub/c.md"]
    assert found(engine, "tag:water") == ["a.md"]


def test_when_nothing_is_left_each_condition_says_what_it_kept_out(engine: Engine) -> None:
    response = engine.search(SearchRequest("pump tag:fire", filters=Filters(path=("sub/",))))
    assert response.hits == ()
    assert response.removed == {"--path sub/": 2, "tag:fire": 2}
    assert engine.search(SearchRequest("pump")).removed == {}


def test_a_date_that_is_none_is_an_error(engine: Engine) -> None:
    with pytest.raises(UsageError, match="2024-06"):
        engine.search(SearchRequest("pump", filters=Filters(after="someday")))


_ANY_TEXT = [
    "",
    "   ",
    "?!",
    "…",
    "-",
    '""',
    "*",
    "the of and",
    "x" * 10_000,
    "pump " * 2_000,
    "\0",
    "\ud800",
    "🜃",
    "ポンプ",
    "насос",
    "מַשְׁאֵבָה",
    "مضخة",
    "ปั๊ม",
    "pu\u0301mp",
    "tag:",
    "((",
    "NOT",
]


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic", "code", "hyde"])
def test_any_text_is_answered_or_reported_why_not(engine: Engine, mode: str) -> None:
    def check(query: str) -> None:
        response = engine.search(SearchRequest(query, changes={"search.mode": mode}))
        if not any(map(str.isalnum, query)):
            assert response.hits == ()
            assert response.notices

    check_rows(_ANY_TEXT, check)


def test_a_slip_of_the_keyboard_still_finds_it_by_words(engine: Engine) -> None:
    response = engine.search(SearchRequest("pmup", changes={"search.mode": "keyword"}))
    assert {hit.document for hit in response.hits} == set(_NOTES)
    assert any('"pump"' in notice for notice in response.notices)
