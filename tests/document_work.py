"""What dowse does with a text that others wrote, each step by its name."""

from __future__ import annotations

from collections.abc import Callable

from dowse._index.chunk import chunk
from dowse._index.markdown.document import parse
from dowse._index.options import ChunkOptions
from dowse._index.source.files import decode
from dowse._interfaces.mcp.replies import visible
from dowse._model import Fields
from dowse._search.answer import paragraphs
from dowse._search.formats import count_tokens
from dowse._search.hits import excerpt
from dowse._search.query import understand
from dowse._search.understand import classify
from dowse._text.analyzer import TextAnalyzer
from dowse._text.matching import Wanted
from dowse._text.options import KeywordOptions
from dowse._text.sentences import shorten

ANALYZER = TextAnalyzer(KeywordOptions())


def cut(text: str) -> None:
    chunk(parse("a.md", text), ChunkOptions())
    chunk(parse("a.txt", text), ChunkOptions(strategy="fixed"))


def analyze(text: str) -> None:
    ANALYZER.chunk_terms(Fields(title=text), [text], text)
    ANALYZER.code_terms(text)
    list(ANALYZER.vocabulary(text))


def present(text: str) -> None:
    excerpt(text, Wanted({"a", "b*", "漢"}), ANALYZER.query_terms)
    paragraphs(text)
    shorten(text, len(text) // 2)
    count_tokens(text)
    visible(text)


def ask(text: str) -> None:
    understand(text, ANALYZER)
    classify(text)


WORK: dict[str, Callable[[str], None]] = {
    "parse": lambda text: void(parse("a.md", text)),
    "cut": cut,
    "analyze": analyze,
    "present": present,
    "ask": ask,
    "decode": lambda text: void(decode(text.encode("utf-8", "replace").replace(b"\0", b" "))),
}


def void(_: object) -> None:
    """Takes a result that nobody looks at."""
