"""Source text → document."""

from __future__ import annotations

from dataclasses import replace

from dowse.parse.blocks import Outline, read_blocks
from dowse.parse.fields import read_fields
from dowse.parse.frontmatter import Frontmatter, Problem, read_frontmatter
from dowse.parse.headings import read_heading
from dowse.parse.lines import LineNumbers
from dowse.parse.plain import plain_blocks
from dowse.parse.references import References, read_definitions, read_references
from dowse.parse.related import read_related
from dowse.parse.skeleton import MOST_NESTED
from dowse.parse.tags import without_repeats
from dowse.parse.title import fallback_title
from dowse.types import Document, Fields, LeftOut

_PLAIN_TEXT = (".txt",)

_NESTED_TOO_DEEP = (
    f"quotes or lists are nested {MOST_NESTED} deep, so the line was read as plain text; "
    "flatten it to have it read as Markdown"
)
_TOO_MANY_BRACKETS = "too many brackets to look for links; break the line to have them found"


def parse(id: str, text: str) -> Document:  # noqa: A002 - the record's own word
    """Reads a document; whatever is wrong with the text, there is one, with its problems noted.

    `text` is decoded, without a byte order mark, its lines ended by a line feed alone.
    """
    if id.lower().endswith(_PLAIN_TEXT):
        fields = Fields(title=fallback_title(id, ()))
        return Document(id, text, 0, fields, blocks=tuple(plain_blocks(text, 0)))
    front = read_frontmatter(text)
    lines = LineNumbers(text)
    outline = read_blocks(text, front.body, lines)
    definitions = read_definitions(text, outline)
    headings = tuple(read_heading(text, place, definitions) for place in outline.headings)
    references = read_references(text, outline, definitions, lines)
    fields = read_fields(front)
    return Document(
        id=id,
        text=text,
        body=front.body,
        fields=replace(
            fields,
            title=fields.title or fallback_title(id, headings),
            tags=without_repeats([*fields.tags, *(name for _, name in references.tags)]),
        ),
        headings=headings,
        blocks=tuple(outline.blocks),
        code_blocks=tuple(outline.code_blocks),
        links=(*read_related(front), *(link for _, link in references.links)),
        problems=_problems(id, front, outline, references),
    )


def _problems(
    document_id: str, front: Frontmatter, outline: Outline, references: References
) -> tuple[LeftOut, ...]:
    """What could not be read; of lines that have the same trouble only the first is named."""
    problems = [
        *front.problems,
        *(Problem(line, _NESTED_TOO_DEEP) for line in outline.flattened[:1]),
        *(Problem(line, _TOO_MANY_BRACKETS) for line in references.unread_lines[:1]),
    ]
    reasons = (f"Line {problem.line}: {problem.what}." for problem in problems)
    return tuple(LeftOut(document_id, reason, whole=False) for reason in reasons)
