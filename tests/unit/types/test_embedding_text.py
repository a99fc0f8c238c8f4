"""What the embedder reads of a chunk."""

from __future__ import annotations

from dowse._model import embedding_text


def test_the_title_comes_before_the_header_path() -> None:
    text = embedding_text("Backups", ("Restore", "By hand"), "Stop the writer.")
    assert text == "Backups > Restore > By hand\n\nStop the writer."


def test_a_chunk_below_no_heading_is_embedded_with_its_title() -> None:
    assert embedding_text("Backups", (), "Stop the writer.") == "Backups\n\nStop the writer."


def test_a_title_that_is_the_first_heading_is_not_repeated() -> None:
    text = embedding_text("CAFÉ  Menu", ("Cafe\u0301 menu", "Soups"), "Leek.")
    assert text == "Cafe\u0301 menu > Soups\n\nLeek."


def test_a_title_that_is_a_later_heading_stays() -> None:
    assert embedding_text("Soups", ("Menu", "Soups"), "Leek.") == "Soups > Menu > Soups\n\nLeek."


def test_a_document_without_a_title_is_embedded_as_before() -> None:
    assert embedding_text("", ("Menu",), "Leek.") == "Menu\n\nLeek."
    assert embedding_text("", (), "Leek.") == "Leek."


def test_headings_alone_or_nothing_can_be_embedded_before_the_text() -> None:
    read = ("Backups", ("Restore",), "Stop the writer.")
    assert embedding_text(*read, "headings") == "Restore\n\nStop the writer."
    assert embedding_text(*read, "none") == "Stop the writer."
