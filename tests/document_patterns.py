"""Texts that repeat one pattern: each asks something of the code that reads it, very often."""

from __future__ import annotations

from itertools import product

_UNITS = [
    " ", "\t", "\n", " \n", "a", "a ", "a\n", "a\n\n", "A. ", "。", "漢", "é", "e\u0301", "🎉", "#",
    "# ", "# a\n", "#a/", "#a ", "a\n=\n", "a\n-\n",
    "-", "- ", "- a\n", "1. ", "1", "1.", "9,", ">",
    "> ", "> a\n", "`", "``` ", "```\n", "~~~\n", "```py\na\n```\n", "`` ` ", "[", "]", "[[", "[a]",
    "[a](", "[a](b) ", "[[a]] ", "[a]: b\n", "![", "![a]", "[^1]: x\n", "(", ")", "(()", "<", "<a ",
    "<a>", "<!--", "<!-- ", "-->", "<div>\n", "*", "* ", "**", "*a ", "_", "_a", "_a_ ", "~~", "==",
    "|", "|a", "|a|\n|-|\n", "|-", ":-", "\\", "\\`", "&", "&amp;", "{", "{#", "{{<", "}", "%%",
    "%% ", "$", "^", "@", "/", "../", ".", "...", "...x",
    "-x", "->", "a->", "a::", "a.b", "_a", "aB",
    "AB", "A", "a_", "a-", "a'", "'", '"', '"a" ', "“",
    "a:", "title: ", "tag:a ", "-a ", "a* ", "!",
    "?", ",", ";", "=", "+", "C++ ", "v1.", "\u200b", "\x00", "\ud800", "\ufeff", "---\n", "+++\n",
    "...\n", "::: ", "...\"", "か", "가", "a/b.md#", "http://", "text=\"",
]  # fmt: skip

_FRAMES = {
    "alone": "{}",
    "heading": "# a{}b\n",
    "underlined": "a{}b\n===\n",
    "item": "- {}x\n",
    "cell": "|{}x|\n|-|\n",
    "author": "---\nauthor: a{}b\n---\ntext\n",
    "toml": "+++\ntitle = 'a{}b'\n+++\ntext\n",
}


def filled(unit: str, frame: str, size: int) -> str:
    """A text of about `size` characters that repeats a unit inside a frame."""
    return _FRAMES[frame].replace("{}", unit * (size // len(unit)))


PATTERNS = list(product(_UNITS, ["alone"]))
FRAMED = list(
    product([" ", "\t", "\n", "a\n", "#", "# ", "a ", "<", "{", "[", "=", "-", "\\"], _FRAMES)
)
