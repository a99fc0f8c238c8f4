"""Passages that match equally well come in one order, whatever store ranked them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dowse._search.request import SearchRequest
from dowse._search.strategies import ties
from vaults import open_engine


def test_scores_that_differ_by_rounding_alone_are_ties() -> None:
    assert list(ties([])) == []
    scores = [(1, 50.0), (2, 50.0 - 4e-6), (3, 0.9), (4, 0.9 - 6e-8), (5, 0.9 - 2e-6), (6, 0.8)]
    groups = [[key for key, _ in group] for group in ties(scores)]
    assert groups == [[1, 2], [3, 4], [5], [6]]


@pytest.mark.parametrize("mode", ["semantic", "keyword", "hybrid"])
def test_ties_do_not_depend_on_the_order_of_indexing(tmp_path: Path, mode: str) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    engine = open_engine(vault, tmp_path / "index")
    for name in ("c", "a", "b"):  # each gets its key after the one before
        path = vault / f"{name}.md"
        path.write_text("# Same\n\nThe rain gauge is calibrated.\n", "utf-8")
        os.utime(path, (1_600_000_000, 1_600_000_000))
        engine.index()
    kept = {f"{stage}_dedup.enabled": False for stage in ("exact", "near", "semantic")}
    hits = engine.search(SearchRequest("rain gauge", changes={"search.mode": mode, **kept})).hits
    assert [hit.document for hit in hits] == ["a.md", "b.md", "c.md"]


@pytest.mark.parametrize("mode", ["semantic", "keyword"])
def test_which_equal_passages_are_candidates_does_not_depend_on_the_order_of_indexing(
    tmp_path: Path, mode: str
) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    engine = open_engine(vault, tmp_path / "index")
    for batch in ("b", "a"):  # all of the first get lower keys
        for number in range(30):
            path = vault / f"{batch}{number:02}.md"
            path.write_text("# Same\n\nThe rain gauge is calibrated.\n", "utf-8")
            os.utime(path, (1_600_000_000, 1_600_000_000))
        engine.index()
    kept = {f"{stage}_dedup.enabled": False for stage in ("exact", "near", "semantic")}
    few = {"search.top_k": 5, "search.top_n": 5, "search.mode": mode}
    hits = engine.search(SearchRequest("rain gauge", changes={**few, **kept})).hits
    assert [hit.document for hit in hits] == [f"a{number:02}.md" for number in range(5)]
