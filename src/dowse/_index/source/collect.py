"""What was found of one root: files that can be used, and others with the reason."""

from __future__ import annotations

import os
import stat
from functools import cached_property

from dowse._index.source.convert import is_installed
from dowse._index.source.formats import ALWAYS, INSTALL
from dowse._index.source.options import ReadOptions
from dowse._index.source.roots import Root, document_id, readable
from dowse._index.source.safe_open import too_large
from dowse._model import LeftOut, SourceFile

NOT_UTF8 = "Its name is not valid UTF-8; rename it."
"""Why something that cannot have an id is left out."""

_SPECIAL = "It is not a regular file but a pipe, a socket or a device."


class SourceCollector:
    """Collects the sources of one root and what of it is left out."""

    def __init__(self, root: Root, options: ReadOptions) -> None:
        self.sources: list[SourceFile] = []
        self.left_out: list[LeftOut] = []
        self._root = root
        self._options = options

    def take(self, below: str, path: str, kind: str, status: os.stat_result) -> None:
        """Takes a file that the rules let through, unless it cannot be used as it is."""
        identifier = document_id(self._root, below)
        reason = self._objection(kind, status)
        if identifier is None or reason:
            self.leave_out(below, reason or NOT_UTF8, lost=reason != INSTALL)
        else:
            source = SourceFile(identifier, path, status.st_size, status.st_mtime_ns)
            self.sources.append(source)

    def leave_out(self, below: str, reason: str, *, lost: bool = True) -> None:
        """Notes what cannot be used; "" stands for the root itself."""
        if below:
            name = document_id(self._root, below) or self._root.prefix + readable(below)
        else:
            name = readable(str(self._root.path))
        self.left_out.append(LeftOut(name, reason, lost=lost))

    def _objection(self, kind: str, status: os.stat_result) -> str:
        if not stat.S_ISREG(status.st_mode):
            return _SPECIAL
        limit = self._options.limit(kind)
        if status.st_size > limit:
            return too_large(status.st_size, limit)
        return "" if kind in ALWAYS or self._can_convert else INSTALL

    @cached_property
    def _can_convert(self) -> bool:
        return is_installed()
