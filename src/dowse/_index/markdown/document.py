"""Source text → document."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from msgspec.structs import replace

from dowse._index.markdown.blocks import MOST_NESTED, Outline, plain_blocks, read_blocks
from dowse._index.markdown.frontmatter import (
    Frontmatter,
    Problem,
    read_fields,
    read_frontmatter,
    read_properties,
    read_related,
    without_repeats,
)
from dowse._index.markdown.references import (
    Definitions,
    References,
    plain_text,
    read_definitions,
    read_references,
)
from dowse._model import Document, Fields, Heading, LeftOut
from dowse._text.file_names import INDEX_PAGES, is_plain
from dowse._text.markdown import LineNumbers, without_attributes, without_obsidian_comments
from dowse._util import limits
from dowse._util.cancellation import Deadline


def parse(
    id: str,  # noqa: A002 - the record's own word
    text: str,
    deadline: Deadline | None = None,
) -> Document:
    """Read a document; whatever is wrong with the text, there is one, with its problems noted.

    `text` is decoded, without a byte order mark, its lines ended by a line feed alone. What
    Obsidian hides between two `%%` is no part of the document. Raises `TookTooLong` when the
    deadline passes.
    """
    if is_plain(id):
        fields = Fields(title=_fallback_title(id, ()))
        return Document(id, text, 0, fields, blocks=tuple(plain_blocks(text, 0)))
    deadline = deadline or Deadline()
    front = read_frontmatter(text)
    text = without_obsidian_comments(text, front.body)
    lines = LineNumbers(text)
    outline = read_blocks(text, front.body, lines, deadline)
    definitions = read_definitions(text, outline)
    headings = _read_headings(text, outline, definitions, deadline)
    references = read_references(text, outline, definitions, lines, deadline)
    fields = read_fields(front)
    fields = replace(
        fields,
        title=fields.title or _fallback_title(id, headings),
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


def _fallback_title(document_id: str, headings: Iterable[Heading]) -> str:
    """Return the first H1 that says something, else the name of the file or of its folder."""
    for heading in headings:
        if heading.level == 1 and heading.text:
            return heading.text
    path = PurePosixPath(document_id)
    if path.stem.lower() in INDEX_PAGES and path.parent.name:
        return path.parent.name.removeprefix("@")
    return path.stem


# ── Headings ─────────────────────────────────────────────────────────────────

_BLANKS = " \t"
_MOST_MARKUP = 5 * limits.HEADING  # characters of a heading that are read: markup takes some


def _read_headings(
    text: str, outline: Outline, definitions: Definitions, deadline: Deadline
) -> tuple[Heading, ...]:
    """Read the headings; of a very long one the beginning, which is noted in the outline."""
    found = []
    for place in outline.headings:
        deadline.check()
        start = text.rfind("\n", 0, place.start) + 1
        level, content = _split(text[place.start : place.end].removesuffix("\n"))
        content = without_attributes(content)
        shown = plain_text(content[:_MOST_MARKUP], definitions)
        if len(shown) > limits.HEADING or len(content) > _MOST_MARKUP:
            outline.cuts.setdefault("heading", start)
            shown = shown[: limits.HEADING - 1].rstrip() + "…"
        found.append(Heading(level, shown, start))
    return tuple(found)


# Patterns with two stretches of blanks in a row take time that grows with the square of a stretch.


def _split(written: str) -> tuple[int, str]:
    """Return the level and the marked-up text of a heading."""
    bare = written.lstrip(_BLANKS)
    marks = len(bare) - len(bare.lstrip("#"))
    if 1 <= marks <= 6 and bare[marks : marks + 1] in ("", *_BLANKS, "\n"):
        return marks, _without_closing(bare[marks:])
    content, _, underline = written.rpartition("\n")
    line = underline.strip(_BLANKS + ">")
    if content and line and not line.strip("=-"):
        return (1 if line[0] == "=" else 2), content
    return 6, written


def _without_closing(content: str) -> str:
    """Return a heading without the marks that may close it: `# Title #`."""
    content = content.strip(_BLANKS)
    open_ = content.rstrip("#")
    return open_.rstrip(_BLANKS) if not open_ or open_[-1] in _BLANKS else content


# ── What could not be read ───────────────────────────────────────────────────

_NESTED_TOO_DEEP = (
    f"quotes or lists are nested {MOST_NESTED} deep, so the line was read as plain text; "
    "flatten it to have it read as Markdown"
)

_SPLIT = "split the document to have all of them found"

_TOO_MUCH = {
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


def _problems(
    document_id: str,
    front: Frontmatter,
    outline: Outline,
    references: References,
    lines: LineNumbers,
) -> tuple[LeftOut, ...]:
    """List what could not be read; of lines that have the same trouble only the first is named."""
    cuts = {what: lines.at(offset) for what, offset in outline.cuts.items()} | references.cuts
    problems = [
        *front.problems,
        *(Problem(line, _NESTED_TOO_DEEP) for line in outline.flattened[:1]),
        *(Problem(line, _TOO_MUCH[what]) for what, line in cuts.items()),
    ]
    reasons = (f"Line {problem.line}: {problem.what}." for problem in problems)
    return tuple(LeftOut(document_id, reason, whole=False) for reason in reasons)
