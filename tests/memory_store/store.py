"""An index in memory: every change makes a new generation next to the old one."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial

import msgspec

from dowse._model import (
    Batch,
    Finding,
    IndexedDocument,
    Maintenance,
    Stamp,
    Vector,
)
from dowse._model.ports import (
    Analyzer,
    DocumentTable,
    IndexReader,
    Links,
    TextVectors,
    Vocabulary,
)
from dowse._store.sql.database import decode_vector, encode_vector, model_of
from dowse.errors import Locked
from memory_store.generation import Generation, State
from memory_store.records import (
    MemoryCatalogue,
    MemoryLinks,
    MemoryTextVectors,
    MemoryVocabulary,
)
from memory_store.searching import MemoryKeywords, MemoryVectors, matching


class MemoryWriting:
    """The writing side: changes a copy, which is published as a whole."""

    def __init__(self, store: MemoryStore, analyzer: Analyzer) -> None:
        self._store = store
        self._newest = Generation(store.state, analyzer)
        self.catalogue: DocumentTable = MemoryCatalogue(self._newest)
        self.links: Links = MemoryLinks(self._newest)
        self.vocabulary: Vocabulary = MemoryVocabulary(self._newest)
        self.text_vectors: TextVectors = MemoryTextVectors(self._newest)

    def start(self, stamp: Stamp) -> None:
        """Empties the index and stamps it; known vectors are kept."""
        with self._change() as state:
            state.stamp = copy.deepcopy(stamp)
            state.documents.clear()
            state.keys.clear()
            state.communities.clear()
            state.owed = frozenset({"tidy"})

    def note_roots(self, roots: Sequence[str]) -> None:
        """Notes which folders the index is made of."""
        self._newest.state = self._store.state = replace(self._newest.state, roots=tuple(roots))

    def apply(self, batch: Batch) -> None:
        """Takes a batch in one transaction: after a crash all of it is there, or nothing."""
        with self._change() as state:
            self._keep(state, batch.vectors)
            if batch.put or batch.gone:
                state.owed = frozenset({"communities", "tidy"})
            for name in batch.gone:
                _remove(state, name)
                state.communities.pop(name, None)
            for put in batch.put:
                _remove(state, put.chunked.document.id)
                _insert(state, put)
            for name, file_state in batch.touched:
                if name in state.documents:
                    state.documents[name] = msgspec.structs.replace(
                        state.documents[name], state=file_state
                    )

    def remember(self, vectors: Mapping[bytes, Vector]) -> None:
        """Keeps vectors by text key; chunks that were waiting for one of them get it."""
        with self._change() as state:
            self._keep(state, vectors)

    def set_communities(self, communities: Mapping[str, int]) -> None:
        """Replaces the communities."""
        with self._change() as state:
            known = state.documents
            state.communities = {
                name: group for name, group in communities.items() if name in known
            }
            state.owed -= {"communities"}

    def pending(self) -> frozenset[Maintenance]:
        """What has not been done since documents last changed."""
        return self._newest.state.owed

    def tidy(self, vocabulary: int, *, thorough: bool = False) -> None:  # noqa: ARG002  (of the port)
        """Gives back what nothing needs any more: here, nothing."""
        with self._change() as state:
            state.owed -= {"tidy"}

    @contextmanager
    def _change(self) -> Iterator[State]:
        state = replace(
            self._newest.state,
            documents=dict(self._newest.state.documents),
            keys=dict(self._newest.state.keys),
            vectors=dict(self._newest.state.vectors),
            communities=dict(self._newest.state.communities),
            generation=self._newest.state.generation + 1,
        )
        yield state
        self._newest.state = self._store.state = state

    def _keep(self, state: State, vectors: Mapping[bytes, Vector]) -> None:
        model, dimensions = model_of(state.stamp)
        for key, vector in vectors.items():
            # As exact as the embedded store keeps them, so that both rank alike.
            state.vectors[model, key] = decode_vector(encode_vector(vector, dimensions))


class MemoryStore:
    """An index that lives as long as this object."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.state = State()
        self._analyzer = analyzer
        self._lock = threading.Lock()

    @property
    def place(self) -> str:
        """Where the index is kept, for people."""
        return "memory"

    def bytes(self) -> int:
        """How many bytes of text and vectors it holds."""
        texts = (one.chunked.document.text for one in self.state.documents.values())
        vectors = sum(vector.nbytes for vector in self.state.vectors.values())
        return vectors + sum(len(text.encode("utf-8", "replace")) for text in texts)

    @contextmanager
    def read(self) -> Iterator[IndexReader]:
        """Opens the newest generation."""
        of = Generation(self.state, self._analyzer)
        yield IndexReader(
            MemoryCatalogue(of),
            MemoryLinks(of),
            MemoryVocabulary(of),
            MemoryTextVectors(of),
            MemoryKeywords(of),
            MemoryVectors(of),
            partial(matching, of),
        )

    @contextmanager
    def write(self, wait: float = 0.0, part: str = "") -> Iterator[MemoryWriting]:  # noqa: ARG002
        """Becomes the writer; raises `Locked` when another still is after `wait` seconds."""
        if not self._lock.acquire(timeout=max(0.0, wait)):
            raise Locked("The index is being written by this process.", "Wait for it to end.")
        try:
            yield MemoryWriting(self, self._analyzer)
        finally:
            self._lock.release()

    def replace(self, wait: float = 0.0) -> AbstractContextManager[MemoryWriting]:
        """Becomes the writer; what it writes is there at once."""
        return self.write(wait)

    def check(self) -> list[Finding]:
        """Finds nothing: there is nothing that could disagree."""
        return []

    def repair(self, wait: float = 0.0) -> None:
        """Repairs nothing: there is nothing that could break."""

    def discard(self, wait: float = 0.0) -> None:
        """Forgets everything, also the vectors."""
        with self.write(wait):
            self.state = State()

    def close(self) -> None:
        """Closes nothing: nothing is open."""


def _remove(state: State, name: str) -> None:
    state.documents.pop(name, None)
    state.keys = {key: place for key, place in state.keys.items() if place[0] != name}


def _insert(state: State, indexed: IndexedDocument) -> None:
    name = indexed.chunked.document.id
    state.documents[name] = indexed
    for chunk in indexed.chunked.chunks:
        state.keys[state.next_key] = (name, chunk)
        state.next_key += 1
