"""A model in a folder of the user's: it is read in place and never written to."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from pathlib import Path

from dowse._embed.models import weights_missing
from dowse._embed.models.folder import CONFIG, TOKENIZER, WEIGHTS, missing_files, read_recipe
from dowse._embed.models.known import full_name
from dowse._embed.models.local_model import Identity
from dowse._embed.models.model_cache import ModelCache, file_record
from dowse._embed.onnx.graph import Graph
from dowse._embed.onnx.graph_cache import load_graph
from dowse._util.files import make_private_folder, replace_file
from dowse.errors import EmbedError

_SHA256_DIGITS = 64


class FolderModel:
    """A model in a folder; what is built from it is kept in the cache."""

    def __init__(self, folder: Path, models: ModelCache) -> None:
        self.folder = folder.expanduser().absolute()
        self.name = self.folder.name
        # Graphs are kept apart from the user's own files, by place.
        place = hashlib.sha256(str(self.folder).encode("utf-8", "surrogateescape")).hexdigest()
        self._graphs = models.root / ".folders" / place[:16]

    def identity(self) -> Identity:
        """Which weights these are: they are read once whenever the file has changed."""
        self._check()
        return Identity(read_recipe(self.folder, full_name(self.name)), self._weights())

    def tokenizer(self) -> bytes:
        """The content of tokenizer.json."""
        self._check()
        try:
            return (self.folder / TOKENIZER).read_bytes()
        except OSError as error:
            raise EmbedError(f"{self.folder / TOKENIZER} cannot be read: {error}.") from error

    def graph(self, kind: str, version: str, build: Callable[[Path], Graph]) -> Path | bytes:
        """A graph built from the model's folder, or the one that was built before."""
        self._check()
        return load_graph(self._graphs, kind, version, lambda: build(self.folder))

    def _check(self) -> None:
        if missing := missing_files(self.folder):
            raise weights_missing(
                f"{self.folder} has no {' and no '.join(missing)}.",
                f"A model's folder holds {CONFIG}, {WEIGHTS} and {TOKENIZER}.",
            )

    def _weights(self) -> str:
        path = self.folder / WEIGHTS
        try:
            return self._digest(path)
        except OSError as error:
            raise EmbedError(f"{path} cannot be read: {error}.") from error

    def _digest(self, path: Path) -> str:
        state = path.stat()
        seen = f"{state.st_size} {state.st_mtime_ns}"
        note = self._graphs / "weights.txt"
        with contextlib.suppress(OSError, ValueError):
            known, _, digest = note.read_text("ascii").rpartition(" ")
            if known == seen and len(digest) == _SHA256_DIGITS:
                return digest
        digest = file_record(path).sha256
        with contextlib.suppress(OSError):  # then it is read again next time
            make_private_folder(self._graphs)
            replace_file(note, f"{seen} {digest}".encode("ascii"))
        return digest
