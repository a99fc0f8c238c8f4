"""Queries out of the user's own documents, to measure with.

A heading names what is below it, the text of a link the document it leads to. None of this needs a
model, or anybody to judge.

They are asked of a copy of the index in which the texts that they were drawn from cannot be found.
It is made from the index, not from the folder: no file of the user's is read or written. It is with
the project, so that it goes when the project goes, and keeps its vectors from run to run.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import PurePosixPath
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from dowse._index.chunk import chunk
from dowse._index.markdown.document import parse
from dowse._index.pipeline import VectorMaker, find_communities
from dowse._model import (
    Announce,
    Condition,
    Document,
    Edge,
    Event,
    context_of,
    silent,
    text_key,
)
from dowse._model.ports import IndexReader
from dowse._model.store_options import StoreOptions
from dowse._project.engine import Engine, takes_vectors
from dowse._project.evaluation import (
    Bench,
    Collection,
    JudgedQuery,
)
from dowse._project.indexing import store_documents, with_vectors
from dowse._project.workspace import Workspace
from dowse._search.request import Filters
from dowse._text.languages import STOPWORDS
from dowse._text.scripts import CJK_CHARACTER
from dowse._util.files import locked, make_private_folder
from dowse.errors import UsageError

PER_KIND = 50
"""How many queries of each kind are drawn at most."""

_LEAST_BELOW = 40  # characters of text that a heading must have below it to be worth finding
_LONGEST = 300  # characters; what is longer is no query
_WORD = re.compile(r"\w+")
# Quotes, a minus before a word or a colon within one would be taken for signs of a query.
_SIGNS = re.compile(r"""["“”„«»「」『』`*]|(?<!\S)-+|(?<=\w):(?=\S)""")


OwnKind = Literal["heading", "link"]
"""Where in the documents a query comes from."""


class OwnQuery(Struct, frozen=True):
    """A query that was drawn from a document."""

    id: str
    kind: OwnKind
    text: str  # what is searched for
    document: str  # the one that answers it
    written: str = ""  # as the document has it, to be hidden there
    start: int = -1  # offset of a heading's line; -1 for what is no heading
    linking: tuple[str, ...] = ()  # the documents whose link says it: no answers

    @property
    def judged(self) -> JudgedQuery:
        """Return the same, as a query that somebody has judged."""
        filters = _WithoutDocuments(documents=self.linking)
        return JudgedQuery(self.id, self.text, self.kind, {self.document: 1}, filters)


class _WithoutDocuments(Filters, frozen=True):
    """Keeps the documents out that say a query only because they link."""

    documents: tuple[str, ...] = ()

    def conditions(self, now: float | None = None) -> tuple[Condition, ...]:  # noqa: ARG002  dates do not matter
        """Demand that the documents' ids are not these."""
        among = Condition("under", self.documents, negated=True, written="--self")
        return (among,) if self.documents else ()


def own_queries(
    reading: IndexReader, per_kind: int = PER_KIND, seed: int = 0
) -> tuple[OwnQuery, ...]:
    """Draw at most so many queries of each kind by chance.

    None is said by its document elsewhere, where it would not be hidden. The same index and seed
    give the same queries.
    """
    entries, edges = reading.catalogue.documents(), list(reading.links.all())
    stored = filter(None, (reading.catalogue.document(entry.id) for entry in entries))
    headings = [one for doc in stored for one in headings_of(parse(doc.entry.id, doc.text))]
    # A query that says what a document is called would find it too easily.
    names = {folded(entry.fields.title) for entry in entries}
    names |= {folded(PurePosixPath(entry.id).stem) for entry in entries}
    drawn: list[OwnQuery] = []
    for queries in (headings, list(_links(edges))):
        often = Counter([*names, *(folded(query.text) for query in queries)])
        unique = [query for query in queries if often[folded(query.text)] == 1]
        mixed = random.Random(seed).sample(unique, len(unique))  # noqa: S311  it must be the same every time
        drawn += islice((one for one in mixed if _can_be_hidden(reading, one)), per_kind)
    # Other documents that say something of a document only because they link to it.
    linking: defaultdict[tuple[str | None, str], set[str]] = defaultdict(set)
    for edge in edges:
        for said in (edge.link.label, edge.link.anchor):
            linking[edge.target, joined(said)].add(edge.source)
    return tuple(
        replace(
            query,
            id=f"{query.kind}-{number:04d}",
            linking=tuple(
                sorted(linking[query.document, joined(query.written)] - {query.document})
            ),
        )
        for number, query in enumerate(drawn, start=1)
    )


def own_collection(name: str, queries: Sequence[OwnQuery]) -> Collection:
    """Make a judged collection of the queries, over documents that are indexed already.

    Raise `UsageError` when there are none.
    """
    if not queries:
        raise UsageError(
            f"No queries can be drawn from the documents of {name}.",
            "They need headings with text below, or texts of links."
            " Or judge some queries, and name them as SET.",
        )
    return Collection(name, None, tuple(query.judged for query in queries))


def headings_of(document: Document) -> Iterator[OwnQuery]:
    """List the headings of a document that stand for some text."""
    ends = [heading.start for heading in document.headings[1:]] + [len(document.text)]
    blocks = {block.start: block.end for block in document.blocks if block.kind == "heading"}
    for heading, end in zip(document.headings, ends, strict=False):
        below = document.text[blocks.get(heading.start, end) : end].strip()
        text = _query(heading.text)
        if heading.level >= 2 and _words(text) >= 3 and len(below) >= _LEAST_BELOW:
            yield OwnQuery("", "heading", text, document.id, heading.text, heading.start)


def _links(edges: Iterable[Edge]) -> Iterator[OwnQuery]:
    """List the labels that lead to one document only, wherever they are."""
    by_label: defaultdict[str, list[tuple[str, Edge]]] = defaultdict(list)
    for edge in edges:
        text = _query(edge.link.label)
        is_path = folded(edge.link.target) in folded(text)  # a place written out, no name for it
        if edge.link.kind in {"wikilink", "relative"} and _words(text) >= 2 and not is_path:
            by_label[folded(text)].append((text, edge))
    for _, found in sorted(by_label.items()):
        sources = {edge.source for _, edge in found}
        target, *others = {edge.target for _, edge in found}
        if target is None or others or target in sources:
            continue
        text = min(text for text, _ in found)
        yield OwnQuery("", "link", text, target, text)


def _query(written: str) -> str:
    """Return what a person would type of a text; nothing when it is too long for that."""
    text = " ".join(_SIGNS.sub(" ", written).split())
    return text if len(text) <= _LONGEST else ""


def _words(text: str) -> int:
    """Count the words of a text that say something; two Chinese characters count as one."""
    characters = len(CJK_CHARACTER.findall(text))
    others = [folded(word) for word in CJK_CHARACTER.sub(" ", text).split()]
    return characters // 2 + (sum(map(bool, others)) if {*others, ""} - {*STOPWORDS, ""} else 0)


def folded(text: str) -> str:
    """Return the words of a text, without case and signs."""
    return " ".join(_WORD.findall(text.casefold()))


def joined(text: str) -> str:
    """Return the same without spaces, so that an anchor says what its heading says."""
    return folded(text).replace(" ", "")


# ── A document without the texts that queries were drawn from ───────────────────


def hide(document_id: str, text: str, queries: Iterable[OwnQuery]) -> Document:
    """Parse a document without its headings that are queries; all else stays on its line."""
    document = parse(document_id, text)
    headings = [one for one in queries if one.kind == "heading" and one.document == document_id]
    return parse(document_id, _without_headings(document, headings)) if headings else document


def _without_labels(document: Document, labels: set[str]) -> Document:
    """Take away the texts of links that are queries: they rank the document that is linked."""
    return replace(
        document,
        links=tuple(
            replace(link, label="") if folded(_query(link.label)) in labels else link
            for link in document.links
        ),
    )


def _can_be_hidden(reading: IndexReader, query: OwnQuery) -> bool:
    """Tell whether a document no longer says a query when its source is hidden.

    A heading may be nowhere else. The text of a link may well occur in the text, but nothing else
    may be called so.
    """
    stored = reading.catalogue.document(query.document)
    if stored is None:
        return False
    document = hide(query.document, stored.text, [query])
    asked, fields = joined(query.written), document.fields
    said = [fields.title, *fields.aliases, *fields.keywords, *fields.tags, fields.description]
    if query.kind == "heading":
        return not any(asked in joined(text) for text in [*said, document.text[document.body :]])
    return asked not in map(joined, [*said, *(heading.text for heading in document.headings)])


def _without_headings(document: Document, headings: Sequence[OwnQuery]) -> str:
    """Empty the headings in their places, so that the text is cut where it was cut before."""
    text, levels = document.text, {one.start: one.level for one in document.headings}
    ends = {block.start: block.end for block in document.blocks if block.kind == "heading"}
    for query in sorted(headings, key=lambda one: -one.start):
        end = ends[query.start]
        lines = text[query.start : end].count("\n")
        text = text[: query.start] + "#" * levels[query.start] + "\n" * lines + text[end:]
    for query in headings:
        # What a table of contents says of it, with or without the name of its own file.
        words = r"\s+".join(map(re.escape, query.written.split()))
        entry = rf"\[{words}\]\([^)\s#]*#[^)\n]*\)|\[\[[^\]|#\n]*#{words}(?:\|[^\]\n]*)?\]\]"
        text = re.sub(entry, "", text, flags=re.IGNORECASE)
    return text


# ── A copy of an index that does not hold those texts ───────────────────────────

_WAIT = 10.0  # seconds for another evaluation of the same project


@contextmanager
def hidden_copy(
    workspace: Workspace,
    engine: Engine,
    queries: Sequence[OwnQuery],
    overrides: Mapping[str, Any] | None = None,
    announce: Announce = silent,
) -> Iterator[Bench]:
    """Copy an index without the texts that queries were drawn from, to be asked these queries.

    `overrides` are settings by their full names. There is one copy per project: while it is open,
    another raises `Locked`.
    """
    settings = workspace.settings(engine.project, overrides).settings
    settings = replace(settings, store=StoreOptions())  # a copy is of no use to other machines
    project = replace(engine.project, folder=engine.project.folder / "evaluation")
    parts = workspace.parts(project, settings, announce)
    make_private_folder(project.folder)
    with (
        locked(
            project.folder / "evaluation", f"Another process is measuring {project.name}.", _WAIT
        ),
        Engine(project, settings, parts) as copy,
    ):
        made = _fill(engine, copy, queries, announce)
        collection = Collection(project.name, None, tuple(query.judged for query in queries))
        yield Bench(collection, copy, tuple(made.notices), made.made)


def _fill(
    engine: Engine, copy: Engine, queries: Sequence[OwnQuery], announce: Announce
) -> VectorMaker:
    """Fill the copy with what is left of the documents when queries are hidden in them."""
    options, words = copy.settings.chunk, copy.settings.learned_words
    with engine.read() as reading:
        stamp = {**(reading.catalogue.stamp() or {}), **copy.expected_stamp().text}
        copy.reset(_WAIT, stamp)
        names = sorted(reading.catalogue.files())
        labels = {folded(query.written) for query in queries if query.kind == "link"}
        hidden = (
            chunk(_without_labels(hide(one.entry.id, one.text, queries), labels), options)
            for one in map(reading.catalogue.document, names)
            if one is not None
        )
        with copy.parts.store.write(_WAIT) as writing:
            store_documents(
                writing,
                with_vectors(reading, hidden),
                lambda done: announce(Event("copy", done, len(names))),
            )
            vectors = VectorMaker(copy.parts.embedder if takes_vectors(stamp) else None, writing)
            if vectors.can_embed:
                texts = [
                    stored.embedding_text(context_of(stamp))
                    for stored in writing.catalogue.chunks(list(writing.text_vectors.waiting()))
                ]
                vectors.make_and_keep(
                    len(texts),
                    lambda part: texts[part],
                    lambda done: announce(Event("waiting", done, len(texts), "chunks")),
                )
            writing.set_communities(find_communities(writing.links.all()))
            frequent = reading.vocabulary.most_frequent(words)
            writing.remember(reading.text_vectors.known([text_key(word) for word in frequent]))
            writing.tidy(words)
    return vectors
