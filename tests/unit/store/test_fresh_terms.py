"""The terms of new chunks go to the keyword index as they are; those of all others from SQLite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from documents import STAMP, PlainAnalyzer, batch, make_document
from dowse._model import DocumentTerms, Fields
from dowse._model.ports import Analyzer
from dowse._store.sql.database import Database
from dowse._store.store import EmbeddedStore
from dowse._text.analyzer import TextAnalyzer
from dowse._text.options import KeywordOptions


class Refusing(PlainAnalyzer):
    """An analyzer that must not be asked."""

    def chunk_stream(self, *_: object) -> str:
        raise AssertionError

    def code_stream(self, *_: object) -> str:
        raise AssertionError


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EmbeddedStore]:
    store = EmbeddedStore(tmp_path / "index", PlainAnalyzer())
    with store.write() as writing:
        writing.start(STAMP)
    yield store
    store.close()


def test_terms_are_the_same_whether_they_are_handed_over_or_made_of_what_is_stored(
    tmp_path: Path,
) -> None:
    analyzer: Analyzer = TextAnalyzer(KeywordOptions())
    text = "# Valves\n\ngetUser ﬁrst\n\n```py\na_b = 1\n```\n\n```\n\n```\n\n## More\n\n検索 tail"
    fields = Fields(title="Pumps", tags=("a/b",), keywords=("x",), description="One.\x1f")
    store = EmbeddedStore(tmp_path / "other", analyzer)
    with store.write() as writing:
        writing.start(STAMP)
        with writing._change() as change:
            change.put(make_document("a.md", "twice"))
            change.put(make_document("a.md", text, fields=fields))
            change.put(make_document("b.md", "other words"))
        stored = list(Database(writing._connection).keyword_rows(analyzer))
        assert stored == [(key, *terms) for key, terms in change.fresh.items()]
        known = Database(writing._connection, change.fresh)
        keys = [key for key, *_ in stored]
        assert list(known.keyword_rows(Refusing(), [1, *keys])) == stored  # 1 is gone
        assert list(known.keyword_rows(analyzer)) == stored
        some = Database(writing._connection, {keys[-1]: change.fresh[keys[-1]]})
        assert list(some.keyword_rows(analyzer, keys)) == stored
    store.close()


def test_terms_that_come_with_a_document_are_taken(store: EmbeddedStore) -> None:
    document = make_document("a.md", "apple")
    with store.write() as writing:
        terms = DocumentTerms([("pear", "")], Counter({"plum": 2}))
        writing.apply(batch(replace(document, terms=terms)))
    with store.read() as reading:
        assert reading.keyword.frequencies("body", ["apple", "pear"]) == {"apple": 0, "pear": 1}
        assert reading.vocabulary.most_frequent(5) == ["plum"]
