from __future__ import annotations

import pytest

from dowse._index.markdown.document import plain_text
from dowse._text.markdown import plain


@pytest.mark.parametrize(
    ("markup", "shown"),
    [
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
    ],
)
def test_a_wikilink_shows_the_same_in_headings_and_in_snippets(markup: str, shown: str) -> None:
    assert plain_text(markup, {}) == shown
    assert plain(markup) == shown
