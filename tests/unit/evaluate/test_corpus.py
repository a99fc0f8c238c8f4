"""The corpus that ships with the project has the form that its README promises."""

from __future__ import annotations

import json
import posixpath
import re
from collections import Counter
from pathlib import Path

from dowse._index.markdown.document import parse
from dowse._model import Document, Link
from dowse._search.dedup import near_duplicates
from rows import check_rows

CORPUS = Path(__file__).parents[3] / "benchmarks" / "corpus"
NEVER_WRITTEN = {"cyser"}  # a vault without a single dangling link would be no vault


def _documents() -> dict[str, Document]:
    paths = sorted((CORPUS / "docs").rglob("*.md"))
    ids = [path.relative_to(CORPUS / "docs").as_posix() for path in paths]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    return {id_: parse(id_, text) for id_, text in zip(ids, texts, strict=True)}


def _queries() -> list[dict[str, str]]:
    lines = (CORPUS / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _judgments() -> list[tuple[str, str, int]]:
    header, *lines = (CORPUS / "qrels.tsv").read_text(encoding="utf-8").splitlines()
    assert header == "query-id\tcorpus-id\tscore"
    rows = [line.split("\t") for line in lines]
    return [(query, document, int(grade)) for query, document, grade in rows]


DOCUMENTS = _documents()
QUERIES = _queries()
JUDGMENTS = _judgments()


# ── Documents ────────────────────────────────────────────────────────────────


def test_there_are_ten_documents_on_each_of_five_topics() -> None:
    topics = Counter(id_.split("/")[0] for id_ in DOCUMENTS)
    assert len(topics) == 5
    assert set(topics.values()) == {10}


def test_every_document_is_of_middling_length_and_parses_without_problems() -> None:
    def check(id_: str) -> None:
        document = DOCUMENTS[id_]
        assert not document.problems
        assert 250 <= len(document.text[document.body :].split()) <= 900
        assert len(document.headings) >= 3

    check_rows(DOCUMENTS, check)


def test_about_two_thirds_have_frontmatter() -> None:
    assert 30 <= sum(document.body > 0 for document in DOCUMENTS.values()) <= 37


def test_there_is_code_in_several_languages() -> None:
    blocks = [block for document in DOCUMENTS.values() for block in document.code_blocks]
    assert len({block.language for block in blocks}) >= 8


def test_links_lead_to_documents_and_to_headings_in_them() -> None:
    links = [(id_, link) for id_, document in DOCUMENTS.items() for link in document.links]
    lost = [(id_, link.target, link.anchor) for id_, link in links if not _resolves(id_, link)]
    assert {target for _, target, _ in lost} == NEVER_WRITTEN
    assert {link.kind for _, link in links} == {"wikilink", "relative", "related"}


def test_near_duplicates_are_there_to_be_found() -> None:
    texts = [document.text for document in DOCUMENTS.values()]
    assert len(near_duplicates(texts, 0.7)) >= 6


def test_some_paragraphs_are_in_several_documents() -> None:
    paragraphs = Counter(
        paragraph
        for document in DOCUMENTS.values()
        for paragraph in set(re.split(r"\n{2,}", document.text.strip()))
        if len(paragraph) > 150
    )
    assert sum(count >= 3 for count in paragraphs.values()) >= 3


def _resolves(source: str, link: Link) -> bool:
    target = _target(source, link.target)
    return target is not None and (not link.anchor or link.anchor in _anchors(target))


def _target(source: str, written: str) -> Document | None:
    """The document that a link means: by its path, else by the name of a file or an alias."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), written))
    named = [
        document
        for id_, document in DOCUMENTS.items()
        if written in {posixpath.basename(id_).removesuffix(".md"), *document.fields.aliases}
    ]
    return DOCUMENTS.get(path) or DOCUMENTS.get(f"{path}.md") or next(iter(named), None)


def _anchors(document: Document) -> set[str]:
    """Headings as wikilinks name them, and as web addresses do."""
    texts = {heading.text for heading in document.headings}
    return texts | {re.sub(r"[^\w-]", "", text.lower().replace(" ", "-")) for text in texts}


# ── Queries ──────────────────────────────────────────────────────────────────


def test_there_are_as_many_queries_of_each_type_as_promised() -> None:
    assert Counter(query["type"] for query in QUERIES) == {
        "factual": 35,
        "navigational": 25,
        "exploratory": 40,
        "unanswerable": 20,
    }


def test_every_query_has_a_name_that_says_its_type_and_a_text_of_its_own() -> None:
    assert all(query["_id"][0] == query["type"][0] for query in QUERIES)
    assert len({query["_id"] for query in QUERIES}) == len(QUERIES)
    assert len({query["text"].strip().lower() for query in QUERIES}) == len(QUERIES)


# ── Judgments ────────────────────────────────────────────────────────────────


def test_judgments_name_queries_and_documents_that_exist_and_each_pair_once() -> None:
    assert {query for query, _, _ in JUDGMENTS} <= {query["_id"] for query in QUERIES}
    assert {document for _, document, _ in JUDGMENTS} <= set(DOCUMENTS)
    assert len({(query, document) for query, document, _ in JUDGMENTS}) == len(JUDGMENTS)
    assert {grade for _, _, grade in JUDGMENTS} == {1, 2}


def test_exactly_the_answerable_queries_have_a_document_that_answers_them() -> None:
    answered = {query for query, _, grade in JUDGMENTS if grade == 2}
    assert answered == {query["_id"] for query in QUERIES if query["type"] != "unanswerable"}
    assert {query for query, _, _ in JUDGMENTS} == answered


def test_every_document_answers_something() -> None:
    assert {document for _, document, grade in JUDGMENTS if grade == 2} == set(DOCUMENTS)
