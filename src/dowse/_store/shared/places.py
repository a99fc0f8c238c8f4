"""Where shared indexes are: in a database, under a name that the project's folder keeps.

The name is made once, from that of the project and some random digits, so that two users of one
database never write into the same index by accident. Machines that are to share an index all set
`store.name`. The project that made an index removes it; others only forget it.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from dowse import DISTRIBUTION
from dowse._model import Announce, silent
from dowse._model.ports import Analyzer
from dowse._model.store_options import StoreOptions
from dowse._text.analyzer import TextAnalyzer
from dowse._text.options import KeywordOptions
from dowse._util.files import make_private_folder, replace_file
from dowse.errors import BadSettings, DowseError, EngineFailed

if TYPE_CHECKING:
    from dowse._store.shared.store import PostgresStore, SearchIndexes

NOTE = "remote.json"
"""The file in the folder of a project that says where its index is."""

_LOCAL = "search"
"""The folder of a project in which the indexes of this machine are."""


class Note(Struct, frozen=True):
    """Where the index of a project is, without any secret."""

    url: str
    name: str  # of its schema
    token_env: str = ""
    made: bool = False  # whether this project made the index
    search: str = "local"
    search_token_env: str = ""

    @property
    def options(self) -> StoreOptions:
        """What is needed to reach the index."""
        ours = {name: value for name, value in asdict(self).items() if name not in {"name", "made"}}
        return StoreOptions(**ours)


class SharedPlaces:
    """The indexes of projects in databases."""

    def store(
        self, project: Path, options: StoreOptions, analyzer: Analyzer, announce: Announce = silent
    ) -> PostgresStore:
        """The store of the project in a folder, in the database of the settings."""
        name = self._name(project, options)

        note_down = partial(self._note_down, project, options, name)
        return _open_store(options, name, project, analyzer, announce, note_down)

    def notes(self, project: Path) -> list[Note]:
        """Where the project has an index; two places while it is moved."""
        try:
            return msgspec.json.decode((project / NOTE).read_bytes(), type=list[Note])
        except (OSError, msgspec.MsgspecError):
            return []

    def roots(self, project: Path) -> list[str]:
        """The folders that an index was made of; nothing when it cannot be read."""
        for note in self.notes(project):
            with suppress(DowseError), _noted(project, note) as store:
                if found := store.roots():
                    return found
        return []

    @contextmanager
    def undisturbed(self, project: Path) -> Iterator[None]:
        """Keeps writers away from an index, if there is one; raises `Locked` while one works."""
        with ExitStack() as held:
            for note in self.notes(project):
                if note.made:
                    store = held.enter_context(_noted(project, note))
                    held.enter_context(store.undisturbed())
            yield

    def remove(self, project: Path) -> None:
        """Removes the indexes of a project from their databases, if the project made them."""
        for note in self.notes(project):
            if note.made:
                with _noted(project, note) as store:
                    store.discard()
            self.forget(project, note.url)

    def carry(self, project: Path, to: Path) -> None:
        """Lets another folder know where the index of a project is."""
        self._write(to, self.notes(project))

    def made_here(self, project: Path, url: str) -> bool:
        """Whether the project made the index that it has in a database."""
        return any(note.made for note in self.notes(project) if note.url == url)

    def knows(self, project: Path, options: StoreOptions) -> bool:
        """Whether the project has written into the index that these options name."""
        name = self._name(project, options)
        return any((note.url, note.name) == (options.url, name) for note in self.notes(project))

    def forget(self, project: Path, url: str) -> None:
        """Forgets that a project has an index in a database."""
        self._write(project, [note for note in self.notes(project) if note.url != url])

    def _name(self, project: Path, options: StoreOptions) -> str:
        if options.name:
            return f"{options.prefix}_{options.name}".lower()
        for note in self.notes(project):
            if note.url == options.url:
                return note.name
        slug = re.sub(r"[^a-z0-9]+", "_", project.name.lower()).strip("_")[:30] or "index"
        return f"{options.prefix}_{slug}_{secrets.token_hex(4)}".lower()

    def _note_down(
        self,
        project: Path,
        options: StoreOptions,
        name: str,
        is_new: bool,
    ) -> None:
        known = self.notes(project)
        made = is_new or any(
            note.made for note in known if (note.url, note.name) == (options.url, name)
        )
        note = Note(
            options.url, name, options.token_env, made, options.search, options.search_token_env
        )
        if note not in known:
            self._write(project, [*(one for one in known if one.url != options.url), note])

    def _write(self, project: Path, notes: Sequence[Note]) -> None:
        if notes:
            make_private_folder(project)
            replace_file(project / NOTE, msgspec.json.encode(notes))
        else:
            (project / NOTE).unlink(missing_ok=True)


@contextmanager
def _noted(project: Path, note: Note) -> Iterator[PostgresStore]:
    analyzer = TextAnalyzer(KeywordOptions())  # nothing is searched
    store = _open_store(note.options, note.name, project, analyzer)
    try:
        yield store
    finally:
        store.close()


def _open_store(  # noqa: PLR0917
    options: StoreOptions,
    name: str,
    project: Path,
    analyzer: Analyzer,
    announce: Announce = silent,
    note_down: Callable[[bool], None] = lambda _: None,
) -> PostgresStore:
    """The store of these options; clients are loaded here and nowhere else."""
    try:
        from dowse._store.shared.connection import Address  # noqa: PLC0415
        from dowse._store.shared.server import PostgresSchema  # noqa: PLC0415
        from dowse._store.shared.store import PostgresStore  # noqa: PLC0415
    except ImportError as error:
        raise _not_installed(error) from error
    parameters: dict[str, Any] = {**options.database, "password": _key("token_env", options)}
    if "sslmode" in parameters and not os.environ.get("PGSSLROOTCERT"):
        parameters["sslrootcert"] = "system"
    address = Address(options.url, parameters, name, options.timeout)
    indexes = _search_indexes(options, project, analyzer, announce)
    return PostgresStore(PostgresSchema(address, note_down), indexes, analyzer)


def _search_indexes(
    options: StoreOptions, project: Path, analyzer: Analyzer, announce: Announce
) -> SearchIndexes:
    """The indexes that `store.search` names."""
    if options.search == "local":
        from dowse._store.shared.local import LocalIndexes  # noqa: PLC0415

        return LocalIndexes(project / _LOCAL, analyzer, announce)
    from dowse._store.shared.engine import EngineIndexes  # noqa: PLC0415

    address = options.engine
    if address is None:
        from dowse._store.shared.pgvector import PgVector  # noqa: PLC0415

        return EngineIndexes(options.search, PgVector, analyzer)
    key, timeout = _key("search_token_env", options), options.timeout
    try:
        from dowse._store.shared.client import EngineClient  # noqa: PLC0415

        if address.kind == "milvus":
            from dowse._store.shared import milvus  # noqa: PLC0415

            def opened() -> Any:
                return milvus.open_client(address.http, key, address.database, timeout)

            engine: Any = milvus.Milvus(
                EngineClient(options.search, opened, address.host, address.port),
                milvus.MilvusTuning(
                    options.index,
                    options.build_values,
                    options.query_values,
                    options.shards,
                    options.replicas,
                    timeout,
                ),
            )
        else:
            from dowse._store.shared import qdrant  # noqa: PLC0415

            engine = qdrant.Qdrant(
                EngineClient(
                    options.search,
                    lambda: qdrant.open_client(address.http, key, timeout),
                    address.host,
                    address.port,
                ),
                qdrant.QdrantTuning(
                    options.build_values,
                    options.query_values,
                    options.quantization,
                    options.shards,
                    options.replicas,
                ),
            )
    except ImportError as error:
        raise _not_installed(error) from error
    return EngineIndexes(options.search, lambda _: engine, analyzer)


def _not_installed(error: ImportError) -> EngineFailed:
    return EngineFailed(
        f"What connects to the database is not installed: {error}.",
        f"Install it with: pip install '{DISTRIBUTION}[scale]'",
    )


def _key(option: str, options: StoreOptions) -> str:
    variable = str(getattr(options, option))
    if not variable:
        return ""
    key = os.environ.get(variable, "")
    if not key:
        raise BadSettings(
            f"store.{option} names {variable}, which is not set in the environment.",
            f"Set it: export {variable}=KEY",
        )
    return key
