"""What conditions compare of a document, laid down when it is put."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from dowse._model import Document
from dowse._text.fold import fold

Facet = tuple[str, str]
"""A kind of condition and a folded value that it can be compared with."""


SECRETS = "secrets"
"""The kind of the facet that keeps how many secrets were left out; no condition asks for it."""


def facets_of(document: Document) -> list[Facet]:
    """The facets of a document, each once."""
    return sorted({(kind, fold(value)) for kind, value in _facets(document)})


def _facets(document: Document) -> Iterator[Facet]:
    fields = document.fields
    yield "title", fields.title
    yield "category", fields.category
    yield "path", document.id
    yield "file", posixpath.basename(document.id)
    yield "source", posixpath.splitext(document.id)[1].removeprefix(".")
    yield from (("author", author) for author in fields.author)
    for tag in fields.tags:
        yield "tag", tag
        yield from (("tag", tag[:place]) for place, sign in enumerate(tag) if sign == "/")
    if document.secrets:
        yield SECRETS, str(document.secrets)
    for name, values in fields.properties:
        yield from ((field_facet(name), value) for value in values or ("",))


def field_facet(name: str) -> str:
    """The kind of the facets that keep a field of the frontmatter."""
    return f"field:{fold(name)}"
