"""An index in one store → the same index in another, without a model.

Documents are parsed and cut again from the text that the index has, and vectors are found by their
text. What is there already is not written again, so that a move that was interrupted goes on. The
project switches to its new store only after both gave the same answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Annotated, Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from dowse._config.schema import Settings
from dowse._index.chunk.chunker import chunk
from dowse._index.markdown.document import parse
from dowse._model import (
    Announce,
    Batch,
    Event,
    FileState,
    IndexedDocument,
    Scores,
    silent,
    text_key,
)
from dowse._model.ports import IndexReader, IndexWriter, Store
from dowse._model.store_options import StoreOptions
from dowse._project.registry import Project
from dowse._project.workspace import INDEXES, Workspace, open_store
from dowse._util.messages import hide_secrets
from dowse.errors import Damaged, NotFound, UsageError

# ── How far two stores find the same, by a sample of searches for what one of them holds ───


FIRST = 10
"""Results of each search that are compared."""

_SAMPLES = 20  # documents whose titles and vectors are searched for on both sides
_FETCHED = 50  # results that are looked at: which of equal ones come first differs between stores
_ROUNDING = 1e-5  # share by which equal scores may differ


def agreement_of(one: IndexReader, other: IndexReader) -> float:
    """The share of the first results of one side that the other finds as well, on average."""
    shares = [share for search in _searches(one) for share in _shared(search, one, other)]
    return sum(shares) / len(shares) if shares else 1.0


_Found = list[tuple[str, float]]
_Search = Callable[[IndexReader], _Found]
"""Searches one side, and gives the ids of the chunks with their scores, best first."""


def _searches(reading: IndexReader) -> Iterator[_Search]:
    """Searches for the titles and the vectors of documents from all over the index."""
    listed = reading.catalogue.documents()
    step = max(1, len(listed) // _SAMPLES)
    for entry in listed[::step][:_SAMPLES]:
        terms = [word for word in entry.fields.title.lower().split() if word.isalnum()]
        yield lambda side, terms=terms: _found(  # type: ignore[misc]  # a default keeps its value
            side, side.keyword.search("body", terms, _FETCHED)
        )
        vectors = reading.vectors.of(reading.catalogue.keys_of([entry.id]).tolist()[:1])
        # A text that the model cannot read has a vector of zeros, which is as near to all others.
        for vector in filter(np.any, vectors.values()):
            yield lambda side, vector=vector: _found(  # type: ignore[misc]  # as above
                side, side.vectors.nearest(vector, _FETCHED)
            )


def _found(side: IndexReader, scores: Scores) -> _Found:
    score_of = dict(scores)
    chunks = side.catalogue.chunks(list(score_of))
    return [(one.chunk.id, score_of[one.key]) for one in chunks]


def _shared(search: _Search, one: IndexReader, other: IndexReader) -> list[float]:
    """The share of the first results that are the same; which of equal ones come first is not."""
    left, right = search(one), search(other)
    if not left or not right:
        return [0.0] if left or right else []
    last = right[:FIRST][-1][1]
    slack = _ROUNDING * abs(last)
    first = {found for found, score in right if score >= last - slack}
    # When everything that was fetched is as good as the last of the first, there may be more.
    more = len(right) >= _FETCHED and right[-1][1] >= last - slack
    same = sum(
        found in first or (more and abs(score - last) <= slack) for found, score in left[:FIRST]
    )
    return [same / max(len(left[:FIRST]), len(right[:FIRST]))]


HERE = "here"
"""The name of the store in the project's folder, as a place to move to."""

_AT_ONCE = 64  # documents that are stored together
_WAIT = 10.0  # seconds for another writer to end
_AGREEMENT = 0.7  # share of the first results that must be the same, on average


class MoveRecord(Struct, frozen=True):
    """What `dowse move` did."""

    project: Annotated[str, "Name of the project."]
    source: Annotated[str, "Where its index was."]
    target: Annotated[str, "Where its index is now."]
    documents: Annotated[int, "How many it holds."]
    chunks: Annotated[int, "How many it holds."]
    vectors: Annotated[int, "Chunks that have one."]
    written: Annotated[int, "Documents that were written by this run."]
    agreement: Annotated[float, "Share of the first results of a sample that both sides share."]


def move_project(
    workspace: Workspace,
    project: Project,
    to: str,
    *,
    changes: Mapping[str, str] | None = None,
    keep: bool = False,
    announce: Announce = silent,
) -> MoveRecord:
    """Moves the index of a project to a database, or back into its folder.

    `changes` are further settings of the store, such as `name`. With `keep`, the index stays where
    it was as well. Raises `Damaged` when both sides differ; then nothing is switched.
    """
    settings = workspace.settings(project).settings
    # The address comes last: until it is changed, the project stays where it is.
    values: dict[str, Any] = {**(changes or {}), "url": "" if to == HERE else to}
    options = replace(settings.store, **values)
    if options == settings.store:
        raise UsageError(f"The index is at {to} already.", "See: dowse status")
    if options.url and (options.url, options.name) == (settings.store.url, settings.store.name):
        raise UsageError(
            f"The index is at {to} already.",
            "What searches it is chosen with: dowse config set store.search",
        )
    analyzer = workspace.parts(project, settings, offline=True).analyzer
    with (
        closing(open_store(project, settings.store, analyzer, announce)) as source,
        closing(open_store(project, options, analyzer, announce)) as target,
    ):
        _refuse_strangers(project, options, target)
        moved = _copy(project, source, target, settings, announce)
        for option, value in values.items():
            workspace.change_setting(f"store.{option}", value, project)
        if not keep:
            _remove(project, settings.store, source)
    return moved


def _refuse_strangers(project: Project, options: StoreOptions, target: Store) -> None:
    """Raises `UsageError` when the target holds the index of another project."""
    if not options.url or INDEXES.knows(project.folder, options):
        return  # a move that was interrupted goes on
    with target.read() as there:
        if there.catalogue.stamp() is not None:
            raise UsageError(
                f"There is an index of another project already: {target.place}.",
                "Choose another name with --name.",
            )


def _copy(
    project: Project, source: Store, target: Store, settings: Settings, announce: Announce
) -> MoveRecord:
    # Nobody may change the source meanwhile: what is compared at the end must be what was copied.
    with source.write(_WAIT), source.read() as reading:
        stamp = reading.catalogue.stamp()
        if stamp is None:
            raise NotFound(
                f"The project {project.name!r} has not been indexed yet.",
                f"Index it with: dowse index -p {project.name}",
            )
        with target.write(_WAIT) as writing:
            if writing.catalogue.stamp() != stamp:
                writing.start(stamp)
            written = _fill(reading, writing, settings, announce)
            _finish(reading, writing, settings)
        with target.read() as copied:
            counts = copied.catalogue.counts()
            agreement = _compare(reading, copied, announce)
    return MoveRecord(
        project.name,
        hide_secrets(source.place),
        hide_secrets(target.place),
        counts.documents,
        counts.chunks,
        counts.embedded,
        written,
        agreement,
    )


def _fill(
    reading: IndexReader, writing: IndexWriter, settings: Settings, announce: Announce
) -> int:
    """Copies what the target does not have yet; returns how many documents that were."""
    wanted, there = reading.catalogue.files(), writing.catalogue.files()
    if gone := sorted(there.keys() - wanted.keys()):
        writing.apply(Batch(gone=tuple(gone)))
    missing = sorted(name for name, state in wanted.items() if there.get(name) != state)
    if not there:
        announce(Event("move", 0, len(missing)))
        made = (_document(reading, name, wanted[name], settings) for name in missing)
        writing.expect(one.chunked for one in made)
    for start in range(0, len(missing), _AT_ONCE):
        announce(Event("move", start, len(missing)))
        some = missing[start : start + _AT_ONCE]
        put = [_document(reading, name, wanted[name], settings) for name in some]
        texts = [one.chunked.embedding_text(part) for one in put for part in one.chunked.chunks]
        known = reading.text_vectors.known(list({text_key(text) for text in texts}))
        writing.apply(Batch(put=tuple(put), vectors=known))
    return len(missing)


def _document(
    reading: IndexReader, name: str, state: FileState, settings: Settings
) -> IndexedDocument:
    stored = reading.catalogue.document(name)
    if stored is None:
        raise Damaged(f"The index has no text of {name}.", "Look at it with: dowse doctor")
    chunked = chunk(parse(name, stored.text), settings.chunk)
    if chunked.chunks != stored.chunks:
        raise Damaged(
            f"{name} was cut by other rules than those that hold now.",
            "Rebuild the index first with: dowse index --rebuild",
        )
    return IndexedDocument(chunked, state)


def _finish(reading: IndexReader, writing: IndexWriter, settings: Settings) -> None:
    words = reading.vocabulary.most_frequent(settings.learned_words)
    missing = writing.text_vectors.missing([text_key(word) for word in words])
    if missing:
        writing.remember(reading.text_vectors.known(missing))
    writing.note_roots(reading.catalogue.roots())
    writing.set_communities(reading.links.communities())
    writing.tidy(settings.learned_words)


def _compare(one: IndexReader, other: IndexReader, announce: Announce) -> float:
    """How far both sides agree; raises `Damaged` when they hold or find different things."""
    announce(Event("compare", 0, None))
    # How many secrets were left out is known only to the run that read the files.
    before, after = (replace(side.catalogue.counts(), secrets=0) for side in (one, other))
    if before != after:
        raise Damaged(
            f"The copy differs: {before} became {after}.",
            "Nothing was switched. Run the same command again.",
        )
    agreement = agreement_of(one, other)
    if agreement < _AGREEMENT:
        raise Damaged(
            f"Of the first {FIRST} results only {agreement:.0%} are the same on both sides.",
            "Nothing was switched. Run the same command again, or rebuild with: dowse index"
            " --rebuild",
        )
    return agreement


def _remove(project: Project, options: StoreOptions, source: Store) -> None:
    if not options.url or INDEXES.made_here(project.folder, options.url):
        source.discard(_WAIT)
    if options.url:
        INDEXES.forget(project.folder, options.url)
