"""Judged collections, as they are found in folders, and runs over them.

docs/            the documents
queries.jsonl    {"_id", "text", "type"} per line; or queries.tsv: id, tab, text
qrels.tsv        query-id, corpus-id, score under a header; or TREC's four columns
"""

from __future__ import annotations

import json
import random
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from dowse._search.request import NO_FILTERS, Filters
from dowse.errors import NotFound, UsageError

SEED = 20_240_229
"""What every random choice of an evaluation begins with."""


class JudgedQuery(Struct, frozen=True):
    """A query, and which documents answer it."""

    id: str
    text: str
    type: str  # as the collection names it; "" when it names none
    relevant: Mapping[str, int]  # by document id: 1 helps, 2 and more answers; empty: nothing does
    filters: Filters = NO_FILTERS  # what it demands besides its words

    @property
    def answer(self) -> str:
        """Return the document that answers it best."""
        return min(self.relevant, key=lambda document: (-self.relevant[document], document))


class Collection(Struct, frozen=True):
    """Documents with queries that somebody has judged."""

    name: str
    documents: Path | None  # a folder; None when a project has them
    queries: tuple[JudgedQuery, ...]
    unjudged: int = 0  # queries that were left out because no document was judged to answer them

    @property
    def answerable(self) -> tuple[JudgedQuery, ...]:
        """List the queries that measures are taken over."""
        return tuple(query for query in self.queries if query.relevant)

    @property
    def unanswerable(self) -> tuple[JudgedQuery, ...]:
        """List the queries that a good search finds nothing for."""
        return tuple(query for query in self.queries if not query.relevant)


class Run(Struct, frozen=True):
    """What one way of searching found for every query."""

    name: str
    # By query id, best first: documents, each once, with scores that never increase.
    found: Mapping[str, tuple[tuple[str, float], ...]]
    seconds: Mapping[str, float] = field(default_factory=dict)  # by query id
    confidence: Mapping[str, float] = field(default_factory=dict)  # of the best, found or rejected
    notices: tuple[str, ...] = ()  # what searching could not do for most queries
    marked: frozenset[str] = frozenset()  # queries whose results are marked as no good match
    min_confidence: float | None = None  # the threshold as set, -1 the fitted one


# ── Collections ─────────────────────────────────────────────────────────────────

_UNANSWERABLE = "unanswerable"  # the type of queries that have no answer in the collection
_JUDGMENTS = ("qrels.tsv", "qrels.txt", "qrels.trec", "qrels", "qrels/test.tsv")


def read_collection(path: Path) -> Collection:
    """Read the collection in a folder.

    Queries that no document was judged to answer are left out and counted, unless their type says
    that they are unanswerable. Raise `NotFound` for what is missing, `UsageError` for what is
    broken.
    """
    if not path.is_dir():
        raise NotFound(f"There is no collection {path}.", "Name a folder that is there.")
    name, file = path.resolve().name, _first(path, _JUDGMENTS)
    if file is None or file.is_dir():
        raise NotFound(f"{path} has no judgments.", "Put them into qrels.tsv.")
    judgments = _read_judgments(file)
    asked = _first(path, ("queries.jsonl", "topics.tsv", "queries.tsv", "topics.txt", "topics"))
    if asked is None:
        raise NotFound(f"{path} has no queries.", "Put them into queries.jsonl.")
    queries = _read_queries(asked)
    if strangers := sorted(judgments.keys() - {query.id for query in queries}):
        raise UsageError(
            f"{file} judges the query {strangers[0]!r}, which is not in {asked}.",
            "Take the judgment out, or put the query in.",
        )
    kept = []
    for query in queries:
        relevant = judgments.get(query.id, {})
        if relevant and query.type == _UNANSWERABLE:
            raise UsageError(
                f"The query {query.id!r} is {_UNANSWERABLE}, but {file} names an answer.",
                "Give it another type, or take the judgment out.",
            )
        if relevant or query.type == _UNANSWERABLE:
            kept.append(replace(query, relevant=relevant))
    if not kept:
        raise UsageError(f"{name} has no query with a judgment.", "Judge some of its queries.")
    documents = _first(path, ("docs",))
    return Collection(name, documents, tuple(kept), len(queries) - len(kept))


def sample(collection: Collection, count: int) -> Collection:
    """Keep so many of the queries, always the same ones, in their order."""
    if count >= len(collection.queries):
        return collection
    places = random.Random(SEED).sample(range(len(collection.queries)), count)  # noqa: S311  it must be the same every time
    return replace(collection, queries=tuple(collection.queries[n] for n in sorted(places)))


def _first(folder: Path, names: Iterable[str]) -> Path | None:
    """Find the first of these that is there; a folder that only holds others is none."""
    here = [folder / name for name in names]
    return next(
        (one for one in here if one.is_file() or (one.is_dir() and one.name != "qrels")), None
    )


def _read_judgments(path: Path) -> dict[str, dict[str, int]]:
    """Read the grades above 0 by query and document; queries without any are there with none."""
    judgments: dict[str, dict[str, int]] = {}
    for number, line in lines_of(path):
        cells = [cell.strip() for cell in (line.split("\t") if "\t" in line else line.split())]
        if number == 1 and cells[0] == "query-id":
            continue
        if len(cells) == 4:
            cells.pop(1)  # TREC's second column means nothing
        if len(cells) != 3 or not all(cells) or not re.fullmatch(r"[+-]?\d+", cells[2]):
            raise UsageError(
                f"{path}, line {number}: this is no judgment.",
                "A line is: query, document, grade, between tabs; or TREC's query 0 document"
                " grade.",
            )
        query, document, grade = cells[0], unicodedata.normalize("NFC", cells[1]), int(cells[2])
        grades = judgments.setdefault(query, {})
        if grades.setdefault(document, grade) != grade:
            raise UsageError(
                f"{path}, line {number}: {document!r} has two grades for query {query!r}.",
                "Keep one of them.",
            )
    return {
        query: {document: grade for document, grade in grades.items() if grade > 0}
        for query, grades in judgments.items()
    }


def _read_queries(path: Path) -> list[JudgedQuery]:
    """Read the queries of a file, not judged yet: objects of JSON, or an id, a tab and a text."""
    queries: dict[str, JudgedQuery] = {}
    if path.suffix == ".jsonl":
        rows = list(json_lines(path))
    else:
        cells = ((number, *line.partition("\t")) for number, line in lines_of(path))
        rows = [(number, name.strip(), {"text": text.strip()}) for number, name, _, text in cells]
    for number, name, row in rows:
        text, kind = row.get("text"), row.get("type")
        if not name or not isinstance(text, str) or not text.strip():
            raise UsageError(
                f"{path}, line {number} has no {'text' if name else 'id'}.",
                "A line is: id, tab, text; or an object of JSON with _id and text.",
            )
        if name in queries:
            raise UsageError(
                f"{path}, line {number}: there are two queries {name!r}.",
                "Give each query an id of its own.",
            )
        written = kind.strip() if isinstance(kind, str) else ""
        queries[name] = JudgedQuery(name, text, written, {})
    return list(queries.values())


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Read the lines that say something, with their numbers."""
    try:
        # Only line feeds end lines: a text in JSON may hold other separators.
        with path.open(encoding="utf-8-sig", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except (FileNotFoundError, IsADirectoryError):
        raise NotFound(f"There is no file {path}.", "Name one that is there.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.", "It must be UTF-8 text.") from error


def json_lines(path: Path) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """Read the objects of a JSON Lines file, with their numbers and ids."""
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


# ── A run as a file of TREC ───────────────────────────────────────────────────────


def check_ids(queries: Iterable[str]) -> None:
    """Raise `UsageError` when no run over queries with these ids could be written to a file.

    Searching takes long: it is better known before.
    """
    for query in queries:
        if not query or re.search(r"\s", query):
            raise UsageError(
                f"The query id {query!r} cannot be written into a run file.",
                "Give queries ids without spaces.",
            )


def as_trec(run: Run) -> str:
    """Write a run as `trec_eval` reads it: `query Q0 document rank score tag`.

    Scores fall strictly, also as 32-bit numbers: other tools order by them alone.
    """
    check_ids(run.found)
    tag = re.sub(r"\s+", "-", run.name) or "dowse"
    lines: list[str] = []
    for query, ranking in run.found.items():
        last = np.float32(np.inf)
        for rank, (document, score) in enumerate(ranking, start=1):
            last = min(np.float32(score), np.nextafter(last, np.float32(-np.inf)))
            lines.append(f"{query} Q0 {document} {rank} {last} {tag}\n")
    return "".join(lines)
