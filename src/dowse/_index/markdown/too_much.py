"""What is said of a document that goes beyond a limit: what was left out, and what to do."""

from __future__ import annotations

from dowse._index.markdown.skeleton import MOST_NESTED
from dowse._util import limits

NESTED_TOO_DEEP = (
    f"quotes or lists are nested {MOST_NESTED} deep, so the line was read as plain text; "
    "flatten it to have it read as Markdown"
)

_SPLIT = "split the document to have all of them found"

TOO_MUCH = {
    "fields": (
        f"title, keywords, tags and the like have more than {limits.FIELD_CHARACTERS:,} "
        "characters, of which only the first weigh in each passage; filters use all of them"
    ),
    "brackets": "too many brackets to look for links; break the line to have them found",
    "line": (
        f"the line has more than {limits.WINDOW:,} characters and was read as plain text; "
        "break it to have it read as Markdown"
    ),
    "heading": (
        f"the heading has more than {limits.HEADING} characters, of which only the first weigh "
        "as a heading; shorten it"
    ),
    "headings": f"there are more than {limits.HEADINGS:,} headings, the rest is text; {_SPLIT}",
    "code": (
        f"the code block has more than {limits.CODE:,} characters, of which only the first are "
        "searched as code; split it to have all of it searched so"
    ),
    "code_blocks": (
        f"there are more than {limits.CODE_BLOCKS:,} code blocks, the rest is text; {_SPLIT}"
    ),
    "definitions": (
        f"there are more than {limits.DEFINITIONS:,} link definitions, the rest is ignored; "
        f"{_SPLIT}"
    ),
    "paragraphs": (
        f"after {limits.PARAGRAPHS:,} paragraphs links and tags are no longer looked for; {_SPLIT}"
    ),
    "links": f"there are too many links, the rest is only text; {_SPLIT}",
    "link": (
        f"the link has more than {limits.LINK:,} characters and was ignored; shorten it to have "
        "it followed"
    ),
    "tags": f"there are more than {limits.TAGS:,} tags, the rest is only text; {_SPLIT}",
    "tag": (
        f"the tag has more than {limits.TAG} characters or {limits.TAG_DEPTH} levels and was "
        "ignored; shorten it to have it found"
    ),
}
"""By what was too much."""
