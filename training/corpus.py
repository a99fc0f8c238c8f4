"""Chunks of documentation and queries for them, as lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

SHARE_ALIKE = frozenset({"pingcap+docs", "OWASP+CheatSheetSeries", "xquad", "qed"})
"""Sources whose licence would have to hold for the weights too; they are not used at all."""

HELD_OUT = frozenset({"18F+handbook", "laravel+docs", "prometheus+docs", "simonw+til", "ms-faq"})
"""Whole sources of different kinds that only judge: prose, framework, operations, notes, FAQ."""


class Chunk(NamedTuple):
    """A passage and where it is from."""

    source: str
    document: int  # documents of all sources have different numbers
    title: str
    path: list[str]  # the headings above it
    text: str


@dataclass(frozen=True, slots=True)
class Query:
    """What somebody could ask, and the chunks of which at least one answers it."""

    kind: str
    text: str
    source: str
    first: int  # the number of the first chunk that answers
    last: int  # the number after the last one
    hidden: bool = False  # the passage is read without its own headings
    cut: tuple[int, int] | None = (
        None  # part of the chunk's text that is removed: the query's origin
    )
    key: str = ""  # a heading; chunks with an equal one are no wrong answers


def read_chunks(path: Path) -> list[Chunk]:
    """The chunks in a file, whose places in the list are their numbers."""
    with path.open(encoding="utf-8") as file:
        return [Chunk(*json.loads(line)) for line in file]


def read_queries(path: Path) -> list[Query]:
    """The queries in a file."""
    with path.open(encoding="utf-8") as file:
        return [_query(json.loads(line)) for line in file]


def write_lines(path: Path, records: Iterable[Chunk | Query]) -> None:
    """Writes chunks or queries, one on each line."""
    with path.open("w", encoding="utf-8") as file:
        for one in records:
            row = list(one) if isinstance(one, Chunk) else asdict(one)
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def may_train(source: str) -> bool:
    """Whether a source may be trained on."""
    return source not in SHARE_ALIKE and source not in HELD_OUT


def chunks_of(folder: Path, first_document: int = 0, every: int = 1) -> Iterator[tuple[str, Chunk]]:
    """The chunks of a folder, cut as dowse cuts them, with the path of their document."""
    from dowse._index.chunk import chunk  # noqa: PLC0415  (training itself needs no dowse)
    from dowse._index.markdown.document import parse  # noqa: PLC0415  (as above)
    from dowse._index.options import ChunkOptions  # noqa: PLC0415  (training itself needs no dowse)

    paths = sorted(path for path in folder.rglob("*.md") if path.is_file())[::every]
    for number, path in enumerate(paths, first_document):
        name = path.relative_to(folder).as_posix()
        document = parse(name, path.read_text("utf-8", "replace"))
        cut = chunk(document, ChunkOptions())
        for one in cut.chunks:
            title = document.fields.title
            made = Chunk(folder.name, number, title, list(one.header_path), cut.text_of(one))
            yield name, made


def _query(row: dict[str, Any]) -> Query:
    return Query(**row) if "kind" in row else _short(row)


def _short(row: dict[str, Any]) -> Query:
    """A query of the first corpus, whose fields have names of one letter."""
    first, last = row["s"] if "s" in row else (row["c"], row["c"] + 1)
    cut = tuple(row["u"]) if "u" in row else None
    return Query(
        row["k"], row["q"], row["r"], first, last, bool(row.get("h")), cut, row.get("y", "")
    )
