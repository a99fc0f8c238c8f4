"""What a query finds by words in a real index, once it is understood and rewritten."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from documents import make_document
from dowse._model import Batch, Fields, IndexedDocument
from dowse._model.ports import IndexReader, Store
from dowse._search.query import Known, understand
from dowse._search.request import meeting
from dowse._search.understand import correct
from dowse._store.store import EmbeddedStore
from dowse._text.analyzer import TextAnalyzer
from dowse._text.options import KeywordOptions
from memory_store import MemoryStore
from rows import check_rows

_ANALYZER = TextAnalyzer(KeywordOptions())
_KNOWN = Known(
    has_field={"kind"}.__contains__,
    beginning=lambda prefix: [prefix + "es"],
)
_NOTES = {
    "login.md": ("Authentication works with a token and a session.", "howto"),
    "rights.md": ("After authentication comes authorization, by role.", "reference"),
    "deploy.md": ("Kubernetes rolls pods over: a rolling update, one by one.", "howto"),
    "stock.md": ("An update on rolling stock.\nWind and rain.", "news"),
    "knock.md": ("Knock, knock! Who is there?", "news"),
}


def _documents() -> Iterator[IndexedDocument]:
    for name, (text, category) in _NOTES.items():
        fields = Fields(tags=("all",), category=category, properties=(("kind", (category,)),))
        yield make_document(name, text, fields=fields)


@pytest.fixture(params=["embedded", "memory"])
def reading(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[IndexReader]:
    embedded = request.param == "embedded"
    store: Store = EmbeddedStore(tmp_path, _ANALYZER) if embedded else MemoryStore(_ANALYZER)
    with store.write() as writing:
        writing.start({"made": "here"})
        writing.apply(Batch(put=tuple(_documents())))
    with store.read() as reading:
        yield reading
    store.close()


def found(text: str, reading: IndexReader) -> set[str]:
    query = correct(understand(text, _ANALYZER, _KNOWN), reading, _ANALYZER)
    among = meeting(query.conditions, reading, _ANALYZER) if query.conditions else None
    if query.terms:
        keys = [key for key, _ in reading.keyword.search("body", query.terms, 10, among)]
    else:
        keys = [] if among is None else among.tolist()
    return {chunk.document.id for chunk in reading.catalogue.chunks(keys)}


_FOUND = [
    ("auth", "login rights"),
    ("auth*", "login rights"),
    ("authentication", "login rights"),
    ("kuberntes", "deploy"),
    ("rolling update", "deploy stock"),
    ('"rolling update"', "deploy"),
    ('"update rolling"', "stock"),
    ('"knock knock"', "knock"),
    ('"knock knock knock"', "knock"),
    ('"rolling session"', "deploy stock login"),
    ("rolling -kubernetes", "stock"),
    ('update -"rolling update"', "stock"),
    ("-authentication", "deploy stock knock"),
    ("authentication category:HOWTO", "login"),
    ("tag:all -type:news path:login", "login"),
    ("after:1999 before:2000 rolling", ""),
    ("token OR pods", "login deploy"),
    ("authentication NOT token", "rights"),
    ("(token OR role) authentication", "login rights"),
    ("rolling AND wind", "stock"),
    ("update NOT (kubernetes OR wind)", ""),
    ("-(rolling wind) update", "deploy"),
    ("kubernet* OR token", "deploy login"),
    ("file:stock OR file:knock", "stock knock"),
    ("tag:all NOT category:(howto OR news)", "rights"),
    ("kind:news", "stock knock"),
    ("[kind:howto OR reference] authentication", "login rights"),
    ("-kind:news rolling", "deploy"),
    ("line:(update stock)", "stock"),
    ("line:(stock wind)", ""),
    ("line:(stock -wind)", "stock"),
    ("-line:stock update", "deploy"),
    ("section:(stock wind)", "stock"),
    ("line:(kubernetes OR wind)", "deploy stock"),
    ("zzzzzz", ""),
    ("zzzzzz*", ""),
]


def test_queries_find_what_they_mean(reading: IndexReader) -> None:
    def check(row: tuple[str, str]) -> None:
        text, documents = row
        assert found(text, reading) == {f"{name}.md" for name in documents.split()}

    check_rows(_FOUND, check)
