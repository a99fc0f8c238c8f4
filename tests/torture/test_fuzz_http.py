"""Requests that are nearly right, byte by byte: none is a bug, and the server goes on answering."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mutations import corpus, mutated
from served import serving, status_of

_IMPATIENCE = 0.1  # seconds for half a request, which is answered only after its deadline


@pytest.mark.takes(28)
def test_mutated_requests_never_reach_a_bug(
    tmp_path: Path, rounds: Callable[[int, int], int], tally: Callable[[str, object], None]
) -> None:
    kept = corpus("http")
    others = list(mutated(kept, rounds(100, 3_000), seed=13))[len(kept) :]
    with serving(tmp_path) as server:
        # Kept requests are whole. Of the others, some make the server wait for the rest.
        statuses = server.statuses(kept, seconds=60.0)
        statuses += server.statuses(others, seconds=_IMPATIENCE)
        assert [
            one[:300] for one, status in zip(kept + others, statuses, strict=True) if status == 500
        ] == []
        assert status_of(server.get("/api/v1/search?q=gateway")) == 200
        assert b"Traceback" not in server.log.read_bytes()
        assert server.process.poll() is None
    tally("HTTP requests fuzzed", len(statuses))
    assert 200 in statuses
    assert any(400 <= status < 500 for status in statuses)
