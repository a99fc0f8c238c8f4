"""The keyword and code index: tantivy, fed with terms that an analyzer makes of the rows.

tantivy commits by replacing its `meta.json`, which carries a stamp that grows with every commit.
The manifest notes that stamp, so a reader can tell whether what it opened is what the manifest
describes, and the next writer can tell that a commit was not followed by its manifest.
"""

from __future__ import annotations

import json
import os
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import compress
from pathlib import Path
from typing import Any

import tantivy

from dowse._model import GAP, ChunkKey, Keys, Scores
from dowse._model.ports import Analyzer, KeywordField
from dowse._store.files import replica_damaged, tantivy_errors
from dowse._store.replicas import FileSum, ReplicaManifest, describe, sum_files
from dowse._store.sql.database import Database
from dowse._util.arrays import members, np
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
    """Make and extend the keyword index."""

    name = "keyword"
    terms_only = True  # a new vector does not concern it

    def __init__(self, base: Path, analyzer: Analyzer) -> None:
        self._base = base
        self._analyzer = analyzer

    def create(self, database: Database) -> ReplicaManifest:
        """Begin an empty index, in a folder of its own."""
        folder = self._base / f"{self.name}-{uuid.uuid4().hex[:12]}"
        make_private_folder(folder)
        schema = tantivy.SchemaBuilder()
        # Signed: deleting by an unsigned key silently deletes nothing in tantivy-py 0.27.
        schema.add_integer_field("key", indexed=True, fast=True)
        for field in ("body", "code"):
            schema.add_text_field(field, tokenizer_name=_TOKENIZER, index_option="position")
        with tantivy_errors(folder):
            tantivy.Index(schema.build(), path=str(folder))
        return ReplicaManifest(database.identity, -1, folder.name)

    def take(
        self, manifest: ReplicaManifest, database: Database, changed: list[ChunkKey] | None
    ) -> ReplicaManifest:
        """Apply the changed chunks, or all. Idempotent."""
        folder = self._base / manifest.folder
        # Then a writer died after its commit. If it took the same changes, they are taken twice.
        ahead = bool(manifest.files) and not self.is_current(manifest)
        if manifest.files and not ahead:
            # What a writer left that died before its commit: tantivy would stumble over it.
            for path in _files(folder):
                if path.name not in manifest.files:
                    path.unlink()
        with _writer(folder) as writer:
            for key in changed or ():
                writer.delete_documents_by_term("key", key)
            added = waiting = 0
            for key, body, code in database.keyword_rows(self._analyzer, changed):
                added += 1
                with tantivy_errors(folder):
                    writer.add_document(tantivy.Document(key=key, body=body, code=code))
                    waiting += len(body) + len(code)
                    if waiting >= _MOST_WAITING:
                        # No reader opens it before the manifest, and a crash makes all be taken
                        # once more, as it does after the last commit.
                        writer.commit()
                        waiting = 0
        known = {name: known for name, known in manifest.files.items() if name != _META}
        files = sum_files(folder, [path.name for path in _files(folder)], known)
        detail = {
            "commit": _commit_stamp(folder),
            "deleted": 0 if changed is None else _deleted(manifest) + len(changed) - added,
        }
        if ahead and KeywordIndex(folder).keys() != database.chunk_keys():
            raise replica_damaged(f"{folder} holds chunks that the database does not know.")
        return describe(database, manifest.folder, files, detail)

    def is_current(self, manifest: ReplicaManifest) -> bool:
        """Tell whether no commit has been made since the manifest was written; raise `Damaged`."""
        folder, expected = self._base / manifest.folder, manifest.detail["commit"]
        found = _commit_stamp(folder)
        if found < expected:
            raise replica_damaged(f"{folder / _META} is older than it should be.")
        return found == expected

    def is_worn(self, manifest: ReplicaManifest, database: Database, *, thorough: bool) -> bool:
        """Tell whether scores depend so much on deleted chunks that it is worth building it again.

        tantivy counts deleted chunks in its statistics until it merges their segment, and from
        then on estimates them. To build the index again costs as much as adding all its chunks.
        """
        deleted, alive = _deleted(manifest), database.chunk_count()
        return deleted > 0 and (thorough or alive <= _FEW or deleted > _SHARE * alive)

    def left_of(self, manifest: ReplicaManifest) -> Mapping[str, FileSum]:
        """List the files of a manifest that are still in use after a further commit."""
        folder, files = self._base / manifest.folder, manifest.files
        return {name: files[name] for name in files if name != _META and (folder / name).exists()}

    def open(self, manifest: ReplicaManifest) -> KeywordIndex | None:
        """Open the index that a manifest describes; None when a writer has moved on from it."""
        mapped = {name: one.size for name, one in manifest.files.items() if name != _META}
        try:
            index = KeywordIndex(self._base / manifest.folder, mapped)
        except Damaged:
            if self.is_current(manifest):
                raise
            return None
        return index if self.is_current(manifest) else None


@contextmanager
def _writer(folder: Path) -> Iterator[tantivy.IndexWriter]:
    """Lend a writer that commits at the end; afterwards none of its threads changes a file."""
    with tantivy_errors(folder):
        index = tantivy.Index.open(str(folder))
        # Only who writes has it, under the name that the schema of every index has.
        index.register_tokenizer(
            _TOKENIZER,
            tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
            .filter(tantivy.Filter.custom_stopword([GAP]))
            .build(),
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
    """List all but the hidden ones: locks, and notes for cleaning up that precede a commit."""
    return [path for path in folder.iterdir() if not path.name.startswith(".")]


def _deleted(manifest: ReplicaManifest) -> int:
    """Count the chunks that were deleted since the index was built; at least one when unknown."""
    return manifest.detail.get("deleted", 1 if manifest.files else 0)


def _commit_stamp(folder: Path) -> int:
    try:
        return int(json.loads((folder / _META).read_bytes())["opstamp"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise replica_damaged(f"{folder / _META} is not as it was written.") from error


# ── Searching one generation ──────────────────────────────────────────────

# Measured over 100,000 chunks with five terms and a limit of 30, in milliseconds:
#   keys      100   500   1,000   10,000   90,000
#   listed      2     8      13       11       99
#   picked     18     7       2        1        1
_LISTED = 500  # so many keys are listed in the query; more are picked from hits fetched beyond it

_GROWTH = 4  # how many times more hits are fetched when some were too few
_RARE = 100  # chunks
_NO_LOCK = "Failed to acquire Lockfile"
_PLACES = ("/dev/shm", "/tmp", "/var/tmp")  # noqa: S108  (each holds a private folder)


class KeywordIndex:
    """One generation of the keyword index, open for reading."""

    def __init__(self, folder: Path, sizes: Mapping[str, int] | None = None) -> None:
        self._sizes = {folder / name: size for name, size in (sizes or {}).items()}
        with tantivy_errors(folder):
            self._schema, self._searcher = _open_searcher(folder)

    @property
    def is_whole(self) -> bool:
        """Tell whether every file that tantivy has mapped still has its length.

        To touch a part of a mapped file that somebody has cut off kills the process.
        """
        try:
            return all(path.stat().st_size == size for path, size in self._sizes.items())
        except OSError:
            return False

    @property
    def size(self) -> int:
        """How many chunks it holds."""
        return self._searcher.num_docs

    def search(
        self, field: KeywordField, terms: Sequence[str], limit: int, among: Keys | None = None
    ) -> Scores:
        """Find chunks that hold any of the terms in a field, best first by BM25."""
        if not terms or limit < 1 or (among is not None and not len(among)):
            return []
        query = tantivy.Query.boolean_query(
            [
                (tantivy.Occur.Should, tantivy.Query.term_query(self._schema, field, term, "freq"))
                for term in terms
            ]
        )
        if among is not None and len(among) <= _LISTED:
            listed = tantivy.Query.term_set_query(self._schema, "key", among.tolist())
            both = [
                (tantivy.Occur.Must, tantivy.Query.const_score_query(listed, 0.0)),
                (tantivy.Occur.Must, query),
            ]
            query, among = tantivy.Query.boolean_query(both), None
        # The best hits; equal scores by key, also where the limit cuts.
        everything = self.size + 1
        share = 1.0 if among is None else len(among) / everything
        count = min(everything, int(1.2 * limit / share) + 1)
        while True:
            keys, scores = self._fetch(query, count)
            found = list(zip(keys, scores, strict=True))
            if among is not None:
                found = list(compress(found, members(np.array(keys, np.int64), among).tolist()))
            # Whatever ties with the last one that fits must have been fetched.
            if len(keys) < count or (len(found) >= limit and found[limit - 1][1] > scores[-1]):
                return sorted(found, key=lambda one: (-one[1], one[0]))[:limit]
            count = min(everything, _GROWTH * count)

    def phrase(self, field: KeywordField, terms: Sequence[str]) -> Keys:
        """Find chunks in which the terms follow each other, by key; all chunks when there are none.

        A term that is listed several times at one position, to weigh more, is there once.
        """
        if not terms:
            query = tantivy.Query.all_query()
        elif len(terms) == 1:
            query = tantivy.Query.term_query(self._schema, field, terms[0], "freq")
        else:
            query = tantivy.Query.phrase_query(self._schema, field, list(terms))
        keys, _ = self._fetch(tantivy.Query.const_score_query(query, 0.0), max(1, self.size))
        return np.sort(np.array(keys, np.int64))

    def frequencies(self, field: KeywordField, terms: Sequence[str]) -> dict[str, int]:
        """Count in about how many chunks each term occurs."""
        found = {}
        for term in terms:
            found[term] = int(self._searcher.doc_freq(field, term))
            # This counts deleted chunks until their segment is merged, which matters for rare
            # terms alone, and those are quickly counted.
            if 0 < found[term] <= _RARE:
                hits: Any = self._searcher.search(
                    tantivy.Query.term_query(self._schema, field, term, "freq"), 1, count=True
                )
                found[term] = int(hits.count)
        return found

    def keys(self) -> set[ChunkKey]:
        """List all the chunks it holds."""
        return set(self.phrase("body", ()).tolist())

    def _fetch(self, query: tantivy.Query, count: int) -> tuple[list[ChunkKey], list[float]]:
        hits = self._searcher.search(query, count, count=False).hits
        keys: Any = self._searcher.fast_field_values("key", [address for _, address in hits])
        return keys, [score for score, _ in hits]


def _open_searcher(folder: Path) -> tuple[tantivy.Schema, tantivy.Searcher]:
    """Open an index for searching, also where nothing can be written.

    tantivy locks a file in the folder of an index even to read it. Where that file cannot be opened
    for writing, the index is opened through a mapped directory: a temporary one of links to its
    files. Raises `ValueError` when the index cannot be used.
    """
    try:
        return _open(folder)
    except ValueError as error:
        if _NO_LOCK not in str(error):
            raise
        try:
            with _temporary_folder(error) as name:
                for path in folder.resolve().iterdir():
                    if path.suffix != ".lock":
                        Path(name, path.name).symlink_to(path)
                return _open(Path(name))  # which has every file open once it is done
        except OSError as gone:  # a writer has just removed the folder
            raise error from gone


def _open(folder: Path) -> tuple[tantivy.Schema, tantivy.Searcher]:
    index = tantivy.Index.open(str(folder))
    return index.schema, index.searcher()


def _temporary_folder(error: ValueError) -> tempfile.TemporaryDirectory[str]:
    # Links take no space, so a full disk will do. The current folder, which Python falls back to,
    # is the user's own.
    for place in (os.environ.get("TMPDIR"), *_PLACES):
        try:
            if place:
                return tempfile.TemporaryDirectory(prefix="dowse-", dir=place)
        except OSError:
            continue
    raise error
