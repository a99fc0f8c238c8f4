from __future__ import annotations

from typing import Protocol

import pytest

from dowse._model import Hit


class MakeHit(Protocol):
    def __call__(
        self,
        text: str,
        *,
        score: float = 0.5,
        title: str = "Notes",
        header_path: tuple[str, ...] = (),
        document: str = "notes.md",
        stale: bool = False,
    ) -> Hit: ...


def _make_hit(
    text: str,
    *,
    score: float = 0.5,
    title: str = "Notes",
    header_path: tuple[str, ...] = (),
    document: str = "notes.md",
    stale: bool = False,
) -> Hit:
    return Hit(
        id="0" * 16,
        section="1" * 16,
        document=document,
        title=title,
        header_path=header_path,
        line=3,
        first_line=3,
        last_line=7,
        score=score,
        text=text,
        snippet="",
        date="1970-01-01T00:00:00+00:00",
        tags=(),
        links_out=(),
        links_in=(),
        stale=stale,
    )


@pytest.fixture
def make_hit() -> MakeHit:
    return _make_hit
