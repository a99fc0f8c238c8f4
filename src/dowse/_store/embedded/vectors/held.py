"""Segments that are open for searching, and shared by all generations that have them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from dowse._model import Keys
from dowse._store.embedded.manifest import FileSum
from dowse._store.embedded.members import members
from dowse._store.embedded.vectors.file import HeldFile, VectorFile
from dowse._store.embedded.vectors.scan import Codes, Rows
from dowse._store.embedded.vectors.segments import file_names
from dowse._util.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_Id = tuple[Path, tuple[FileSum, ...]]
"""What distinguishes a segment from all others, also from one of the same number."""


class HeldSegment:
    """The files of a segment, open; they are read when they are first searched."""

    def __init__(self, folder: Path, number: int) -> None:
        keys, vectors, codes = (folder / name for name in file_names(number))
        self._keys, self._codes = HeldFile(keys), HeldFile(codes)
        self.vectors = VectorFile(vectors)

    @property
    def is_whole(self) -> bool:
        """Whether the vectors that are still on disk can be read."""
        return self.vectors.is_whole

    @cached_property
    def keys(self) -> Keys:
        """The key of each row."""
        keys: Keys = self._keys.array()
        return keys

    @cached_property
    def codes(self) -> Codes:
        """The sign codes."""
        return np.ascontiguousarray(self._codes.array().T)  # a copy of those of older indexes

    def rows_of(self, keys: Keys) -> Rows:
        """The rows of a few keys, ascending."""
        if not len(self.keys):
            return np.zeros(0, np.intp)
        places = np.searchsorted(self.keys, keys, sorter=self._order)
        places = np.minimum(places, len(self.keys) - 1)
        rows = places if self._order is None else self._order[places]
        found = rows[self.keys[rows] == keys].tolist()
        return np.array(sorted(set(found)), np.intp)  # np.unique would load numpy.ma

    def allowed(self, keys: Keys) -> NDArray[np.bool_]:
        """Whether the key of each row is among some keys, which ascend."""
        return members(self.keys, keys, self._last)

    @cached_property
    def _order(self) -> Rows | None:
        """The rows by key; None where they already are: vectors may come in any order."""
        keys = self.keys
        return None if bool((keys[1:] > keys[:-1]).all()) else np.argsort(keys, kind="stable")

    @cached_property
    def _last(self) -> int:
        return int(self.keys.max(initial=0))


class HeldSegments:
    """Opens segments; one that a generation in use has is not read again for the next."""

    def __init__(self) -> None:
        self._open: WeakValueDictionary[_Id, HeldSegment] = WeakValueDictionary()

    def get(self, folder: Path, number: int, files: Mapping[str, FileSum]) -> HeldSegment:
        """The segment of a number, whose files have these sums."""
        id_ = folder, tuple(files[name] for name in file_names(number))
        held = self._open.get(id_)
        if held is None or not held.is_whole:
            held = self._open[id_] = HeldSegment(folder, number)
        return held
