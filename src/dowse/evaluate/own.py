"""Queries out of the user's own documents: what somebody wrote as a name for what stands there.

A heading names what stands below it, the text of a link the document it leads to, a description or
an alias its own document. None of this needs a model, or anybody to judge.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Literal, get_args

from dowse.analyze.stopwords import STOPWORDS
from dowse.evaluate.records import Collection, JudgedQuery
from dowse.parse import parse
from dowse.ports import Reading
from dowse.retrieve import Filters
from dowse.types import Condition, Document, DocumentEntry, Edge

OwnKind = Literal["heading", "link", "description", "alias"]
"""Where in the documents a query comes from."""

PER_KIND = 50
"""How many queries of each kind are drawn unless somebody says otherwise."""

FEW = 30
"""With fewer queries than this, figures say little."""

_LEAST_BELOW = 40  # characters of text that a heading must have below it to be worth finding
_LONGEST = 300  # characters; what is longer is no query
_WORD = re.compile(r"\w+")
_CHINESE_OR_ALIKE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
# Quotes, a minus before a word or a colon within one would be taken for signs of a query.
_SIGNS = re.compile(r"""["“”„«»「」『』`*]|(?<!\S)-+|(?<=\w):(?=\S)""")


@dataclass(frozen=True, slots=True)
class OwnQuery:
    """A query that was drawn from a document."""

    id: str
    kind: OwnKind
    text: str  # what is searched for
    document: str  # the one that answers it
    written: str = ""  # as it stands in the document, to be hidden there
    start: int = -1  # offset of a heading's line; -1 for what is no heading
    linking: tuple[str, ...] = ()  # the documents whose link says it: no answers

    @property
    def judged(self) -> JudgedQuery:
        """The same, as one that somebody has judged."""
        return JudgedQuery(self.id, self.text, self.kind, {self.document: 1})

    @property
    def filters(self) -> Filters:
        """What keeps the documents out that say the query only because they link."""
        return _WithoutDocuments(documents=self.linking)


@dataclass(frozen=True, slots=True)
class _WithoutDocuments(Filters):
    documents: tuple[str, ...] = ()

    def conditions(self) -> tuple[Condition, ...]:
        """The documents' ids must not be these."""
        if not self.documents:
            return ()
        return (Condition("under", self.documents, negated=True, written="--self"),)


def own_queries(reading: Reading, per_kind: int, seed: int = 0) -> tuple[OwnQuery, ...]:
    """At most so many queries of each kind, taken in turn from as many documents as there are.

    The same index and seed give the same queries.
    """
    entries = {entry.id: entry for entry in reading.documents()}
    titles = {_folded(entry.fields.title) for entry in entries.values()}
    found: dict[OwnKind, Iterable[OwnQuery]] = {
        "heading": _headings(_parsed(reading, entries), titles),
        "link": _links(reading.edges(), entries),
        "description": _descriptions(entries.values()),
        "alias": _aliases(entries.values(), titles),
    }
    drawn = [_sample(list(found[kind]), per_kind, f"{kind} {seed}") for kind in get_args(OwnKind)]
    numbered = enumerate(chain.from_iterable(drawn), start=1)
    return tuple(replace(query, id=f"{query.kind}-{number:04d}") for number, query in numbered)


def own_collection(name: str, queries: Sequence[OwnQuery]) -> Collection:
    """The queries as a judged collection over documents that are indexed already."""
    return Collection(name, None, tuple(query.judged for query in queries))


def told_counts(queries: Sequence[OwnQuery]) -> str:
    """How many queries of which kind there are, and whether that is enough, in sentences."""
    counts = Counter(query.kind for query in queries)
    names = {"heading": "headings", "link": "link texts", "alias": "aliases"}
    kinds = [f"{counts[one]} {names.get(one, one + 's')}" for one in get_args(OwnKind)]
    few = f" Fewer than {FEW}: the figures mean little." if len(queries) < FEW else ""
    return f"Queries drawn from the documents: {len(queries)} ({', '.join(kinds)}).{few}"


def _sample(queries: list[OwnQuery], limit: int, seed: str) -> list[OwnQuery]:
    """Some of the queries: of every document one, then of every document a second, and so on."""
    chooser = random.Random(seed)  # noqa: S311  it must be the same every time
    by_document: defaultdict[str, list[OwnQuery]] = defaultdict(list)
    for query in sorted(queries, key=lambda one: (one.document, one.start, one.text)):
        by_document[query.document].append(query)
    documents = sorted(by_document)
    chooser.shuffle(documents)
    for document in documents:
        chooser.shuffle(by_document[document])
    rounds = zip_longest(*(by_document[document] for document in documents))
    return [query for query in chain.from_iterable(rounds) if query is not None][:limit]


def _parsed(reading: Reading, documents: Iterable[str]) -> Iterator[Document]:
    for document in documents:
        stored = reading.document(document)
        if stored is not None:
            yield parse(document, stored.text)


def _headings(documents: Iterable[Document], titles: set[str]) -> list[OwnQuery]:
    found = [query for document in documents for query in headings_of(document)]
    often = Counter(_folded(query.text) for query in found)
    unique = [query for query in found if often[_folded(query.text)] == 1]
    return [one for one in unique if _folded(one.text) not in titles and _words(one.text) >= 3]


def headings_of(document: Document) -> Iterator[OwnQuery]:
    """The headings of a document that stand for some text, not yet compared with any others."""
    ends = [heading.start for heading in document.headings[1:]] + [len(document.text)]
    blocks = {block.start: block.end for block in document.blocks if block.kind == "heading"}
    for heading, end in zip(document.headings, ends, strict=False):
        below = document.text[blocks.get(heading.start, end) : end].strip()
        text = _query(heading.text)
        if heading.level >= 2 and text and len(below) >= _LEAST_BELOW:
            yield OwnQuery("", "heading", text, document.id, heading.text, heading.start)


def _links(edges: Iterable[Edge], entries: Mapping[str, DocumentEntry]) -> Iterator[OwnQuery]:
    """Labels that lead to one document only, wherever they stand."""
    by_label: defaultdict[str, list[tuple[str, Edge]]] = defaultdict(list)
    for edge in edges:
        text = _query(edge.link.label)
        is_path = _folded(edge.link.target) in _folded(text)  # a place written out, no name for it
        if edge.link.kind in {"wikilink", "relative"} and _words(text) >= 2 and not is_path:
            by_label[_folded(text)].append((text, edge))
    for label, found in sorted(by_label.items()):
        sources = {edge.source for _, edge in found}
        target, *others = {edge.target for _, edge in found}
        if target is None or others or target in sources or label in _names(entries[target]):
            continue
        text = min(text for text, _ in found)
        yield OwnQuery("", "link", text, target, text, linking=tuple(sorted(sources)))


def _descriptions(entries: Iterable[DocumentEntry]) -> list[OwnQuery]:
    found = [
        OwnQuery("", "description", text, entry.id, entry.fields.description)
        for entry in entries
        if _words(text := _query(entry.fields.description)) >= 3
    ]
    often = Counter(_folded(query.text) for query in found)
    return [query for query in found if often[_folded(query.text)] == 1]


def _aliases(entries: Iterable[DocumentEntry], titles: set[str]) -> list[OwnQuery]:
    found = [
        OwnQuery("", "alias", text, entry.id, alias)
        for entry in entries
        for alias in entry.fields.aliases
        if len(text := _query(alias)) >= 3 and _folded(text) not in {*titles, *_names(entry)}
    ]
    often = Counter(_folded(query.text) for query in found)
    return [query for query in found if often[_folded(query.text)] == 1]


def _query(written: str) -> str:
    """What a person would type of a text; nothing when it is too long for that."""
    text = " ".join(_SIGNS.sub(" ", written).split())
    return text if len(text) <= _LONGEST else ""


def _words(text: str) -> int:
    """How many words a text has that say something; two Chinese characters count as one."""
    characters = len(_CHINESE_OR_ALIKE.findall(text))
    others = [_folded(word) for word in _CHINESE_OR_ALIKE.sub(" ", text).split()]
    return characters // 2 + (sum(map(bool, others)) if {*others, ""} - {*STOPWORDS, ""} else 0)


def _names(entry: DocumentEntry) -> set[str]:
    """What a document is called: a query that says so finds it too easily."""
    stem = entry.id.rsplit("/", 1)[-1].rpartition(".")[0]
    return {_folded(entry.fields.title), _folded(stem)}


def _folded(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))
