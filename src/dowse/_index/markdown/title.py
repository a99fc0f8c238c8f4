"""What a document is called when its frontmatter does not say."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from dowse._model import Heading
from dowse._text.file_names import INDEX_PAGES


def fallback_title(document_id: str, headings: Iterable[Heading]) -> str:
    """The first H1 that says something, else the name of the file, or of the folder it opens."""
    for heading in headings:
        if heading.level == 1 and heading.text:
            return heading.text
    path = PurePosixPath(document_id)
    if path.stem.lower() in INDEX_PAGES and path.parent.name:
        return path.parent.name.removeprefix("@")
    return path.stem
