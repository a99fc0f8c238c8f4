"""The writer of an index, or of one part of it."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, get_args

import msgspec

from dowse._model import Batch, ChunkedDocument, IndexedDocument, Maintenance, Stamp, Vector
from dowse._model.ports import DocumentTable, Links, TextVectors, Vocabulary
from dowse._store.remote.catalogue import RemoteCatalogue, Viewing
from dowse._store.remote.change import (
    BatchWriter,
    clear_intent,
    read_intents,
    recover,
    spread_vectors,
)
from dowse._store.remote.documents import DocumentRows, Entry
from dowse._store.remote.head import (
    ROOTS,
    Head,
    drop_epoch,
    epoch_row,
    epochs_of,
    meta_row,
    paid_row,
    progress_row,
)
from dowse._store.remote.links import RemoteLinks
from dowse._store.remote.rows import In
from dowse._store.remote.schema import chunks as chunks_of
from dowse._store.remote.state import HiddenState, WriterState
from dowse._store.remote.terms import ChunkTerms
from dowse._store.remote.texts import read_vectors, vector_rows
from dowse._store.remote.tidying import merge_counts, reweigh, unused_vectors
from dowse._store.remote.tokens import document_key
from dowse._store.remote.view import View
from dowse._store.remote.vocabulary import RemoteTextVectors, RemoteVocabulary
from dowse._store.remote.weights import Averages, averages_of
from dowse._store.sql.database import decode_vector, encode_vector, model_of

if TYPE_CHECKING:
    from dowse._store.remote.store import RemoteStore

_AT_ONCE = 500  # records that are written in one call


class RemoteWriting:
    """The writing side; only the holder of the claim to its part has one."""

    def __init__(self, store: RemoteStore, part: str, state: WriterState) -> None:
        self._store = store
        self._part = part
        self._state = state
        self._of = Viewing(self._new_view())
        self._rows, self._records = self._of.view.rows, self._of.view.records
        self.catalogue: DocumentTable = RemoteCatalogue(self._of)
        self.links: Links = RemoteLinks(self._of)
        self.vocabulary: Vocabulary = RemoteVocabulary(self._of)
        self.text_vectors: TextVectors = RemoteTextVectors(self._of)
        self._seen: Head = self._of.view.head
        self._waits: bool | None = None  # whether a chunk has no vector yet; None: not asked yet
        self._recover()

    @property
    def _view(self) -> View:
        return self._of.view

    @property
    def _head(self) -> Head:
        return self._of.view.head

    def start(self, stamp: Stamp) -> None:
        """Empties the index and stamps it; known vectors are kept."""
        before, number = self._head, self._head.number + 1
        self._waits = None
        epoch, (_, dimensions) = self._state.new_epoch(number, stamp), model_of(stamp)
        with self._change(frozenset({"tidy"}) if before.epoch else frozenset()):
            self._rows.make(chunks_of(self._store.name, epoch, dimensions))
            self._state.put(epoch_row(number, epoch, stamp))
            if before.epoch:
                self._state.end_epoch(before.epoch)

    def note_roots(self, roots: Sequence[str]) -> None:
        """Notes which folders the index is made of."""
        if self.catalogue.roots() != list(roots):
            self._state.put(meta_row(ROOTS, list(roots)))
            self._look_again()

    def expect(self, documents: Iterable[ChunkedDocument]) -> None:
        """Learns the average lengths of chunks from documents that an empty index will get."""
        analyzer = self._store.analyzer
        if not self._head.averages.body:
            self._note_averages(averages_of(ChunkTerms(one, analyzer).lengths for one in documents))
            self._look_again()

    def apply(self, batch: Batch) -> None:
        """Takes a batch document by document: each is replaced whole, or not at all."""
        model, dimensions = self._head.model
        vectors = {
            key: decode_vector(encode_vector(vector, dimensions))
            for key, vector in batch.vectors.items()
        }
        put, gone = self._steps(batch)
        debts: set[Maintenance] = {"communities", "tidy"} if put or gone else set()
        with self._change(frozenset(debts)):
            self._remember(vector_rows(model, dimensions, vectors))
            missing = [k for one in put for k in one.text_keys() if k not in vectors]
            known = read_vectors(self._rows, self._records, model, missing)
            change = BatchWriter(self._view, self._part, uuid.uuid4().hex)
            change.replace(put, gone, self._averages(put), {**known, **vectors})
            change.touch(batch.touched)
            self._spread(vectors, complete=len(known) == len(set(missing)))

    def _spread(self, vectors: Mapping[bytes, Vector], *, complete: bool) -> None:
        """Gives vectors to the chunks that wait for them, if any do: to look for them is slow.

        `complete` says that the chunks of the batch have all their vectors. Chunks that a writer of
        another part leaves without a vector meanwhile get it from the next run.
        """
        if self._waits is None:
            self._waits = self._rows.count(self._view.chunks, In("embedded", [0])) > 0
        if self._waits:
            spread_vectors(self._view, vectors, waiting=True)
        self._waits = self._waits or not complete

    def _steps(self, batch: Batch) -> tuple[list[DocumentRows], list[Entry]]:
        """The documents to put, the last version of each, and the entries of those that go."""
        last: dict[str, IndexedDocument] = {one.chunked.document.id: one for one in batch.put}
        going = [name for name in dict.fromkeys(batch.gone) if name not in last]
        old = self._view.named([*last, *going])
        epoch, analyzer = self._head.epoch, self._store.analyzer
        put = [
            DocumentRows(one, old.get(document_key(name)), epoch, analyzer)
            for name, one in last.items()
        ]
        return put, [old[key] for name in going if (key := document_key(name)) in old]

    def _averages(self, put: Sequence[DocumentRows]) -> Averages:
        """The average lengths that weights are made with; the first batch of an index sets them."""
        averages = averages_of(one.entry.lengths for one in put)
        if self._head.averages.body or not averages.body:
            return self._head.averages
        self._note_averages(averages)
        return averages

    def _note_averages(self, averages: Averages) -> None:
        head = self._head
        self._state.put(epoch_row(head.number, head.epoch, head.stamp, averages))

    def remember(self, vectors: Mapping[bytes, Vector]) -> None:
        """Keeps vectors by text key; chunks that were waiting for one of them get it."""
        model, dimensions = self._head.model
        rounded = {
            key: decode_vector(encode_vector(vector, dimensions)) for key, vector in vectors.items()
        }
        with self._change():
            self._remember(vector_rows(model, dimensions, rounded))
            spread_vectors(self._view, rounded, waiting=False)

    def _remember(self, rows: Sequence[dict[str, object]]) -> None:
        for start in range(0, len(rows), _AT_ONCE):
            self._rows.put(self._records, rows[start : start + _AT_ONCE])

    def pending(self) -> frozenset[Maintenance]:
        """What has not been done since documents last changed, also when that run was killed."""
        self._look_again()
        self._seen = self._head  # what is done now is done for what was seen now
        return frozenset(debt for debt in get_args(Maintenance) if self._seen.owes(debt))

    def set_communities(self, communities: Mapping[str, int]) -> None:
        """Replaces the communities."""
        changed = [
            msgspec.structs.replace(entry, community=communities.get(entry.id, -1))
            for entry in self._view.entries().values()
            if entry.community != communities.get(entry.id, -1)
        ]
        with self._change():
            epoch = self._head.epoch
            self._remember([one.row(epoch, self._view.links(one)) for one in changed])
            self._pay("communities")

    def tidy(self, vocabulary: int, *, thorough: bool = False) -> None:
        """Gives back what nothing needs any more, and makes the weights of terms right again."""
        with self._change():
            merge_counts(self._view, self._part)
            unused_vectors(self._view, self.vocabulary.most_frequent(vocabulary))
            reweigh(self._view, self._state.put, thorough=thorough)
            self._pay("tidy")

    def _pay(self, debt: Maintenance) -> None:
        paid = {part: one.get("generation", 0) for part, one in self._seen.progress.items()}
        self._state.put(paid_row(debt, paid))

    def _recover(self) -> None:
        """Finishes what a killed writer of this part has left."""
        if not self._head.number:
            return
        if not self._part:
            self._drop_left_epochs()
        for key, intent in read_intents(self._rows, self._view.state, self._part).items():
            if intent is not None:
                if intent.epoch == self._head.epoch:
                    recover(self._view, intent)
                clear_intent(self._rows, self._view.state, key)

    def _drop_left_epochs(self) -> None:
        """Removes epochs that never counted, or no longer do: their writers were killed."""
        for epoch in epochs_of(self._rows, self._store.name):
            if epoch != self._head.epoch:
                drop_epoch(self._rows, self._store.name, epoch)

    @contextmanager
    def _change(self, debts: frozenset[Maintenance] = frozenset()) -> Iterator[None]:
        """A change that counts as one batch of this writer once it is done."""
        yield
        mine = dict(self._head.progress.get(self._part, {}))
        mine["generation"] = mine.get("generation", 0) + 1
        mine |= dict.fromkeys(debts, mine["generation"])
        self._state.put(progress_row(self._part, mine))
        self._store.shared.forget()
        self._look_again()

    def publish(self, state: HiddenState) -> None:
        """Shows what was written hidden."""
        self._look_again()
        state.publish(self._view)
        self._store.shared.forget()

    def _look_again(self) -> None:
        self._of.view = self._new_view()

    def _new_view(self) -> View:
        return self._store.view(self._state.read())
