from __future__ import annotations

import unicodedata

from dowse._index.chunk import chunk
from dowse._index.markdown.document import parse
from dowse._index.options import ChunkOptions
from dowse._model import Batch, FileState, IndexedDocument
from dowse._search.references import find_passage
from dowse._text.analyzer import TextAnalyzer
from dowse._text.options import KeywordOptions
from memory_store import MemoryStore

_SPLIT = unicodedata.normalize("NFD", "café")


def test_a_tag_counts_once_however_its_accents_are_encoded() -> None:
    document = parse("a.md", f"---\ntags: [café]\n---\n\nText #{_SPLIT} and #CAFÉ.\n")
    assert document.fields.tags == ("café",)


def test_a_document_is_found_by_its_name_however_its_accents_are_encoded() -> None:
    store = MemoryStore(TextAnalyzer(KeywordOptions()))
    document = chunk(parse("places/Café.md", "Open until six."), ChunkOptions())
    with store.write() as writing:
        writing.start({"model": "none", "dimensions": 0})
        writing.apply(Batch(put=(IndexedDocument(document, FileState(15, 0, "0" * 64)),)))
    with store.read() as reading:
        assert find_passage(reading, _SPLIT, []).document == "places/Café.md"
