"""An index in one store → the same index in another, without a model.

Documents are parsed and cut again from the text that the index has, and vectors are found by their
text. What is there already is not written again, so that a move that was interrupted goes on. The
project switches to its new store only after both gave the same answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from typing import Annotated, Any

from msgspec import Struct
from msgspec.structs import replace

from dowse._config.schema import Settings
from dowse._index.chunk import chunk
from dowse._index.markdown.document import parse
from dowse._index.options import ChunkOptions
from dowse._model import (
    Announce,
    Batch,
    ChunkedDocument,
    Event,
    silent,
    text_key,
)
from dowse._model.ports import IndexReader, Store
from dowse._project.indexing import store_documents, with_vectors
from dowse._project.registry import Project
from dowse._project.workspace import INDEXES, Workspace
from dowse._util.arrays import np
from dowse._util.messages import hide_secrets
from dowse.errors import Damaged, NotFound, UsageError

HERE = "here"
"""The name of the store in the project's folder, as a place to move to."""

_WAIT = 10.0  # seconds for another writer to end
_AGREEMENT = 0.9  # share of the searches that must find the same
_ROUNDING = 1e-3  # what scores may differ by


class MoveRecord(Struct, frozen=True):
    """What `dowse move` did."""

    project: Annotated[str, "Name of the project."]
    source: Annotated[str, "Where its index was."]
    target: Annotated[str, "Where its index is now."]
    documents: Annotated[int, "How many it holds."]
    chunks: Annotated[int, "How many it holds."]
    vectors: Annotated[int, "Chunks that have one."]
    written: Annotated[int, "Documents that were written by this run."]
    agreement: Annotated[float, "Share of a sample of searches that find the same on both sides."]


def move_project(
    workspace: Workspace,
    project: Project,
    to: str,
    *,
    changes: Mapping[str, str] | None = None,
    keep: bool = False,
    announce: Announce = silent,
) -> MoveRecord:
    """Move the index of a project to a database, or back into its folder.

    `changes` are further settings of the store, such as `name`. With `keep`, the index stays where
    it was as well. Raise `Damaged` when both sides differ; then nothing is switched.
    """
    settings = workspace.settings(project).settings
    # The address comes last: until it is changed, the project stays where it is.
    values: dict[str, Any] = {**(changes or {}), "url": "" if to == HERE else to}
    former, options = settings.store, replace(settings.store, **values)
    analyzer = workspace.parts(project, settings, offline=True).analyzer
    with (
        closing(INDEXES.store(project.folder, analyzer, announce, former)) as source,
        closing(INDEXES.store(project.folder, analyzer, announce, options)) as target,
    ):
        if source.place == target.place:
            raise UsageError(
                f"The index is at {to} already.",
                "What searches it is chosen with: dowse config set store.search",
            )
        # A move that was interrupted goes on; the index of another project stays as it is.
        if options.url and not INDEXES.knows(project.folder, options):
            with target.read() as there:
                if there.catalogue.stamp() is not None:
                    raise UsageError(
                        f"There is an index of another project already: {target.place}.",
                        "Choose another name with --name.",
                    )
        moved = _copy(project, source, target, settings, announce)
        for option, value in values.items():
            workspace.change_setting(f"store.{option}", value, project)
        if not keep and not former.url:
            source.discard(_WAIT)
    if not keep and former.url:
        INDEXES.remove(project.folder, former.url, keep=options)
    return moved


def _copy(
    project: Project, source: Store, target: Store, settings: Settings, announce: Announce
) -> MoveRecord:
    """Copy what the target does not have yet, and compare both sides."""
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
            wanted, there = reading.catalogue.files(), writing.catalogue.files()
            if gone := sorted(there.keys() - wanted.keys()):
                writing.apply(Batch(gone=tuple(gone)))
            missing = sorted(name for name, state in wanted.items() if there.get(name) != state)
            announce(Event("move", 0, len(missing)))
            store_documents(
                writing,
                with_vectors(reading, _cut(reading, missing, settings.chunk)),
                lambda done: announce(Event("move", done, len(missing))),
            )
            words = reading.vocabulary.most_frequent(settings.learned_words)
            if unknown := writing.text_vectors.missing([text_key(word) for word in words]):
                writing.remember(reading.text_vectors.known(unknown))
            writing.note_roots(reading.catalogue.roots())
            writing.set_communities(reading.links.communities())
            writing.tidy(settings.learned_words)
        with target.read() as copied:
            announce(Event("compare", 0, None))
            counts, agreement = copied.catalogue.counts(), _compare(reading, copied)
    return MoveRecord(
        project.name,
        hide_secrets(source.place),
        hide_secrets(target.place),
        counts.documents,
        counts.chunks,
        counts.embedded,
        len(missing),
        agreement,
    )


def _cut(
    reading: IndexReader, names: Iterable[str], options: ChunkOptions
) -> Iterator[ChunkedDocument]:
    """Cut documents from the text that the index has; raise `Damaged` if it has them otherwise."""
    for name in names:
        stored = reading.catalogue.document(name)
        if stored is None:
            raise Damaged(f"The index has no text of {name}.", "Look at it with: dowse doctor")
        chunked = chunk(parse(name, stored.text), options)
        if chunked.chunks != stored.chunks:
            raise Damaged(
                f"{name} was cut by other rules than those that hold now.",
                "Rebuild the index first with: dowse index --rebuild",
            )
        yield chunked


# ── Whether two stores hold and find the same ─────────────────────────────

_SAMPLES = 20  # documents whose titles and vectors are searched for on both sides
_COUNTED = 50  # hits of a search for words that are counted


def _compare(one: IndexReader, other: IndexReader) -> float:
    """Return how far both sides agree; raise `Damaged` when they hold or find different things."""
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
            f"Only {agreement:.0%} of the searches that were tried find the same on both sides.",
            "Nothing was switched. Run the same command again, or rebuild with: dowse index"
            " --rebuild",
        )
    return agreement


def agreement_of(one: IndexReader, other: IndexReader) -> float:
    """Return the share of a sample of searches that find the same on both sides.

    Documents from all over the index are searched for: words of a title must find as many chunks,
    and the vector of the first chunk one that is as near. Which of equal ones comes first differs.
    """
    same: list[bool] = []
    listed = one.catalogue.documents()
    for entry in listed[:: max(1, len(listed) // _SAMPLES)][:_SAMPLES]:
        terms = [word for word in entry.fields.title.lower().split() if word.isalnum()]
        left, right = (len(side.keyword.search("body", terms, _COUNTED)) for side in (one, other))
        same.append(left == right)
        # A text that the model cannot read has a vector of zeros, which is as near to all others.
        for vector in filter(
            np.any, one.vectors.of(one.catalogue.keys_of([entry.id]).tolist()[:1]).values()
        ):
            found = [score for side in (one, other) for _, score in side.vectors.nearest(vector, 1)]
            same.append(len(found) == 2 and abs(found[0] - found[1]) < _ROUNDING)
    return sum(same) / len(same) if same else 1.0
