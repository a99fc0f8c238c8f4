"""The last list of results, so that `dowse open 2` opens the second of them."""

from __future__ import annotations

import json
from contextlib import suppress

from msgspec import Struct

from dowse._model import Response
from dowse._util.files import make_private_folder, read_small, replace_file
from dowse._util.locations import Locations

_FILE = "last-results.json"


class Result(Struct, frozen=True):
    """One place of the list."""

    project: str
    document: str
    line: int


def remember(where: Locations, response: Response) -> None:
    """Keep the places of a response; if nothing can be written, nothing is kept."""
    hits = response.hits or response.nearest
    skipped: list[object] = [None] * response.offset  # so that numbers are those of the whole list
    listed = skipped + [[hit.project, hit.document, hit.line] for hit in hits]
    with suppress(OSError):
        make_private_folder(where.cache)
        replace_file(where.cache / _FILE, json.dumps(listed).encode())


def recall(where: Locations) -> dict[int, Result]:
    """Return the last list, by the numbers that it showed; empty if there was none."""
    try:
        listed = json.loads(read_small(where.cache / _FILE))
        return {number: _result(*one) for number, one in enumerate(listed, start=1) if one}
    except (OSError, ValueError, TypeError, RecursionError):
        return {}


def _result(project: object, document: object, line: int) -> Result:
    return Result(str(project), str(document), int(line))
