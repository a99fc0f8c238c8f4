"""What the cosines of any embedding model mean, from the user's own documents.

Models differ in how near an unrelated passage is: a cosine of 0.7 is an answer for one and noise
for another. The queries are headings, whose own lines were taken out of the passage below them, and
made-up words. The default model, whose cosines the confidence was fitted with, is asked the same
queries about the same passages, and a line maps one model to the other: afterwards both have the
same mean and the same spread. Where the default model cannot read the documents, the averages that
it has on other collections take its place.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from statistics import fmean, pstdev

import numpy as np
from msgspec import Struct

from dowse._model import (
    Announce,
    Event,
    Matrix,
    ModelFit,
    StoredChunk,
    Vector,
    embedding_text,
    silent,
)
from dowse._model.ports import Embedder, IndexReader
from dowse._text.scripts import readable_share
from dowse.errors import EmbedError

LEAST = 10
"""Queries from as many documents, below which nothing is fitted."""

_OWN, _MADE_UP = 60, 40  # queries
_DRAWN = 200  # documents that are looked at for headings
_WORDS = 2  # that a heading has at least
_SAMPLE = 60  # passages that both models compare with the queries
_READABLE = 0.9  # share of their letters from which the default model can read the headings
_SPREAD = 0.005  # the least spread of the cosines: below it, all texts are alike to the model
_NEAR = 20  # passages that may be of the heading's own document
_APART = 0.02  # the least distance of the two averages: otherwise the model tells nothing apart
# Averages of the default model over judged collections, with what ten times as many chunks add.
_ANSWERED, _UNANSWERED = (0.646, 0.033), (0.444, 0.034)
_HEADING = re.compile(r"^#{2,6} +(.*\S)", re.MULTILINE)
_UNRELATED = (
    *("apple", "river", "castle", "purple", "dancing", "umbrella", "violin", "marmalade"),
    *("glacier", "pelican", "velvet", "harvest", "lantern", "sailor", "pepper", "comet"),
    *("trumpet", "blanket", "cinnamon", "otter", "ballet", "pudding", "orchard", "whale"),
)


class _Own(Struct, frozen=True):
    """A heading, and what is below it."""

    query: str
    below: str
    document: str


def fit_model(
    reading: IndexReader,
    embedder: Embedder,
    name: str,
    announce: Announce = silent,
    *,
    default: Embedder | None = None,
) -> ModelFit | None:
    """Fit a model on the documents of an index; None when these are too few.

    With the `default` model, both are compared on the same passages.
    """
    own = _own_queries(reading)
    if len(own) < LEAST:
        return None
    announce(Event("confidence", 0, None))
    try:
        asked = " ".join(one.query for one in own)
        if default and readable_share(asked, default.model.scripts) >= _READABLE:
            return _compared(reading, embedder, default, own, name)
        return _expected(reading, embedder, own, name)
    except EmbedError:
        return None


def _compared(
    reading: IndexReader, embedder: Embedder, default: Embedder, own: Sequence[_Own], name: str
) -> ModelFit | None:
    """Fit the line that gives a model's cosines the mean and spread of the default one's."""
    documents = [one.id for one in reading.catalogue.documents()]
    keys = sorted(reading.catalogue.keys_of(documents).tolist())
    drawn = random.Random(0).sample(keys, min(_SAMPLE, len(keys)))  # noqa: S311  repeatable
    known = reading.vectors.of(drawn)
    sample = reading.catalogue.chunks(sorted(known))
    here = np.stack([known[one.key] for one in sample])
    there = _embedded(default, [one.embedding_text("title") for one in sample])
    theirs = [one.document.id for one in sample]
    cosines = _best(embedder, own, here, theirs)
    if (spread := pstdev(cosines)) < _SPREAD:
        return None
    wanted = _best(default, own, there, theirs)
    scale = pstdev(wanted) / spread
    return ModelFit(name, scale, fmean(wanted) - scale * fmean(cosines))


def _best(
    embedder: Embedder, own: Sequence[_Own], sample: Matrix, documents: Sequence[str]
) -> list[float]:
    """Find the cosine of the passage nearest to each query that does not say the query itself."""
    below = _embedded(embedder, [embedding_text("", (), one.below) for one in own])
    found = []
    for place, one in enumerate(own):
        vector = embedder.query(one.query)
        others = sample[[document != one.document for document in documents]]
        found.append(float(max((others @ vector).max(initial=0.0), below[place] @ vector)))
    return [*found, *(float((sample @ embedder.query(one)).max()) for one in _made_up())]


def _embedded(embedder: Embedder, texts: Sequence[str]) -> Matrix:
    vectors: dict[int, Vector] = {}
    for batch in embedder.passages(texts):
        vectors |= dict(zip(batch.positions, batch.vectors, strict=True))
    return np.stack([vectors[place] for place in range(len(texts))])


def _expected(
    reading: IndexReader, embedder: Embedder, own: Sequence[_Own], name: str
) -> ModelFit | None:
    """Fit the line through two averages: the default model's are known from collections."""
    answered = fmean(_answered(reading, embedder, own))
    unanswered = fmean(_nearest(reading, embedder.query(one)) for one in _made_up())
    if answered - unanswered < _APART:
        return None
    size = math.log10(max(1, reading.keyword.size))
    high, low = (start + more * size for start, more in (_ANSWERED, _UNANSWERED))
    scale = (high - low) / (answered - unanswered)
    return ModelFit(name, scale, low - scale * unanswered)


def _own_queries(reading: IndexReader) -> list[_Own]:
    """List headings that occur once, at most one of each document; the same for the same index."""
    documents = sorted(entry.id for entry in reading.catalogue.documents())
    chosen = random.Random(0).sample(documents, min(_DRAWN, len(documents)))  # noqa: S311  repeatable
    found = [one for document in chosen for one in _headings(reading, document)]
    often = Counter(one.query.casefold() for one in found)
    drawn = (one for one in found if often[one.query.casefold()] == 1)
    return [next(ones) for _, ones in groupby(drawn, lambda one: one.document)][:_OWN]


def _headings(reading: IndexReader, document: str) -> Iterator[_Own]:
    for stored in reading.catalogue.chunks(reading.catalogue.keys_of([document]).tolist()):
        inside = _HEADING.findall(stored.text)
        for heading in (*stored.chunk.header_path[-1:], *inside, stored.document.fields.title):
            if len(heading.split()) >= _WORDS and (below := _below(stored, heading)):
                yield _Own(heading, below, document)


def _below(stored: StoredChunk, heading: str) -> str:
    """Return the text of a chunk without the lines that say the heading."""
    said = heading.casefold()
    lines = [line for line in stored.text.split("\n") if said not in line.casefold()]
    return "\n".join(lines).strip()


def _answered(reading: IndexReader, embedder: Embedder, own: Sequence[_Own]) -> Iterator[float]:
    """Find the cosine of the best passage for each query, as if none said the query itself."""
    below = _embedded(embedder, [embedding_text("", (), one.below) for one in own])
    for place, one in enumerate(own):
        vector = embedder.query(one.query)
        yield max(float(below[place] @ vector), _nearest(reading, vector, one.document))


def _nearest(reading: IndexReader, vector: Vector, without: str = "") -> float:
    """Return the highest cosine of a passage outside a document."""
    found = dict(reading.vectors.nearest(vector, _NEAR))
    stored = reading.catalogue.chunks(sorted(found))
    return max((found[one.key] for one in stored if one.document.id != without), default=0.0)


def _made_up() -> Iterator[str]:
    chooser = random.Random(0)  # noqa: S311  it must be the same every time
    for _ in range(_MADE_UP):
        yield " ".join(chooser.sample(_UNRELATED, chooser.randint(2, 6)))
