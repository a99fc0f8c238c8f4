"""Judged collections, as they are found in folders.

    docs/ or corpus.jsonl    the documents: files, or {"_id", "title", "text"} per line
    queries.jsonl            {"_id", "text", "type"} per line; or topics, as TREC has them
    qrels.tsv                query-id, corpus-id, score under a header; or TREC's four columns

Without documents or queries a collection can still judge run files.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from dowse._project.evaluation.measures import SEED, Collection, JudgedQuery
from dowse._util.files import create_private_file, make_private_folder, replace_file, sync_tree
from dowse.errors import NotFound, UsageError

UNANSWERABLE = "unanswerable"
"""The type of queries that have no answer in the collection."""

_DOCUMENTS = ("docs", "corpus.jsonl")
_QUERIES = ("queries.jsonl", "topics.tsv", "queries.tsv", "topics.txt", "topics")
_JUDGMENTS = ("qrels.tsv", "qrels.txt", "qrels.trec", "qrels", "qrels/test.tsv")

Judgments = dict[str, dict[str, int]]
"""Grades by query and document."""


def read_collection(path: Path) -> Collection:
    """The collection in a folder, or only the judgments of a qrels file.

    Queries that no document was judged to answer are left out and counted, unless their type says
    that they are unanswerable. Raises `NotFound` for what is missing, `UsageError` for what is
    broken.
    """
    if path.is_file():
        judgments = read_judgments(path)
        return _collection(path.stem, None, _unasked(judgments), judgments)
    if not path.is_dir():
        raise NotFound(f"There is no collection {path}.", "Name a folder that is there.")
    file = _first(path, _JUDGMENTS)
    if file is None or file.is_dir():
        raise NotFound(f"{path} has no judgments.", "Put them into qrels.tsv.")
    judgments, asked = read_judgments(file), _first(path, _QUERIES)
    queries = _read_queries(asked) if asked else _unasked(judgments)
    _check_types(queries, judgments, file)
    strangers = sorted(set(judgments) - set(queries))
    if strangers:
        raise UsageError(
            f"{file} judges the query {strangers[0]!r}, which is not in {asked}.",
            "Take the judgment out, or put the query in.",
        )
    name = path.resolve().name
    return _collection(name, _first(path, _DOCUMENTS), queries, judgments)


def sample(collection: Collection, count: int) -> Collection:
    """The collection with so many of its queries, always the same ones, in their order."""
    if count >= len(collection.queries):
        return collection
    places = random.Random(SEED).sample(range(len(collection.queries)), count)  # noqa: S311
    return replace(collection, queries=tuple(collection.queries[n] for n in sorted(places)))


def read_judgments(path: Path) -> Judgments:
    """The grades above 0, by query and document; queries without any are there with none."""
    judgments: Judgments = {}
    for number, line in lines_of(path):
        columns = line.split("\t") if "\t" in line else line.split()
        if number == 1 and columns[0].strip() == "query-id":
            continue
        query, document, grade = _judgment(columns, path, number)
        grades = judgments.setdefault(query, {})
        if grades.setdefault(document, grade) != grade:
            raise UsageError(
                f"{path}, line {number}: {document!r} has two grades for query {query!r}.",
                "Keep one of them.",
            )
    positive = (
        (query, {document: grade for document, grade in grades.items() if grade > 0})
        for query, grades in judgments.items()
    )
    return dict(positive)


def _judgment(columns: Sequence[str], path: Path, number: int) -> tuple[str, str, int]:
    cells = [cell.strip() for cell in columns]
    if len(cells) == 4:
        cells.pop(1)  # TREC's second column means nothing
    try:
        query, document, grade = cells
        if query and document:
            return query, unicodedata.normalize("NFC", document), int(grade)
    except ValueError:
        pass
    raise UsageError(
        f"{path}, line {number}: this is no judgment.",
        "A line is: query, document, grade, between tabs; or TREC's query 0 document grade.",
    )


def _read_queries(path: Path) -> dict[str, JudgedQuery]:
    """The queries of a file by their ids, not judged yet."""
    queries: dict[str, JudgedQuery] = {}
    is_json = path.suffix == ".jsonl"
    for number, identifier, row in json_lines(path) if is_json else read_topics(path):
        text, kind = text_of(row, "text", path, number), row.get("type")
        if identifier in queries:
            raise UsageError(
                f"{path}, line {number}: there are two queries {identifier!r}.",
                "Give each query an id of its own.",
            )
        kind = kind.strip() if isinstance(kind, str) else ""
        queries[identifier] = JudgedQuery(identifier, text, kind, {})
    return queries


def _check_types(queries: Mapping[str, JudgedQuery], judgments: Judgments, file: Path) -> None:
    for identifier, asked in queries.items():
        if asked.type == UNANSWERABLE and judgments.get(identifier):
            raise UsageError(
                f"The query {identifier!r} is {UNANSWERABLE}, but {file} names an answer.",
                "Give it another type, or take the judgment out.",
            )


def _unasked(judgments: Judgments) -> dict[str, JudgedQuery]:
    """Queries of which only the ids are known: enough to judge run files."""
    return {identifier: JudgedQuery(identifier, "", "", {}) for identifier in judgments}


def _collection(
    name: str, documents: Path | None, queries: Mapping[str, JudgedQuery], judgments: Judgments
) -> Collection:
    judged = [replace(one, relevant=judgments.get(one.id, {})) for one in queries.values()]
    kept = tuple(query for query in judged if query.relevant or query.type == UNANSWERABLE)
    if not kept:
        raise UsageError(f"{name} has no query with a judgment.", "Judge some of its queries.")
    return Collection(name, documents, kept, len(judged) - len(kept))


def _first(folder: Path, names: Iterable[str]) -> Path | None:
    """The first of these that is there; a folder that only holds others is none."""
    here = [folder / name for name in names]
    return next(
        (one for one in here if one.is_file() or (one.is_dir() and one.name != "qrels")), None
    )


# ── Lines and topics ────────────────────────────────────────────────────────────


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


_NUMBER = re.compile(r"<num>\s*(?:Number:)?\s*(\S+?)\s*(?:</num>.*)?", re.IGNORECASE)
_TITLE = re.compile(
    r"<(?:title|query)>\s*(?:Topic:)?\s*(.*?)\s*(?:</(?:title|query)>.*)?", re.IGNORECASE
)


def read_topics(path: Path) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """The queries of a topics file, as `json_lines` gives those of JSON Lines."""
    lines = list(lines_of(path))
    tagged = any(line.lstrip().lower().startswith("<top") for _, line in lines)
    for number, identifier, text in _tagged(path, lines) if tagged else _tabbed(path, lines):
        yield number, identifier, {"text": text}


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


# ── A corpus.jsonl as a folder of Markdown files, indexed as documents are ──────


_MARKER = "corpus.sha256"  # next to the folder: what its files were written from


def lay_out(corpus: Path, folder: Path) -> dict[str, str]:
    """Writes each document into a file of its own; gives the corpus' id of each file.

    Files are named by a hash of the id, which may hold anything. A corpus that has not changed is
    only read; of one that has, only what differs is written.
    """
    names: dict[str, str] = {}
    marker, digest = folder.parent / _MARKER, _digest(corpus)
    fresh = not marker.is_file() or marker.read_text("utf-8") != digest
    if fresh:
        marker.unlink(missing_ok=True)
        make_private_folder(folder)
    for number, identifier, row in json_lines(corpus):
        name = f"{hashlib.sha256(identifier.encode('utf-8', 'replace')).hexdigest()[:16]}.md"
        if name in names:
            raise UsageError(
                f"{corpus}, line {number}: there are two documents {identifier!r}.",
                "Give each document an id of its own.",
            )
        if "text" not in row:  # it may be empty, but not called otherwise
            raise UsageError(
                f"{corpus}, line {number} has no text.",
                'A line is: {"_id": "1", "title": "…", "text": "…"}',
            )
        names[name] = identifier
        if fresh:
            _write(folder / name, _markdown(row))
    if fresh:
        _remove_others(folder, names)
        sync_tree(folder)
        replace_file(marker, digest.encode())
    return names


def _digest(corpus: Path) -> str:
    try:
        with corpus.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise NotFound(f"{corpus} cannot be read: {error}.", "Name one that can.") from error


def _markdown(row: Mapping[str, Any]) -> str:
    title, text = (row.get(field) or "" for field in ("title", "text"))
    heading = " ".join(str(title).split())
    # A text may begin like frontmatter without being any: an empty line before it keeps it text.
    return f"# {heading}\n\n{text}\n" if heading else f"\n{text}\n"


def _write(path: Path, text: str) -> None:
    data = text.encode("utf-8", "replace")
    if not path.is_file() or path.read_bytes() != data:
        create_private_file(path)
        path.write_bytes(data)


def _remove_others(folder: Path, names: Mapping[str, str]) -> None:
    for path in folder.iterdir():
        if path.name not in names:
            path.unlink()
