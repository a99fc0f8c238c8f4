"""Source text → document."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from dowse.parse.blocks import read_blocks
from dowse.parse.fields import read_fields
from dowse.parse.frontmatter import Frontmatter, Problem, read_frontmatter
from dowse.parse.headings import read_heading
from dowse.parse.lines import LineNumbers
from dowse.parse.plain import plain_blocks
from dowse.parse.references import read_definitions, read_references
from dowse.parse.related import read_related
from dowse.parse.tags import without_repeats
from dowse.parse.title import fallback_title
from dowse.types import Document, Fields, LeftOut

_PLAIN_TEXT = (".txt",)

# The block grammar carries every open quote and list with every token, and gives up near 250.
# Nobody writes a tenth of that; a line with this many marks in front is no Markdown.
_MOST_NESTED = 64
_NESTED_TOO_DEEP = (
    f"quotes or lists are nested {_MOST_NESTED} deep, so the file was read as plain text; "
    "flatten them to have its headings and links found"
)
_TOO_MANY_BRACKETS = "too many brackets to look for links; break the line to have them found"
_MARKS = r"[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])[ \t])"
_TOO_DEEP = re.compile(rf"^(?:{_MARKS}){{{_MOST_NESTED},}}+(?![-* \t]*$)", re.MULTILINE)


def parse(id: str, text: str) -> Document:  # noqa: A002 - the record's own word
    """Reads a document; whatever is wrong with the text, there is one, with its problems noted.

    `text` is decoded, without a byte order mark, its lines ended by a line feed alone.
    """
    if id.lower().endswith(_PLAIN_TEXT):
        fields = Fields(title=fallback_title(id, ()))
        return Document(id, text, 0, fields, blocks=tuple(plain_blocks(text, 0)))
    front = read_frontmatter(text)
    lines = LineNumbers(text)
    if deep := _TOO_DEEP.search(text, front.body):
        return _as_plain_text(id, text, front, lines.at(deep.start()))
    return _as_markdown(id, text, front, lines)


def _as_markdown(document_id: str, text: str, front: Frontmatter, lines: LineNumbers) -> Document:
    outline = read_blocks(text, front.body, lines)
    definitions = read_definitions(text, outline)
    headings = tuple(read_heading(text, place, definitions) for place in outline.headings)
    references = read_references(text, outline, definitions, lines)
    fields = read_fields(front)
    unread = [Problem(line, _TOO_MANY_BRACKETS) for line in references.unread_lines]
    return Document(
        id=document_id,
        text=text,
        body=front.body,
        fields=replace(
            fields,
            title=fields.title or fallback_title(document_id, headings),
            tags=without_repeats([*fields.tags, *(name for _, name in references.tags)]),
        ),
        headings=headings,
        blocks=tuple(outline.blocks),
        code_blocks=tuple(outline.code_blocks),
        links=(*read_related(front), *(link for _, link in references.links)),
        problems=_left_out(document_id, [*front.problems, *unread]),
    )


def _as_plain_text(document_id: str, text: str, front: Frontmatter, line: int) -> Document:
    fields = read_fields(front)
    return Document(
        id=document_id,
        text=text,
        body=front.body,
        fields=replace(fields, title=fields.title or fallback_title(document_id, ())),
        blocks=tuple(plain_blocks(text, front.body)),
        links=tuple(read_related(front)),
        problems=_left_out(document_id, [*front.problems, Problem(line, _NESTED_TOO_DEEP)]),
    )


def _left_out(document_id: str, problems: Iterable[Problem]) -> tuple[LeftOut, ...]:
    reasons = (f"Line {problem.line}: {problem.what}." for problem in problems)
    return tuple(LeftOut(document_id, reason, whole=False) for reason in reasons)
