"""Which files could not be read, noted with the project: a status does not call them new."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from dowse._model import SourceFile
from dowse._util.decoding import read_small
from dowse._util.files import replace_file

_FILE = "unread.json"


def note_unread(folder: Path, ids: Iterable[str], began_ns: int, *, whole: bool) -> None:
    """Notes the files that a run, which began then, could not read; a `whole` run saw all files."""
    noted = ({} if whole else _noted(folder)) | dict.fromkeys(ids, began_ns)
    with suppress(OSError):  # a note that is missing only makes a status less precise
        if noted:
            replace_file(folder / _FILE, json.dumps(noted).encode())
        else:
            (folder / _FILE).unlink(missing_ok=True)


def unread_of(folder: Path, sources: Iterable[SourceFile]) -> set[str]:
    """Those of some files that could not be read, and have not changed since."""
    noted = _noted(folder)
    return {one.id for one in sources if one.mtime_ns < noted.get(one.id, 0)}


def _noted(folder: Path) -> dict[str, int]:
    try:
        record = json.loads(read_small(folder / _FILE))
        return {str(id_): int(since) for id_, since in record.items()}
    except (OSError, ValueError, RecursionError, TypeError, AttributeError):
        return {}
