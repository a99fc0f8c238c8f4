"""What new scores for the first results do to the list."""

from __future__ import annotations

import pytest

from dowse._model import Chunk, DocumentEntry, Fields, StoredChunk
from dowse._search.documents import passage, reorder


def test_new_scores_alone_decide() -> None:
    assert reorder([0.9, 0.8, 0.7], [0.1, 0.6, 0.3], 1.0) == [(1, 0.6), (2, 0.3), (0, 0.1)]


def test_old_and_new_scores_are_mixed() -> None:
    # 0.75 · 0.8 + 0.25 · 0.4 = 0.7; 0.75 · 0.6 + 0.25 · 1.0 = 0.7; equals stay in their order.
    found = reorder([0.8, 0.6, 0.6], [0.4, 1.0, 1.2], 0.25)
    assert [place for place, _ in found] == [2, 0, 1]
    assert [score for _, score in found] == pytest.approx([0.75, 0.7, 0.7])


def test_the_rest_follows_below() -> None:
    found = reorder([0.9, 0.8, 0.7, 0.2], [0.5, 0.6], 1.0)
    assert found == [(1, 0.6), (0, 0.5), (2, 0.5), (3, 0.2)]


def test_a_mix_of_nothing_changes_nothing() -> None:
    assert reorder([0.9, 0.8, 0.7], [0.1, 0.6], 0.0) == [(0, 0.9), (1, 0.8), (2, 0.7)]


def test_equal_new_scores_keep_the_order() -> None:
    assert reorder([0.9, 0.8, 0.7], [0.5, 0.5, 0.5], 1.0) == [(0, 0.5), (1, 0.5), (2, 0.5)]


def test_nothing_new_changes_nothing() -> None:
    assert reorder([0.9, 0.8], [], 1.0) == [(0, 0.9), (1, 0.8)]
    assert reorder([], [], 0.5) == []


def test_a_cross_encoder_reads_the_title_the_headings_and_the_text_without_its_markup() -> None:
    text = (
        "## Restore\n\n- Stop the **writer**, see [[clock|the clock]].\n\n```sh\nls -l *_x*\n```\n"
    )
    entry = DocumentEntry("a.md", "0" * 8, Fields(title="Backups"), 0.0, 0, 0, 1)
    chunk = Chunk("0" * 16, ("Ops", "Restore"), 0, len(text), 1, 7, "1" * 16, 0)
    assert passage(StoredChunk(1, chunk, text, entry)) == (
        "Backups > Ops > Restore > Restore Stop the writer, see the clock. ls -l *_x*"
    )
