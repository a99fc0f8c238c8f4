"""Communities are computed again when a link leads elsewhere, and only then."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from documents import STAMP, PlainAnalyzer, batch, link, make_document
from dowse._model import Batch
from dowse._store.store import EmbeddedStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EmbeddedStore]:
    store = EmbeddedStore(tmp_path / "index", PlainAnalyzer())
    with store.write() as writing:
        writing.start(STAMP)
        writing.apply(
            batch(
                make_document("a.md", "first text", links=[link("b")]),
                make_document("b.md", "second text"),
                make_document("c.md", "third text", links=[link("later")]),
            )
        )
        assert "communities" in writing.pending()
        writing.set_communities({"a.md": 0, "b.md": 0})
    yield store
    store.close()


@pytest.mark.parametrize(
    ("change", "owes"),
    [
        (batch(make_document("a.md", "other text", links=[link("b")])), False),
        (batch(make_document("a.md", "text", links=[link("b"), link("b"), link("no")])), False),
        (batch(make_document("b.md", "it has no links")), False),
        (batch(make_document("a.md", "text", links=[link("c")])), True),
        (batch(make_document("a.md", "text")), True),
        (batch(make_document("b.md", "text", aliases=["later"])), True),
        (batch(make_document("later.md", "a link waits for it")), True),
        (Batch(gone=("b.md",)), True),
    ],
    ids=["text", "again", "unlinked", "other", "none", "alias", "new", "gone"],
)
def test_communities_are_owed_when_a_link_leads_elsewhere(
    store: EmbeddedStore, change: Batch, *, owes: bool
) -> None:
    with store.write() as writing:
        writing.apply(change)
        assert ("communities" in writing.pending()) is owes
