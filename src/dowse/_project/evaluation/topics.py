"""Topics, as TREC writes them: a query per line behind its id, or tagged records."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from dowse._project.evaluation.reading import lines_of
from dowse.errors import UsageError

_NUMBER = re.compile(r"<num>\s*(?:Number:)?\s*(\S+?)\s*(?:</num>.*)?", re.IGNORECASE)
_TITLE = re.compile(
    r"<(?:title|query)>\s*(?:Topic:)?\s*(.*?)\s*(?:</(?:title|query)>.*)?", re.IGNORECASE
)


def read_topics(path: Path) -> Iterator[tuple[int, str, str]]:
    """The queries of a topics file: line number, id, text."""
    lines = list(lines_of(path))
    tagged = any(line.lstrip().lower().startswith("<top") for _, line in lines)
    yield from _tagged(path, lines) if tagged else _tabbed(path, lines)


def _tabbed(path: Path, lines: list[tuple[int, str]]) -> Iterator[tuple[int, str, str]]:
    for number, line in lines:
        identifier, _, text = (part.strip() for part in line.strip().partition("\t"))
        if not identifier or not text:
            raise UsageError(
                f"{path}, line {number}: this is no query.", "A line is: id, tab, text"
            )
        yield number, identifier, text


def _tagged(path: Path, lines: list[tuple[int, str]]) -> Iterator[tuple[int, str, str]]:
    """Each topic's number and title; the title may be on the line after its tag."""
    identifier, waiting = "", False
    for number, line in lines:
        stripped = line.strip()
        if match := _NUMBER.fullmatch(stripped):
            identifier = match[1]
        match = _TITLE.fullmatch(stripped)
        text = match[1] if match else stripped if waiting else ""
        waiting = bool(match) and not text
        if not text:
            continue
        if not identifier:
            raise UsageError(f"{path}, line {number}: a title without <num>.", "Number the topic.")
        yield number, identifier, text
        identifier = ""
