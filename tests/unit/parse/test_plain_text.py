from __future__ import annotations

from dowse._index.markdown.document import plain_text
from rows import check_rows


def test_what_a_reader_sees() -> None:
    def check(row: tuple[str, str]) -> None:
        markup, shown = row
        assert plain_text(markup, {"known": "x.md"}) == shown

    rows: list[tuple[str, str]] = [
        ("plain", "plain"),
        ("  many   spaces\nand lines ", "many spaces and lines"),
        ("**bold _both_** ~~gone~~", "bold both gone"),
        ("snake_case_name and 2*3*4", "snake_case_name and 234"),
        ("`code *kept* &amp; [[kept]]`", "code *kept* &amp; [[kept]]"),
        ("[label](x.md) ![alt](y.png)", "label alt"),
        ("[[T]] [[T|label]] [[T#H]] [[#H]] ![[E]]", "T label T H E"),
        ("[known] [unknown] [text][known]", "known [unknown] text"),
        (r"\*not\* \[[not]]", "*not* [[not]]"),
        ("a &lt; b &amp; c", "a < b & c"),
        ("<b>bold</b><br/> text", "bold text"),
        ("<https://x.y> <a@b.c>", "https://x.y a@b.c"),
        ("a < b > c", "a < b > c"),
        ("漢字 **太字** 🎉", "漢字 太字 🎉"),
        ("**unclosed", "**unclosed"),
        ("[]()", ""),
        ("[[a]](b)", "[a]"),
        ("*" * 2000, "*" * 2000),
    ]
    check_rows(rows, check)
