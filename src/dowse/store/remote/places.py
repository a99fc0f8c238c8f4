"""Where remote indexes are: in an engine, under a name that the project's folder keeps.

The name is made once, from that of the project and some random digits, so that two users of one
engine never write into the same index by accident. Machines that are to share an index all set
`store.name`. The project that made an index removes it; others only forget it.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from dowse.errors import BadSettings, DowseError, EngineFailed
from dowse.files import make_private_folder, replace_file
from dowse.ports import Analyzer
from dowse.store.remote.head import read_head
from dowse.store.remote.lease import WHOLE, claimed
from dowse.store.remote.rows import Rows
from dowse.store.remote.schema import records
from dowse.store.remote.store import RemoteStore
from dowse.store_options import StoreOptions

NOTE = "remote.json"
"""The file in the folder of a project that says where its index is."""


@dataclass(frozen=True, slots=True)
class Note:
    """Where the index of a project is, without any secret."""

    url: str
    name: str  # of the index in the engine
    token_env: str = ""
    made: bool = False  # whether this project made the index

    @property
    def options(self) -> StoreOptions:
        """What is needed to reach the engine."""
        return StoreOptions(url=self.url, token_env=self.token_env)


class RemotePlaces:
    """The indexes of projects in engines."""

    def store(self, project: Path, options: StoreOptions, analyzer: Analyzer) -> RemoteStore:
        """The store of the project in a folder, in the engine of the settings."""
        known = self.note(project)
        name = self._name(project, options, known)

        def note_down() -> None:
            self._note_down(project, options, name, store.rows)

        store = RemoteStore(lambda: open_rows(options), name, analyzer, note_down)
        return store

    def note(self, project: Path) -> Note | None:
        """Where the index of a project is; None when it has none in an engine."""
        try:
            return msgspec.json.decode((project / NOTE).read_bytes(), type=Note)
        except (OSError, msgspec.MsgspecError):
            return None

    def holding(self, projects: Path) -> list[str]:
        """The names of those folders among the projects that have an index in an engine."""
        return [path.parent.name for path in projects.glob(f"*/{NOTE}")]

    def roots(self, project: Path) -> list[str]:
        """The folders that an index was made of; nothing when it cannot be read."""
        note = self.note(project)
        if note is None:
            return []
        try:
            with _rows(note) as rows:
                return list(read_head(rows, records(note.name)).roots)
        except DowseError:
            return []

    @contextmanager
    def undisturbed(self, project: Path) -> Iterator[None]:
        """Keeps writers away from an index, if there is one; raises `Locked` while one works."""
        note = self.note(project)
        if note is None or not note.made:
            yield
            return
        with _rows(note) as rows:
            collection = records(note.name)
            if not rows.exists(collection.name):
                yield
                return
            with claimed(rows, collection, WHOLE, 0.0):
                yield

    def remove(self, project: Path) -> None:
        """Removes the index of a project from its engine, if the project made it."""
        note = self.note(project)
        if note is not None and note.made:
            with _rows(note) as rows:
                for name in [*rows.names(f"{note.name}_chunks_"), records(note.name).name]:
                    rows.drop(name)
        with suppress(FileNotFoundError):
            (project / NOTE).unlink()

    def _name(self, project: Path, options: StoreOptions, known: Note | None) -> str:
        if options.name:
            return f"{options.prefix}_{options.name}"
        if known is not None and known.url == options.url:
            return known.name
        slug = re.sub(r"[^A-Za-z0-9]+", "_", project.name).strip("_")[:40] or "index"
        return f"{options.prefix}_{slug}_{secrets.token_hex(4)}"

    def _note_down(self, project: Path, options: StoreOptions, name: str, rows: Rows) -> None:
        known = self.note(project)
        if known is not None and (known.url, known.name) == (options.url, name):
            return
        is_new = not read_head(rows, records(name)).epoch
        note = Note(options.url, name, options.token_env, made=is_new)
        make_private_folder(project)
        replace_file(project / NOTE, msgspec.json.encode(note))


@contextmanager
def _rows(note: Note) -> Iterator[Rows]:
    rows = open_rows(note.options)
    try:
        yield rows
    finally:
        rows.close()


def open_rows(options: StoreOptions) -> Rows:
    """The rows of the engine that the settings name; its client is loaded here and nowhere else."""
    address, token = options.address, _token(options)
    try:
        if address.kind == "milvus":
            from dowse.store.remote.milvus import MilvusRows, MilvusTuning  # noqa: PLC0415

            return MilvusRows(
                address.http,
                place=options.url,
                token=token,
                database=address.database,
                timeout=options.timeout,
                tuning=MilvusTuning(
                    index=options.index,
                    build=options.build_values,
                    search=options.search_values,
                    shards=options.shards,
                    replicas=options.replicas,
                    consistency=options.consistency.capitalize(),
                ),
            )
        from dowse.store.remote.qdrant import QdrantTuning, server_rows  # noqa: PLC0415

        return server_rows(
            address.http,
            place=options.url,
            token=token,
            timeout=options.timeout,
            tuning=QdrantTuning(
                hnsw=options.build_values,
                quantization=options.quantization,
                search=options.search_values,
                shards=options.shards,
                replicas=options.replicas,
            ),
        )
    except ImportError as error:
        raise EngineFailed(
            f"The client of the engine is not installed: {error}.",
            "Install it with: pip install 'dowse[scale]'",
        ) from error


def _token(options: StoreOptions) -> str:
    if not options.token_env:
        return ""
    token = os.environ.get(options.token_env, "")
    if not token:
        raise BadSettings(
            f"store.token_env names {options.token_env}, which is not set in the environment.",
            f"Set it: export {options.token_env}=KEY",
        )
    return token
