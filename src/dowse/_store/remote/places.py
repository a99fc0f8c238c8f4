"""Where remote indexes are: in an engine, under a name that the project's folder keeps.

The name is made once, from that of the project and some random digits, so that two users of one
engine never write into the same index by accident. Machines that are to share an index all set
`store.name`. The project that made an index removes it; others only forget it.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from dowse import DISTRIBUTION
from dowse._model.ports import Analyzer
from dowse._model.store_options import StoreOptions
from dowse._store.remote.head import epochs_of, read_head
from dowse._store.remote.lease import WHOLE, claimed
from dowse._store.remote.rows import Rows
from dowse._store.remote.schema import chunks, records, state
from dowse._store.remote.store import RemoteStore
from dowse._util.files import make_private_folder, replace_file
from dowse.errors import BadSettings, DowseError, EngineFailed

NOTE = "remote.json"
"""The file in the folder of a project that says where its index is."""


class Note(Struct, frozen=True):
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
        new = self._new_name(project, options)

        def name() -> str:
            return self._name(project, options) or new

        def note_down() -> None:
            self._note_down(project, options, store.name, store.rows)

        store = RemoteStore(lambda: open_rows(options), name, analyzer, note_down)
        return store

    def notes(self, project: Path) -> list[Note]:
        """Where the project has an index; two places while it is moved."""
        try:
            return msgspec.json.decode((project / NOTE).read_bytes(), type=list[Note])
        except (OSError, msgspec.MsgspecError):
            return []

    def roots(self, project: Path) -> list[str]:
        """The folders that an index was made of; nothing when it cannot be read."""
        for note in self.notes(project):
            with suppress(DowseError), _rows(note) as rows:
                if found := read_head(rows, note.name).roots:
                    return list(found)
        return []

    @contextmanager
    def undisturbed(self, project: Path) -> Iterator[None]:
        """Keeps writers away from an index, if there is one; raises `Locked` while one works."""
        with ExitStack() as held:
            for note in self.notes(project):
                collection, rows = state(note.name), held.enter_context(_rows(note))
                if note.made and rows.exists(collection.name):
                    held.enter_context(claimed(rows, collection, WHOLE, 0.0))
            yield

    def remove(self, project: Path) -> None:
        """Removes the indexes of a project from their engines, if the project made them."""
        for note in self.notes(project):
            if note.made:
                with _rows(note) as rows:
                    epochs = epochs_of(rows, note.name)
                    for collection in (
                        *(chunks(note.name, one, 0) for one in epochs),
                        records(note.name),
                        state(note.name),
                    ):
                        rows.drop(collection.name)
            self.forget(project, note.url)

    def carry(self, project: Path, to: Path) -> None:
        """Lets another folder know where the index of a project is."""
        self._write(to, self.notes(project))

    def made_here(self, project: Path, url: str) -> bool:
        """Whether the project made the index that it has in an engine."""
        return any(note.made for note in self.notes(project) if note.url == url)

    def forget(self, project: Path, url: str) -> None:
        """Forgets that a project has an index in an engine."""
        self._write(project, [note for note in self.notes(project) if note.url != url])

    def _name(self, project: Path, options: StoreOptions) -> str:
        if options.name:
            return f"{options.prefix}_{options.name}"
        for note in self.notes(project):
            if note.url == options.url:
                return note.name
        return ""

    def _new_name(self, project: Path, options: StoreOptions) -> str:
        slug = re.sub(r"[^A-Za-z0-9]+", "_", project.name).strip("_")[:40] or "index"
        return f"{options.prefix}_{slug}_{secrets.token_hex(4)}"

    def _note_down(self, project: Path, options: StoreOptions, name: str, rows: Rows) -> None:
        known = self.notes(project)
        if any((note.url, note.name) == (options.url, name) for note in known):
            return
        is_new = not read_head(rows, name).epoch
        note = Note(options.url, name, options.token_env, made=is_new)
        self._write(project, [*(one for one in known if one.url != options.url), note])

    def _write(self, project: Path, notes: Sequence[Note]) -> None:
        if notes:
            make_private_folder(project)
            replace_file(project / NOTE, msgspec.json.encode(notes))
        else:
            (project / NOTE).unlink(missing_ok=True)


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
            from dowse._store.remote.milvus import MilvusRows  # noqa: PLC0415
            from dowse._store.remote.milvus_schema import MilvusTuning  # noqa: PLC0415

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
        from dowse._store.remote.qdrant import QdrantTuning, server_rows  # noqa: PLC0415

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
            f"Install it with: pip install '{DISTRIBUTION}[scale]'",
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
