"""Tags of site generators in Markdown, and what a reader of the site would see of them."""

from __future__ import annotations

import re

SHORTCODE = re.compile(
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
    """What a reader sees of what `SHORTCODE` matched: `{{< term text="pods" >}}` shows pods."""
    if match["text"] is not None:
        return match["text"]
    inside = match["hugo"] or match["liquid"] or ""
    if shown := _SHOWN.search(inside):
        return shown[1] or shown[2] or ""
    if reference := _REFERENCE.match(inside):
        return reference[1]
    name = inside.split(maxsplit=1)[0].strip("-") if inside.strip() else ""
    return f"{name.capitalize()}: " if name in _NOTES else ""
