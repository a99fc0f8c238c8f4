"""Whatever a document says, it is read, cut and analyzed without an error, and nothing is lost."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise

import pytest

from document_work import ANALYZER, present
from dowse._index.chunk import chunk
from dowse._index.markdown.document import parse
from dowse._index.options import ChunkOptions
from dowse._model import ChunkedDocument, Document, Fields
from fuzzing import Fuzzer, corpus

SEED = 10

PARTS = [
    "---\n", "+++\n", "...\n", "title: ", "tags: ", "aliases: ", "author: ", "date: ", "related: ",
    "[x, y]", "a = 1\n", "a.b = ", "[[t]]\n", "'''", '"""', "&a ", "*a ", "- ", "? ", ": ", "|\n",
    ">-\n", "{a: b}", "!!int ", "# ", "## ", "###### ", "#", " #\n", "===\n", "---\n", "* ", "1. ",
    "   ", "    ", "\t", "> ", ">", "```", "```py\n", "~~~\n", "`", "``", "|", "|-|\n", "[[", "]]",
    "[[a|b#c]]", "![[a]]", "[a](b.md)", "[a]: b\n", "[a][b]",
    "[^1]: ", "](", ")", "<div>", "</div>",
    "<!--", "-->", "<script>", "<", "*", "**", "_", "~~",
    "==", "\\", "&amp;", "%%", "#tag", "#a/b/c",
    "{#id .c}", "\n", "\n", "\n\n", " ", "word", "two words. ",
    "A. ", "Dr. X. ", "漢字", "。", "か",
    "가", "🎉", "\u0301", "\u200d", "\ufeff", "\u2028",
    "\x00", "\x0c", "\x85", "\ud800", "a_b.cD()",
    "std::x", "x->y", "C++", "v1.2.3", "2024-02-30", "http://x", "mailto:a@b", "." * 40, "-" * 40,
    " " * 40, "\n" * 40, "x" * 200,
]  # fmt: skip

OPTIONS = [
    ChunkOptions(),
    ChunkOptions(
        section_max=120, section_min=60, chunk_max=80, chunk_goal=40, chunk_min=10, overlap=20
    ),
    ChunkOptions(strategy="fixed", fixed_size=50, fixed_overlap=20),
]


def check_document(document: Document, text: str) -> None:
    assert document.text == text or "%%" in text  # what Obsidian hides is left out
    assert document.text.count("\n") == text.count("\n")
    text = document.text
    edges = [document.body, *(block.end for block in document.blocks)]
    assert [block.start for block in document.blocks] == edges[:-1]
    assert edges[-1] == len(text)
    last = text.count("\n") + 1
    assert all(1 <= link.line <= last and link.target.strip() for link in document.links)
    assert all(1 <= code.first_line <= code.last_line <= last for code in document.code_blocks)
    assert all(not item.whole and item.reason.startswith("Line ") for item in document.problems)


def check_chunks(cut: ChunkedDocument) -> None:
    text, body = cut.document.text, cut.document.body
    edge = body
    for part in cut.chunks:
        own = part.start + part.overlap
        assert edge <= own < part.end
        assert not text[edge:own].strip()
        assert part.first_line == text.count("\n", 0, part.start) + 1
        assert part.first_line <= part.last_line <= text.count("\n", 0, part.end) + 1
        edge = part.end
    assert not text[edge:].strip()
    assert all(one.end <= other.start + 20_000 for one, other in pairwise(cut.sections))
    ids = [part.id for part in cut.chunks]
    assert len(set(ids)) == len(ids)


def try_document(text: str, options: ChunkOptions, name: str) -> None:
    document = parse(name, text)
    check_document(document, text)
    cut = chunk(document, options)
    check_chunks(cut)
    for part in cut.chunks[:3]:
        ANALYZER.chunk_terms(document.fields, part.header_path, cut.text_of(part))
        present(cut.text_of(part))
    for code in document.code_blocks[:3]:
        ANALYZER.code_terms(code.text)


@pytest.mark.takes(35)
def test_documents_at_random(
    rounds: Callable[[int, int], int], tally: Callable[[str, object], None]
) -> None:
    fuzzer, rng = Fuzzer(SEED, corpus("documents"), PARTS), random.Random(SEED)
    tried = rounds(200, 6_000)
    for number in range(tried):
        text = fuzzer.text()
        try:
            try_document(text, rng.choice(OPTIONS), rng.choice(("a.md", "a.md", "b/a.txt")))
        except Exception as error:
            raise AssertionError(f"document {number} of seed {SEED}: {text!r}") from error

    tally("documents fuzzed", tried)


def test_every_document_of_the_corpus_is_read() -> None:
    for text in corpus("documents"):
        for options in OPTIONS:
            try_document(text, options, "a.md")


def test_terms_are_never_longer_than_anyone_types() -> None:
    fuzzer = Fuzzer(SEED + 1, corpus("documents"), PARTS)
    for _ in range(100):
        text = fuzzer.text()
        terms = ANALYZER.chunk_terms(Fields(title=text), [text], text)
        assert all(len(term) <= 256 for term, _ in terms)


def test_no_term_is_empty_or_has_whitespace() -> None:
    fuzzer = Fuzzer(SEED + 2, corpus("documents"), PARTS)
    for _ in range(100):
        text = fuzzer.text()
        terms = [*ANALYZER.chunk_terms(Fields(), (), text), *ANALYZER.code_terms(text)]
        assert all(term.split() == [term] for term, _ in terms)
