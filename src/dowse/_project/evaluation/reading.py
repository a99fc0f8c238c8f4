"""The files of a collection, line by line; what is wrong with one is reported with its number."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dowse.errors import NotFound, UsageError


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that say something, with their numbers."""
    try:
        # Only line feeds end lines: a text in JSON may hold other separators.
        with path.open(encoding="utf-8-sig", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except FileNotFoundError:
        raise NotFound(f"There is no file {path}.", "Name one that is there.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.", "It must be UTF-8 text.") from error


def json_lines(path: Path) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """The objects of a JSON Lines file with their numbers and ids."""
    for number, line in lines_of(path):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UsageError(
                f"{path}, line {number} is not JSON: {error}.", "Put one object on each line."
            ) from error
        identifier = row.get("_id") if isinstance(row, dict) else None
        if not isinstance(identifier, str | int) or not str(identifier).strip():
            raise UsageError(
                f"{path}, line {number} has no _id.", 'A line is: {"_id": "1", "text": "…"}'
            )
        yield number, str(identifier).strip(), row


def text_of(row: Mapping[str, Any], field: str, path: Path, number: int) -> str:
    """A field that must hold text."""
    text = row.get(field)
    if not isinstance(text, str) or not text.strip():
        raise UsageError(f"{path}, line {number} has no {field}.", "Give it some words.")
    return text
