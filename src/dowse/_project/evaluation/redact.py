"""A document without the texts that queries were drawn from, and whether it says them elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from dowse._index.markdown.document import parse
from dowse._model import Document
from dowse._project.evaluation.records import OwnQuery

_WORD = re.compile(r"\w+")


def hide(document_id: str, text: str, queries: Iterable[OwnQuery]) -> Document:
    """A document without what queries were drawn from; all else stays on its line."""
    drawn = list(queries)
    document = parse(document_id, text)
    if headings := [query for query in drawn if query.kind == "heading"]:
        document = parse(document_id, _without_headings(document, headings))
    kinds, fields = {query.kind for query in drawn}, document.fields
    if "description" in kinds:
        fields = replace(fields, description="")
    if "alias" in kinds:  # all of them: one often is another's plural, or spells it otherwise
        fields = replace(fields, aliases=())
    return replace(document, fields=fields)


def still_says(document: Document, query: OwnQuery) -> bool:
    """Whether a document says a query although its source is hidden: copied, not put into words.

    A heading or a description may be nowhere else. A short name may well occur in the text,
    but nothing else may be called so.
    """
    asked, fields = joined(query.written), document.fields
    names = [fields.title, *fields.aliases, *fields.keywords, *fields.tags]
    if query.kind in {"heading", "description"}:
        texts = [*names, fields.description, document.text[document.body :]]
        return any(asked in joined(text) for text in texts)
    names += [fields.description, *(heading.text for heading in document.headings)]
    return asked in map(joined, names)


def folded(text: str) -> str:
    """The words of a text, without case and signs."""
    return " ".join(_WORD.findall(text.casefold()))


def joined(text: str) -> str:
    """The same without spaces, so that an anchor says what its heading says."""
    return folded(text).replace(" ", "")


def _without_headings(document: Document, headings: Sequence[OwnQuery]) -> str:
    """The text with empty headings in their places, so that it is cut where it was cut before."""
    text, levels = document.text, {one.start: one.level for one in document.headings}
    ends = {block.start: block.end for block in document.blocks if block.kind == "heading"}
    for query in sorted(headings, key=lambda one: -one.start):
        end = ends[query.start]
        lines = text[query.start : end].count("\n")
        text = text[: query.start] + "#" * levels[query.start] + "\n" * lines + text[end:]
    for query in headings:
        text = _contents_entry(query.written).sub("", text)
    return text


def _contents_entry(heading: str) -> re.Pattern[str]:
    """What a table of contents says of a heading, with or without the name of its own file."""
    words = r"\s+".join(map(re.escape, heading.split()))
    return re.compile(
        rf"\[{words}\]\([^)\s#]*#[^)\n]*\)|\[\[[^\]|#\n]*#{words}(?:\|[^\]\n]*)?\]\]",
        re.IGNORECASE,
    )
