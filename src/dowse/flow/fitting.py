"""What the cosines of any embedding model mean, from the user's own documents.

Models differ in how near an unrelated passage is: a cosine of 0.7 is an answer for one and noise
for another. Two averages show it: how near the best passage is to made-up queries, and to headings
whose own lines were taken out of the passage below them. The default model has the same two
averages on the collections that its confidence was fitted on, so a line through them maps one model
to the other.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from dowse.errors import EmbedError
from dowse.ports import Embedder, Reading
from dowse.types import Announce, Event, ModelFit, StoredChunk, Vector, embedding_text, silent

LEAST = 20
"""Queries from as many documents, below which nothing is fitted."""

_OWN, _MADE_UP = 60, 40  # queries
_DRAWN = 200  # documents that are looked at for headings
_WORDS = 2  # that a heading has at least
_NEAR = 20  # passages that may be of the heading's own document
_APART = 0.02  # the least distance of the two averages: otherwise the model tells nothing apart
# Averages of the default model, with what ten times as many chunks add: docs/quality.md.
_ANSWERED, _UNANSWERED = (0.429, 0.055), (0.069, 0.045)
_HEADING = re.compile(r"^#{2,6} +(.*\S)", re.MULTILINE)
_UNRELATED = (
    *("apple", "river", "castle", "purple", "dancing", "umbrella", "violin", "marmalade"),
    *("glacier", "pelican", "velvet", "harvest", "lantern", "sailor", "pepper", "comet"),
    *("trumpet", "blanket", "cinnamon", "otter", "ballet", "pudding", "orchard", "whale"),
)


@dataclass(frozen=True, slots=True)
class _Own:
    """A heading, and what is below it."""

    query: str
    below: str
    document: str


def fit_model(
    reading: Reading, embedder: Embedder, name: str, announce: Announce = silent
) -> ModelFit | None:
    """The fit of a model on the documents of an index; None when these are too few."""
    own = _own_queries(reading)
    if len(own) < LEAST:
        return None
    announce(Event("confidence", 0, None))
    try:
        answered = fmean(_answered(reading, embedder, own))
        unanswered = fmean(_nearest(reading, embedder.query(one)) for one in _made_up())
    except EmbedError:
        return None
    if answered - unanswered < _APART:
        return None
    size = math.log10(max(1, reading.keyword.size))
    high, low = (start + more * size for start, more in (_ANSWERED, _UNANSWERED))
    scale = (high - low) / (answered - unanswered)
    return ModelFit(name, scale, low - scale * unanswered)


def _own_queries(reading: Reading) -> list[_Own]:
    """Headings that occur once, at most one of each document; the same for the same index."""
    documents = sorted(entry.id for entry in reading.catalogue.documents())
    chosen = random.Random(0).sample(documents, min(_DRAWN, len(documents)))  # noqa: S311  repeatable
    found = [one for document in chosen for one in _headings(reading, document)]
    often = Counter(one.query.casefold() for one in found)
    drawn: dict[str, _Own] = {}
    for one in found:
        if often[one.query.casefold()] == 1:
            drawn.setdefault(one.document, one)
    return list(drawn.values())[:_OWN]


def _headings(reading: Reading, document: str) -> Iterator[_Own]:
    keys = reading.catalogue.keys_of([document]).tolist()
    for stored in reading.catalogue.chunks(keys):
        inside = _HEADING.findall(stored.text)
        for heading in (*stored.chunk.header_path[-1:], *inside, stored.document.fields.title):
            if len(heading.split()) >= _WORDS and (below := _below(stored, heading)):
                yield _Own(heading, below, document)


def _below(stored: StoredChunk, heading: str) -> str:
    """The text of a chunk without the lines that say the heading."""
    said = heading.casefold()
    lines = [line for line in stored.text.split("\n") if said not in line.casefold()]
    return "\n".join(lines).strip()


def _answered(reading: Reading, embedder: Embedder, own: Sequence[_Own]) -> Iterator[float]:
    """The cosine of the best passage for each query, as if no document said the query itself."""
    texts = [embedding_text("", (), one.below) for one in own]
    below: dict[int, Vector] = {}
    for batch in embedder.passages(texts):
        below |= dict(zip(batch.positions, batch.vectors, strict=True))
    for place, one in enumerate(own):
        vector = embedder.query(one.query)
        yield max(float(below[place] @ vector), _nearest(reading, vector, one.document))


def _nearest(reading: Reading, vector: Vector, without: str = "") -> float:
    """The highest cosine of a passage outside a document."""
    found = dict(reading.vectors.nearest(vector, _NEAR))
    stored = reading.catalogue.chunks(sorted(found))
    return max((found[one.key] for one in stored if one.document.id != without), default=0.0)


def _made_up() -> Iterator[str]:
    chooser = random.Random(0)  # noqa: S311  it must be the same every time
    for _ in range(_MADE_UP):
        yield " ".join(chooser.sample(_UNRELATED, chooser.randint(2, 6)))
