"""Source text → document."""

from __future__ import annotations

from msgspec.structs import replace

from dowse._index.markdown.blocks import Outline, read_blocks
from dowse._index.markdown.fields import read_fields
from dowse._index.markdown.found import References
from dowse._index.markdown.frontmatter import Frontmatter, Problem, read_frontmatter
from dowse._index.markdown.headings import read_headings
from dowse._index.markdown.plain import plain_blocks
from dowse._index.markdown.properties import read_properties
from dowse._index.markdown.references import read_definitions, read_references
from dowse._index.markdown.related import read_related
from dowse._index.markdown.tags import without_repeats
from dowse._index.markdown.title import fallback_title
from dowse._index.markdown.too_much import NESTED_TOO_DEEP, TOO_MUCH
from dowse._model import Document, Fields, LeftOut
from dowse._text.comments import without_obsidian_comments
from dowse._text.file_names import is_plain
from dowse._text.lines import LineNumbers
from dowse._util import limits
from dowse._util.deadline import Deadline


def parse(
    id: str,  # noqa: A002 - the record's own word
    text: str,
    deadline: Deadline | None = None,
) -> Document:
    """Reads a document; whatever is wrong with the text, there is one, with its problems noted.

    `text` is decoded, without a byte order mark, its lines ended by a line feed alone. What
    Obsidian hides between two `%%` is no part of the document. Raises `TookTooLong` when the
    deadline passes.
    """
    if is_plain(id):
        fields = Fields(title=fallback_title(id, ()))
        return Document(id, text, 0, fields, blocks=tuple(plain_blocks(text, 0)))
    deadline = deadline or Deadline()
    front = read_frontmatter(text)
    text = without_obsidian_comments(text, front.body)
    lines = LineNumbers(text)
    outline = read_blocks(text, front.body, lines, deadline)
    definitions = read_definitions(text, outline)
    headings = read_headings(text, outline, definitions, deadline)
    references = read_references(text, outline, definitions, lines, deadline)
    fields = read_fields(front)
    fields = replace(
        fields,
        title=fields.title or fallback_title(id, headings),
        tags=without_repeats([*fields.tags, *references.tags.values()]),
        properties=read_properties(front),
    )
    if sum(map(len, fields.texts().values())) > limits.FIELD_CHARACTERS:
        outline.cuts["fields"] = 0
    return Document(
        id=id,
        text=text,
        body=front.body,
        fields=fields,
        headings=headings,
        blocks=tuple(outline.blocks),
        code_blocks=tuple(outline.code_blocks),
        links=(*read_related(front), *references.links),
        problems=_problems(id, front, outline, references, lines),
    )


def _problems(
    document_id: str,
    front: Frontmatter,
    outline: Outline,
    references: References,
    lines: LineNumbers,
) -> tuple[LeftOut, ...]:
    """What could not be read; of lines that have the same trouble only the first is named."""
    cuts = {what: lines.at(offset) for what, offset in outline.cuts.items()} | references.cuts
    problems = [
        *front.problems,
        *(Problem(line, NESTED_TOO_DEEP) for line in outline.flattened[:1]),
        *(Problem(line, TOO_MUCH[what]) for what, line in cuts.items()),
    ]
    reasons = (f"Line {problem.line}: {problem.what}." for problem in problems)
    return tuple(LeftOut(document_id, reason, whole=False) for reason in reasons)
