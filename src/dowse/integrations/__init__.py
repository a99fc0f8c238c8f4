"""dowse as a part of other people's frameworks; each adapter needs the extra of its name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dowse import DISTRIBUTION
from dowse._model import Hit, header_line


@contextmanager
def needs_extra(name: str) -> Iterator[None]:
    """Say which extra to install when a package is missing that the block imports."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ImportError(
            f"dowse.integrations.{name} needs the package {error.name}."
            f" Install it with: pip install '{DISTRIBUTION}[{name}]'",
            name=error.name,
        ) from error


def metadata_of(hit: Hit, project: str, path: str) -> dict[str, Any]:
    """Return the facts of a result in plain values, which every framework can keep as JSON."""
    return {
        "project": project,
        "document": hit.document,
        "path": path,
        "source": path,  # where chains that cite look for it
        "title": hit.title,
        "header_path": header_line(hit.header_path),
        "line": hit.line,
        "page": hit.page,
        "first_line": hit.first_line,
        "last_line": hit.last_line,
        "section": hit.section,
        "tags": list(hit.tags),
        "modified": hit.date,
        "match": hit.match,
        "reason": hit.reason,
        "score": hit.score,
        "stale": hit.stale,
        "more": [f"{one.first_line}-{one.last_line}" for one in hit.more],
    }
