from __future__ import annotations

from dowse._index.markdown.document import plain_text
from dowse._text.markdown import plain
from rows import check_rows


def test_a_wikilink_shows_the_same_in_headings_and_in_snippets() -> None:
    def check(row: tuple[str, str]) -> None:
        markup, shown = row
        assert plain_text(markup, {}) == shown
        assert plain(markup) == shown

    rows: list[tuple[str, str]] = [
        ("See [[Page]].", "See Page."),
        ("See [[Page|the page]].", "See the page."),
        ("See [[Page#Part]].", "See Page."),
        ("See [[#Part]].", "See Part."),
        ("See ![[Page#Part| the page ]].", "See the page."),
        (r"See [[Page\|the page]].", "See the page."),
        ("See [[the page|dendron://vault/page]].", "See the page."),
        ("See [[dendron://vault/page#Part]].", "See page."),
        (r"See \[[Page]].", "See [[Page]]."),
        ("See `[[Page|the page]]`.", "See [[Page|the page]]."),
        ("See [[" + "Page " * 100 + "|the page]].", "See the page."),
    ]
    check_rows(rows, check)
