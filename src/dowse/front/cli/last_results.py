"""The last list of results, so that `dowse open 2` opens the second of them."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass

from dowse.decoding import read_small
from dowse.files import make_private_folder, replace_file
from dowse.locations import Locations
from dowse.types import Response

_FILE = "last-results.json"


@dataclass(frozen=True, slots=True)
class Result:
    """One place of the list."""

    project: str
    document: str
    line: int


def remember(where: Locations, project: str, response: Response) -> None:
    """Keeps the places of a response; where nothing can be written, nothing is kept."""
    hits = response.hits or response.nearest
    listed = [[hit.project or project, hit.document, hit.line] for hit in hits]
    with suppress(OSError):
        make_private_folder(where.cache)
        replace_file(where.cache / _FILE, json.dumps(listed).encode())


def recall(where: Locations) -> list[Result]:
    """The last list; empty when there was none."""
    try:
        listed = json.loads(read_small(where.cache / _FILE))
        return [Result(str(project), str(name), int(line)) for project, name, line in listed]
    except (OSError, ValueError, TypeError, RecursionError):
        return []
