"""The keyword and code index: tantivy, fed with terms that an analyzer makes of the rows of SQLite.

tantivy commits by replacing its `meta.json`, which carries a stamp that grows with every commit.
The manifest notes that stamp, so a reader can tell whether what it opened is what the manifest
describes, and the next writer can tell that a commit was not followed by its manifest.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import tantivy

from dowse._model import GAP, ChunkKey, Stream
from dowse._model.ports import Analyzer
from dowse._store.embedded.failures import replica_damaged, tantivy_errors
from dowse._store.embedded.keyword.index import KeywordIndex
from dowse._store.embedded.manifest import FileSum, ReplicaManifest, sum_files
from dowse._store.embedded.sqlite.truth import Truth, describe
from dowse._util.files import make_private_folder
from dowse.errors import Damaged

_META = "meta.json"  # the one file of those below that is ever replaced
_FEW = 1000  # chunks that are built again in less than a second, whatever share was deleted
_SHARE = 0.05  # so that each deleted chunk costs at most building twenty
_HEAP = 30_000_000  # bytes that tantivy may fill before it writes a segment; few files need as much
# Characters that may wait for tantivy, which sets no limit itself, if terms come faster than it
# takes them.
_MOST_WAITING = 20_000_000
_TOKENIZER = "raw"


class KeywordReplica:
    """Makes and extends the keyword index."""

    name = "keyword"
    terms_only = True  # a new vector does not concern it

    def __init__(self, base: Path, analyzer: Analyzer) -> None:
        self._base = base
        self._analyzer = analyzer

    def create(self, truth: Truth) -> ReplicaManifest:
        """An empty index, in a folder of its own."""
        folder = self._base / f"{self.name}-{uuid.uuid4().hex[:12]}"
        make_private_folder(folder)
        with tantivy_errors(folder):
            tantivy.Index(_schema(), path=str(folder))
        return ReplicaManifest(truth.identity, -1, folder.name)

    def take(
        self, manifest: ReplicaManifest, truth: Truth, changed: list[ChunkKey] | None
    ) -> ReplicaManifest:
        """The index with the changed chunks, or all; doing it twice is doing it once."""
        folder = self._base / manifest.folder
        # Then a writer died after its commit. If it took the same changes, they are taken twice.
        ahead = bool(manifest.files) and not self.is_current(manifest)
        self._drop_leftovers(manifest)
        with _writer(folder) as writer:
            for key in changed or ():
                writer.delete_documents_by_term("key", key)
            added = waiting = 0
            for key, body, code in truth.keyword_rows(self._analyzer, changed):
                added += 1
                with tantivy_errors(folder):
                    writer.add_document(_document(key, body, code))
                    waiting += len(body) + len(code)
                    if waiting >= _MOST_WAITING:
                        # No reader opens it before the manifest, and a crash makes all be taken
                        # once more, as it does after the last commit.
                        writer.commit()
                        waiting = 0
        known = {name: known for name, known in manifest.files.items() if name != _META}
        files = sum_files(folder, [path.name for path in _files(folder)], known)
        deleted = 0 if changed is None else _deleted(manifest) + len(changed) - added
        detail = {"commit": _commit_stamp(folder), "deleted": deleted}
        if ahead and KeywordIndex(folder).keys() != truth.chunk_keys():
            raise replica_damaged(f"{folder} holds chunks that the database does not know.")
        return describe(truth, manifest.folder, files, detail)

    def is_current(self, manifest: ReplicaManifest) -> bool:
        """Whether no commit has been made since the manifest was written; raises `Damaged`."""
        folder, expected = self._base / manifest.folder, manifest.detail["commit"]
        found = _commit_stamp(folder)
        if found < expected:
            raise replica_damaged(f"{folder / _META} is older than it should be.")
        return found == expected

    def is_worn(self, manifest: ReplicaManifest, truth: Truth, *, thorough: bool) -> bool:
        """Whether scores depend so much on deleted chunks that it is worth building it again.

        tantivy counts deleted chunks in its statistics until it merges their segment, and from
        then on estimates them. To build the index again costs as much as adding all its chunks.
        """
        deleted, alive = _deleted(manifest), truth.chunk_count()
        return deleted > 0 and (thorough or alive <= _FEW or deleted > _SHARE * alive)

    def left_of(self, manifest: ReplicaManifest) -> Mapping[str, FileSum]:
        """The files of a manifest that are still in use after a further commit."""
        folder = self._base / manifest.folder
        lasting = [name for name in manifest.files if name != _META and (folder / name).exists()]
        return {name: manifest.files[name] for name in lasting}

    def open(self, manifest: ReplicaManifest) -> KeywordIndex | None:
        """The index that a manifest describes, or None when a writer has moved on from it."""
        try:
            index = KeywordIndex(self._base / manifest.folder, _sizes(manifest))
        except Damaged:
            if self.is_current(manifest):
                raise
            return None
        return index if self.is_current(manifest) else None

    def _drop_leftovers(self, manifest: ReplicaManifest) -> None:
        """Removes what a writer left that died before its commit: tantivy would stumble over it."""
        if manifest.files and self.is_current(manifest):
            for path in _files(self._base / manifest.folder):
                if path.name not in manifest.files:
                    path.unlink()


@contextmanager
def _writer(folder: Path) -> Iterator[tantivy.IndexWriter]:
    """A writer that commits at the end; afterwards no thread of its changes a file any more."""
    with tantivy_errors(folder):
        index = tantivy.Index.open(str(folder))
        # Only who writes has it, under the name that the schema of every index has.
        terms = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
        index.register_tokenizer(
            _TOKENIZER, terms.filter(tantivy.Filter.custom_stopword([GAP])).build()
        )
        writer = index.writer(_HEAP, num_threads=1)
    try:
        yield writer
        with tantivy_errors(folder):
            writer.commit()
    finally:
        with tantivy_errors(folder):
            writer.wait_merging_threads()


def _files(folder: Path) -> list[Path]:
    """All but the hidden ones: locks, and notes for cleaning up that may be ahead of a commit."""
    return [path for path in folder.iterdir() if not path.name.startswith(".")]


def _deleted(manifest: ReplicaManifest) -> int:
    """How many chunks were deleted since the index was built; at least one when unknown."""
    return manifest.detail.get("deleted", 1 if manifest.files else 0)


def _sizes(manifest: ReplicaManifest) -> dict[str, int]:
    """The length of each file that tantivy maps."""
    return {name: known.size for name, known in manifest.files.items() if name != _META}


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    # Signed: deleting by an unsigned key silently deletes nothing in tantivy-py 0.27.
    builder.add_integer_field("key", indexed=True, fast=True)
    builder.add_text_field("body", tokenizer_name=_TOKENIZER, index_option="position")
    builder.add_text_field("code", tokenizer_name=_TOKENIZER, index_option="position")
    return builder.build()


def _document(key: ChunkKey, body: Stream, code: Stream) -> tantivy.Document:
    document = tantivy.Document()
    document.add_integer("key", key)
    document.add_text("body", body)
    document.add_text("code", code)
    return document


def _commit_stamp(folder: Path) -> int:
    try:
        return int(json.loads((folder / _META).read_bytes())["opstamp"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise replica_damaged(f"{folder / _META} is not as it was written.") from error
