"""Queries by rule: a query in other words, and questions made of sentences and headings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from training.corpus import Chunk, Query, may_train
from training.questions import question_from
from training.rephrase import as_question, as_typed, with_synonyms

HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*\s*$", re.MULTILINE)
_NAMED = {"title", "title-asked", "heading", "heading-asked", "heading-in", "link"}
_CODE = re.compile(r"```[\s\S]*?(?:```|\Z)|^(?:\s*[|<>#:!{]|    ).*$", re.MULTILINE)
_SENTENCE = re.compile(r"[A-Z][^.!?\n]{25,220}[.!?](?=\s|$)")
_MARKS = re.compile(r"\[([^\]]*)\]\([^)]*\)|[*`_]|\{[^}]*\}|<[^>]*>")


def more_queries(chunks: Sequence[Chunk], queries: Sequence[Query], seed: int) -> list[Query]:
    """Queries in other words than the document's, for the sources that may be trained on."""
    rng = Random(seed)
    usable = [one for one in queries if may_train(one.source)]
    return [*_rephrased(usable, rng), *_asked(chunks, rng)]


def heading_queries(chunks: Sequence[Chunk], seed: int) -> Iterator[Query]:
    """The headings that a source has only once, with a question made of each."""
    rng = Random(seed)
    found = [(n, plain(one)) for n, c in enumerate(chunks) for one in HEADING.findall(c.text)]
    often = Counter((chunks[n].source, heading.lower()) for n, heading in found)
    for n, heading in found:
        source, key = chunks[n].source, heading.lower()
        if often[source, key] == 1 and 2 <= len(heading.split()) <= 14:
            kind, text = "heading", heading
            if rng.random() < 0.5:
                kind, text = "heading-asked", as_question(heading, rng)
            hidden = rng.random() < 0.65
            yield Query(kind, as_typed(text, rng), source, n, n + 1, hidden, key=key)


def sentence_queries(chunks: Sequence[Chunk], seed: int, share: float = 1.0) -> Iterator[Query]:
    """Questions made of a sentence of a chunk, which is removed from the text to be found."""
    rng = Random(seed)
    for n, one in enumerate(chunks):
        if rng.random() < share and (made := _question_in(one, n, rng)):
            yield made


def _rephrased(queries: Sequence[Query], rng: Random) -> Iterator[Query]:
    for one in queries:
        if one.kind in _NAMED and rng.random() < 0.6:
            text = one.key or one.text
            asked = as_question(text, rng) if rng.random() < 0.6 else text
            said = with_synonyms(asked, rng)
            if said != text:
                hidden = rng.random() < 0.6
                yield replace(one, kind="rephrased", text=as_typed(said, rng), hidden=hidden)


def _asked(chunks: Sequence[Chunk], rng: Random) -> Iterator[Query]:
    usable = [may_train(one.source) for one in chunks]
    for one in sentence_queries(chunks, rng.randrange(1 << 30), 0.9):
        if usable[one.first]:
            swap = rng.random() < 0.35
            yield replace(one, text=with_synonyms(one.text, rng)) if swap else one


def _question_in(chunk: Chunk, number: int, rng: Random) -> Query | None:
    text = _CODE.sub(lambda found: " " * len(found.group()), chunk.text)
    sentences = list(_SENTENCE.finditer(text))
    rng.shuffle(sentences)
    for found in sentences[:5]:
        question = question_from(plain(found.group()), rng)
        if 3 <= len(question.split()) <= 18 and len(chunk.text) > len(found.group()) + 200:
            asked = as_typed(question, rng)
            cut = (found.start(), found.end())
            return Query("asked", asked, chunk.source, number, number + 1, cut=cut)
    return None


def plain(text: str) -> str:
    """Inline Markdown as people read it."""
    return " ".join(_MARKS.sub(r"\1", text).split())
