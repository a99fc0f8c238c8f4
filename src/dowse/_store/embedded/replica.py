"""What a replica of the truth promises: another index for words or vectors joins here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from dowse._model import ChunkKey, Keys
from dowse._model.ports import KeywordField, KeywordSearch, VectorSearch
from dowse._store.embedded.manifest import FileSum, ReplicaManifest
from dowse._store.embedded.sqlite.truth import Truth

_Opened_co = TypeVar("_Opened_co", covariant=True)


class OpenReplica(Protocol):
    """A replica at one generation, open for reading."""

    @property
    def is_whole(self) -> bool:
        """Whether no file that is still being read was truncated since it was opened."""
        ...

    def keys(self) -> set[ChunkKey]:
        """All the chunks it holds."""
        ...


class OpenKeywords(OpenReplica, KeywordSearch, Protocol):
    """An open replica that finds words."""

    def phrase(self, field: KeywordField, terms: Sequence[str]) -> Keys:
        """Chunks in which the terms follow each other, by key; all chunks when there are none."""
        ...


class OpenVectors(OpenReplica, VectorSearch, Protocol):
    """An open replica that finds vectors."""


class Replica(Protocol[_Opened_co]):
    """Makes and extends an index of what the truth holds, in a folder of its own.

    Promises: after `take` every file that the manifest names is on the disk, and taking the same
    changes twice is taking them once, so that a writer that died can be made up for.
    """

    @property
    def name(self) -> str:
        """What its manifest and its folders are called."""
        ...

    @property
    def terms_only(self) -> bool:
        """Whether a new vector does not concern it."""
        ...

    def create(self, truth: Truth) -> ReplicaManifest:
        """An empty index, in a new folder."""
        ...

    def take(
        self, manifest: ReplicaManifest, truth: Truth, changed: list[ChunkKey] | None
    ) -> ReplicaManifest:
        """The index with the changed chunks, or with all."""
        ...

    def is_current(self, manifest: ReplicaManifest) -> bool:
        """Whether its files are those of the manifest; raises `Damaged` when they cannot be."""
        ...

    def left_of(self, manifest: ReplicaManifest) -> Mapping[str, FileSum]:
        """The files of a manifest that are still in use when it is not current."""
        ...

    def is_worn(self, manifest: ReplicaManifest, truth: Truth, *, thorough: bool) -> bool:
        """Whether deleted chunks have left so much behind that it should be built again."""
        ...

    def open(self, manifest: ReplicaManifest) -> _Opened_co | None:
        """The index that a manifest describes, or None when a writer has moved on from it."""
        ...
