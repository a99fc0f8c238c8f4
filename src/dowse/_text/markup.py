"""A line of Markdown as people read it: without the marks, code and escapes as they are meant.

What must be taken literally (code, escaped characters) is hidden from the later steps in the
private use area of Unicode, where neither marks nor full stops are seen in it, until `reveal`.
"""

from __future__ import annotations

import html
import re
import string

from dowse._text.late_pattern import late_pattern
from dowse._text.links import WIKILINK, read_wikilink

_LITERAL = string.punctuation + " "
_HIDE = {ord(character): 0xE000 + ord(character) for character in _LITERAL}
_HIDDEN = re.compile("[\ue020-\ue07e]+")
_HIDDEN_BACKTICK = "`".translate(_HIDE)

# Each pattern begins with one fixed character, which lets the search skip from one to the next.
_CODE = re.compile(r"(`++)(?:(.+?)(?<!`)\1(?!`))?", re.DOTALL)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_ADDRESS = re.compile(r"<([A-Za-z][A-Za-z+.-]{1,30}:[^\s<>]{1,1000})>")
_TARGET = r"\((?:[^()\n]|\([^()\n]*\)){0,1000}\)"
_IMAGE = re.compile(rf"!\[([^\[\]]*+)\](?:{_TARGET}|\[[^\[\]]*+\])")
_FOOTNOTE = re.compile(r"\[\^[^\[\]\s]{1,100}\]:?")
_LINK = re.compile(rf"\[([^\[\]]*+)\](?:{_TARGET}|\[[^\[\]]*+\])")
_INSIDE_WORDS = (
    "a|abbr|b|code|del|em|font|i|ins|kbd|mark|q|s|samp|small|span|strong|sub|sup|u|var|wbr"
)
_BETWEEN_WORDS = (
    "article|blockquote|br|center|dd|details|div|dl|dt|figcaption|figure|h[1-6]|hr|iframe|img|input|"
    "li|ol|p|picture|pre|section|source|summary|svg|table|tbody|td|th|thead|tr|ul|video"
)
# Anything else between angle brackets may be meant: `Vec<String>`.
_TAG = late_pattern(
    rf"</?(?:(?:{_INSIDE_WORDS})|(?P<between>{_BETWEEN_WORDS}))(?:\s[^<>]{{0,1000}})?/?>",
    re.IGNORECASE,
)
_STARS = re.compile(r"(\*{1,3})(?=[^\s*])([^*]++)(?<=[^\s*])\1")
_UNDERSCORES = re.compile(r"_(?<!\w_)(_{0,2})(?=[^\s_])([^_]++)(?<=[^\s_])_\1(?!\w)")
_STRUCK_OR_LIT = re.compile(r"(~~|==)(?=\S)([^~=]++)(?<=\S)\1")
BLOCK_ID = re.compile(r"(?:^|\s)\^[A-Za-z0-9-]{1,40}\s*$")
"""The name that Obsidian gives a block, at its end."""


def plain(markup: str) -> str:
    """Return what a reader sees of a stretch of inline Markdown."""
    return reveal(strip_marks(markup))


def reveal(text: str) -> str:
    """Return the text with what `strip_marks` hid."""
    return _HIDDEN.sub(_revealed, text)


def _revealed(match: re.Match[str]) -> str:
    return "".join(chr(ord(character) - 0xE000) for character in match[0])


def strip_marks(markup: str) -> str:
    """Return the text without its marks; what must be taken literally is hidden until `reveal`."""
    text = markup
    if "`" in text:
        text = _CODE.sub(_literal_code, text.replace("\\`", _HIDDEN_BACKTICK))
    if "[[" in text:  # before escapes: in a table the bar inside a link has a backslash
        text = WIKILINK.sub(lambda link: read_wikilink(link).shown, text)
    if "\\" in text:
        text = _ESCAPED.sub(_literal, text)
    if "<" in text:
        text = _TAG.sub(_gap, _ADDRESS.sub(_literal, text))
    if "[" in text:
        text = _without_links(text)
    if "{{" in text or "{%" in text:
        text = SHORTCODE.sub(shortcode_text, text)
    text = _without_emphasis(text)
    if "&" in text:
        text = html.unescape(text)
    return BLOCK_ID.sub("", text) if "^" in text else text


def _literal_code(match: re.Match[str]) -> str:
    code = match[2]
    if code is None:
        return match[0]
    # One blank next to a backtick only keeps the two apart.
    padded = code.startswith(" ") and code.endswith(" ") and code.strip()
    return (code[1:-1] if padded else code).translate(_HIDE)


def _literal(match: re.Match[str]) -> str:
    return match[1].translate(_HIDE)


def _gap(tag: re.Match[str]) -> str:
    return " " if tag["between"] else ""


def without_images(markup: str) -> str:
    """Return the Markdown without its images, whose descriptions are no part of the text."""
    return _IMAGE.sub("", markup) if "![" in markup else markup


def _without_links(text: str) -> str:
    text = _FOOTNOTE.sub("", text)
    if "![" in text:
        text = _IMAGE.sub(r"\1", text)
    return _LINK.sub(r"\1", text)


def _without_emphasis(text: str) -> str:
    # The second pass takes what lay around the first: `**bold and *slanted* text**`.
    for mark, pattern in (("*", _STARS), ("_", _UNDERSCORES)):
        for _ in range(2 if mark in text else 0):
            text = pattern.sub(r"\2", text)
    return _STRUCK_OR_LIT.sub(r"\2", text) if "~~" in text or "==" in text else text


# ── Tags of site generators ─────────────────────────────────────────────────────

SHORTCODE = late_pattern(
    r"\{\{[<%](?P<hugo>[^<>%{}]{0,400})[>%]\}\}"
    r"|\{%-?(?P<liquid>[^%{}]{0,400})%\}"
    r"|\{\{-?\s*(?:\"(?P<text>[^\"{}]{0,200})\"|(?:site|page|include|layout)\.[\w.]{1,100})"
    r"[^{}]{0,200}\}\}"
)
"""A shortcode of Hugo, a tag of Liquid, or a text or variable of the site that Liquid puts in."""

_SHOWN = re.compile(r"""\b(?:text|title|caption|content|alt|label)=(?:"([^"]*)"|'([^']*)')""")
_REFERENCE = re.compile(r"""\s*(?:ref|relref)\s+["']([^"']*)["']""")
_NOTES = frozenset(
    {"note", "tip", "info", "hint", "important", "warning", "caution", "danger", "alert"}
)


def shortcode_text(match: re.Match[str]) -> str:
    """Return what a reader sees of a `SHORTCODE`: `{{< term text="pods" >}}` shows pods."""
    if match["text"] is not None:
        return match["text"]
    inside = match["hugo"] or match["liquid"] or ""
    if shown := _SHOWN.search(inside):
        return shown[1] or shown[2] or ""
    if reference := _REFERENCE.match(inside):
        return reference[1]
    name = inside.split(maxsplit=1)[0].strip("-") if inside.strip() else ""
    return f"{name.capitalize()}: " if name in _NOTES else ""
