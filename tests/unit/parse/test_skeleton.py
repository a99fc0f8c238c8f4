from __future__ import annotations

import pytest

from dowse._index.markdown.blocks import block_skeleton, one_byte_per_character
from dowse._index.markdown.document import inline_skeleton

TEXTS = ["", "plain", "ü漢🎉", "a\0b\rc", "\ud800", "&amp;", "e\u0301 \u2028"]


@pytest.mark.parametrize("text", TEXTS)
def test_one_byte_for_each_character(text: str) -> None:
    assert len(one_byte_per_character(text)) == len(text)
    assert len(block_skeleton(text)[0]) == len(text) + 1
    assert len(inline_skeleton(text, lambda _: False)) == len(text)


@pytest.mark.parametrize(
    ("text", "skeleton"),
    [
        ("- one two, three", "- oxxxxxxxxxxxxe"),
        ("```js {1} a", "```js {1} a"),
        ('<div class="a b">c d e', '<div class="a b">c d e'),
        ("<p>some words</p>", "<p>sxxxxxxxxs</p>"),
        ("text </script>", "txxt </script>"),
        ("| a b | c \\| d |", "| axb | c \\| d |"),
        ("[a b]: c d", "[a b]: c d"),
    ],
)
def test_only_what_cannot_matter_is_masked_for_blocks(text: str, skeleton: str) -> None:
    assert block_skeleton(text)[0] == f"{skeleton}\n".encode()


@pytest.mark.parametrize(
    ("text", "skeleton"),
    [
        ("some *words* here", "xxxxxxxxxxxxxxxxx"),
        ("[a b](c_d.md) e", "[xxx](xxxxxx)xx"),
        ('[a](b "c d")', '[x](b "c d")'),
        ("`[x]` <b c>", "`xxx`x<b c>"),
        ("[[note]]", "xxxxxxxx"),
        ("[a [b] c](d)", "[xxxxxxx](x)"),
        ("![alt](x)!", "![xxx](x)x"),
        ("\\[a](b)", "xxx](x)"),
        ("a < b [c](d", "xxxxxxxxxxx"),
    ],
)
def test_links_and_code_stay_for_the_inline_grammar(text: str, skeleton: str) -> None:
    assert inline_skeleton(text, lambda _: False) == skeleton.encode()


def test_brackets_around_a_defined_label_stay() -> None:
    assert inline_skeleton("[yes] [no]", lambda label: label == "yes") == b"[xxx]xxxxx"
