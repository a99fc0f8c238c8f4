"""Pictures of documents: only those that a document mentions and that are in its folder."""

from __future__ import annotations

from urllib.parse import quote

from dowse._index.source.pictures import read_picture
from dowse._interfaces.http.records import PictureRecord
from dowse._project.engine import Engine
from dowse.errors import NotFound


def picture(engine: Engine, reference: str, name: str) -> PictureRecord:
    """A picture that a document shows, by its path as the document writes it."""
    document = engine.get(reference).document
    if not _mentions(engine.get(document).text, name):
        raise NotFound(
            f"{document} does not mention the picture {name!r}.",
            "Write the path as the document does.",
        )
    found = read_picture(engine.project.named_roots, engine.settings.read, document, name)
    return PictureRecord(engine.project.name, document, name, found.type, found.data)


def _mentions(text: str, name: str) -> bool:
    """Whether a document names a path, plainly or as an address."""
    return name in text or quote(name) in text or name.replace(" ", "%20") in text
