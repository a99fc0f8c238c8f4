"""Golden cases are documents.

A Markdown file holds cases, each a second-level heading with an `input` and an `expected` fence;
the folder and name of the file say what is printed and compared. After `input` comes the id of the
document, and then options as `name=value`. In the folder `query` each line of the input is a query.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from dowse._index.chunk import chunk
from dowse._index.markdown.document import parse
from dowse._index.options import ChunkOptions
from dowse._model import Condition, Document, Fields, Query, header_line
from dowse._search.query import Known, understand
from dowse._search.understand import classify
from dowse._text.analyzer import TextAnalyzer
from dowse._text.options import KeywordOptions

HERE = Path(__file__).parent
ANALYZER = TextAnalyzer(KeywordOptions())
KNOWN = Known(
    has_field={"status", "rating", "due", "due date"}.__contains__,
    beginning=lambda prefix: [prefix + "entication", prefix + "or"],
    now=datetime(2025, 11, 13, 12, tzinfo=UTC).timestamp(),
)

CASE = re.compile(
    r"""
    ^\#\#[ ](?P<title>[^\n]+)\n
    (?P<prose>(?:(?!^~~~|^\#\#[ ]).)*)
    ^(?P<mark>~{3,})[ ]input[ ](?P<info>[^\n]+)\n (?P<input>.*?) ^(?P=mark)\n
    \n
    ^(?P<mark2>~{3,})[ ]expected\n (?P<expected>.*?) ^(?P=mark2)$
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)


class Case(NamedTuple):
    printer: str
    title: str
    document: Document
    options: dict[str, str]
    expected: str


def print_fields(case: Case) -> Iterator[str]:
    fields = case.document.fields
    for name in ("title", "description", "category"):
        if value := getattr(fields, name):
            yield f"{name}: {value}"
    for name in ("keywords", "tags", "aliases", "author"):
        if values := getattr(fields, name):
            yield f"{name}: {' | '.join(values)}"
    for name in ("created", "modified"):
        if (seconds := getattr(fields, name)) is not None:
            yield f"{name}: {datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"
    yield from (f"! {problem.reason}" for problem in case.document.problems)
    yield f"body: {case.document.text[case.document.body :].strip()!r}"


def print_headings(case: Case) -> Iterator[str]:
    document = case.document
    for heading in document.headings:
        line = document.text.count("\n", 0, heading.start) + 1
        yield f"{line}: H{heading.level} {heading.text}"


def print_blocks(case: Case) -> Iterator[str]:
    for block in case.document.blocks:
        yield f"{block.kind}: {case.document.text[block.start : block.end]!r}"


def print_code(case: Case) -> Iterator[str]:
    for code in case.document.code_blocks:
        yield f"{code.first_line}-{code.last_line} [{code.language}] {code.text!r}"


def print_links(case: Case) -> Iterator[str]:
    for link in case.document.links:
        anchor = f" # {link.anchor}" if link.anchor else ""
        label = f" | {link.label}" if link.label else ""
        yield f"{link.line}: {link.kind} {link.target}{anchor}{label}"


def print_tags(case: Case) -> Iterator[str]:
    yield from case.document.fields.tags


def print_chunks(case: Case) -> Iterator[str]:
    options = {k: v if k == "strategy" else int(v) for k, v in case.options.items()}
    cut = chunk(case.document, ChunkOptions(**options))  # type: ignore[arg-type]
    for section in cut.sections:
        yield f"section {section.first_line}-{section.last_line} {path(section.header_path)}"
        for each in (each for each in cut.chunks if each.section == section.id):
            text = cut.text_of(each)
            repeated, own = text[: each.overlap], text[each.overlap :]
            yield f"  chunk {each.first_line}-{each.last_line} {path(each.header_path)}"
            if repeated:
                yield f"    repeated: {repeated!r}"
            yield f"    {own!r}"


def print_embedded(case: Case) -> Iterator[str]:
    cut = chunk(case.document, ChunkOptions())
    for each in cut.chunks:
        yield from cut.embedding_text(each).split("\n")


def print_stems(case: Case) -> Iterator[str]:
    text = case.document.text
    language = ANALYZER.language(text)
    own = {term for term, _ in ANALYZER.chunk_terms(Fields(), (), text)}
    all_terms = [term for term, _ in ANALYZER.chunk_terms(Fields(), (), text, language)]
    yield f"language: {language or 'none'}"
    stems = dict.fromkeys(term for term in all_terms if term not in own)
    yield f"stems: {' '.join(stems) or 'none'}"


def print_query(case: Case) -> Iterator[str]:
    for line in case.document.text.splitlines():
        yield line
        yield from (f"    {each}" for each in print_understood(understand(line, ANALYZER, KNOWN)))


def print_understood(query: Query) -> Iterator[str]:
    if query.text:
        yield f"reads {query.text!r}"
    if query.prefixes:
        yield f"completes {' | '.join(query.prefixes)}"
    yield from (print_condition(condition) for condition in query.conditions)
    yield from (f"! {notice}" for notice in query.notices)


def print_condition(condition: Condition) -> str:
    verb = "not" if condition.negated else "only"
    return f"{verb} {print_demand(condition)}, as written: {condition.written}"


def print_demand(condition: Condition) -> str:
    if condition.parts:
        parts = (("not " if one.negated else "") + print_demand(one) for one in condition.parts)
        return f"{condition.kind} ({', '.join(parts)})"
    values = " | ".join(condition.values)
    if condition.kind == "field":
        return f"field {condition.name} {condition.sign} {values}".rstrip()
    return (
        f"{condition.kind} {values or f'{datetime.fromtimestamp(condition.bound, UTC):%Y-%m-%d}'}"
    )


def print_kind(case: Case) -> Iterator[str]:
    yield from (f"{classify(line)}: {line}" for line in case.document.text.splitlines())


def path(headers: tuple[str, ...]) -> str:
    return f"({header_line(headers)})"


PRINTERS: dict[str, Callable[[Case], Iterator[str]]] = {
    "analyze/languages": print_stems,
    "parse/frontmatter": print_fields,
    "parse/headings": print_headings,
    "parse/blocks": print_blocks,
    "parse/code": print_code,
    "parse/links": print_links,
    "parse/tags": print_tags,
    "chunk/headers": print_chunks,
    "chunk/fixed": print_chunks,
    "chunk/embedded": print_embedded,
    "query/words": print_query,
    "query/phrases": print_query,
    "query/exclusions": print_query,
    "query/fields": print_query,
    "query/prefixes": print_query,
    "query/operators": print_query,
    "query/properties": print_query,
    "query/kinds": print_kind,
}


def cases(file: Path) -> Iterator[Case]:
    printer = file.relative_to(HERE).with_suffix("").as_posix()
    for match in CASE.finditer(file.read_text(encoding="utf-8")):
        document_id, *options = match["info"].split()
        document = parse(document_id, match["input"])
        pairs = dict(option.split("=", 1) for option in options)
        yield Case(printer, match["title"], document, pairs, match["expected"])


def all_cases() -> Iterator[object]:
    for file in sorted(HERE.rglob("*.md")):
        for case in cases(file):
            yield pytest.param(case, id=f"{case.printer}: {case.title}")


@pytest.mark.parametrize("case", list(all_cases()))
def test_golden(case: Case) -> None:
    printed = "".join(f"{line}\n" for line in PRINTERS[case.printer](case))
    assert printed == case.expected


@pytest.mark.parametrize("file", sorted(HERE.rglob("*.md")), ids=lambda file: file.stem)
def test_every_case_is_read(file: Path) -> None:
    written = file.read_text(encoding="utf-8")
    assert len(list(cases(file))) == len(re.findall(r"^~+ expected$", written, re.MULTILINE)) > 0
