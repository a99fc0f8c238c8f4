"""What a user can choose about where the index is kept."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Annotated, Literal

from msgspec import Meta, Struct

from dowse._util.bounds import ALWAYS, ENTRIES, NAME, Entry, Options, check_key_variable
from dowse.errors import BadSettings

ENGINES = ("milvus", "milvus+tls", "qdrant", "qdrant+tls")
"""How the address of a search engine can begin."""

_HOST = r"(?P<host>[\w.-]+|\[[0-9a-fA-F:]+\])(:(?P<port>\d{1,5}))?"
_DATABASE = re.compile(
    rf"postgresql(?P<tls>\+tls)?://((?P<user>[^:@/?]+)@)?({_HOST})?/(?P<database>[\w-]{{1,63}})"
    r"(\?host=(?P<folder>/[^?&]*))?"
)
_ENGINE = re.compile(rf"(?P<scheme>[a-z+]+)://{_HOST}(/(?P<database>[A-Za-z_]\w{{0,99}}))?/?")
_PORTS = {"milvus": 19530, "qdrant": 6333}
_INDEX_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,40}")
_EXAMPLE = (
    "Write it as: postgresql://HOST:5432/DATABASE. USER@ comes before HOST; postgresql+tls is TLS"
)
_ENGINE_EXAMPLE = (
    "It is local, postgresql, milvus://HOST:19530 or qdrant://HOST:6333, with +tls for TLS"
)


class EngineAddress(Struct, frozen=True):
    """The address of a search engine, taken apart."""

    kind: str  # "milvus" or "qdrant"
    tls: bool
    host: str
    port: int
    database: str  # of Milvus; "" for its default

    @property
    def http(self) -> str:
        """Return the address as the clients take it."""
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}"


class StoreOptions(Options, frozen=True):
    """Where the index is kept: in the project's folder, or in a database that machines share."""

    url: Annotated[
        str,
        NAME,
        ALWAYS,
        "PostgreSQL database that keeps the index for several machines, such as"
        " postgresql://USER@HOST:5432/DATABASE; empty keeps it in the project's folder.",
    ] = ""
    name: Annotated[
        str,
        NAME,
        ALWAYS,
        "Name of the index in the database, for several machines that share it; empty gives each"
        " project a name of its own.",
    ] = ""
    prefix: Annotated[str, NAME, ALWAYS, "Prefix of all schema names in the database."] = "dowse"
    token_env: Annotated[
        str,
        NAME,
        ALWAYS,
        "Name of the environment variable that holds the database's password; never the password.",
    ] = ""
    timeout: Annotated[
        float,
        Meta(ge=0.1, le=3600),
        ALWAYS,
        "Seconds that the database or the search engine may take for one answer.",
    ] = 30.0
    search: Annotated[
        str,
        NAME,
        ALWAYS,
        "What searches an index in a database: local (files of each machine), postgresql"
        " (pgvector), milvus://HOST:19530/DATABASE or qdrant://HOST:6333.",
    ] = "local"
    search_token_env: Annotated[
        str,
        NAME,
        ALWAYS,
        "Name of the environment variable that holds the search engine's token or key.",
    ] = ""
    index: Annotated[
        Literal["AUTOINDEX", "FLAT", "IVF_FLAT", "IVF_SQ8", "IVF_PQ", "HNSW", "SCANN", "DISKANN"],
        ALWAYS,
        "Kind of vector index in Milvus, from the next rebuild on; Qdrant always builds HNSW.",
    ] = "AUTOINDEX"
    build: Annotated[
        tuple[Entry, ...],
        ENTRIES,
        ALWAYS,
        "Parameters for building the engine's vector index, such as M=32 or nlist=1024.",
    ] = ()
    query: Annotated[
        tuple[Entry, ...],
        ENTRIES,
        ALWAYS,
        "Parameters for searching it, such as ef=128, nprobe=32 or hnsw_ef=128.",
    ] = ()
    quantization: Annotated[
        Literal["none", "scalar", "binary"],
        ALWAYS,
        "How Qdrant shortens vectors in memory; with Milvus, choose an index that does.",
    ] = "none"
    shards: Annotated[
        int, Meta(ge=1, le=1024), ALWAYS, "Shards of each collection in the engine, 1 to 1024."
    ] = 1
    replicas: Annotated[
        int, Meta(ge=1, le=64), ALWAYS, "Copies of each shard in the engine, 1 to 64."
    ] = 1

    def __post_init__(self) -> None:
        """Reject what no database and no engine could be reached with."""
        super().__post_init__()
        if self.url:
            self.database  # noqa: B018  (it raises)
        self.engine  # noqa: B018  (as above)
        for option, value in (("name", self.name), ("prefix", self.prefix)):
            if value and not _INDEX_NAME.fullmatch(value):
                raise BadSettings(
                    f"store.{option} must be letters, digits and underscores, not {value!r}.",
                    "It begins with a letter or an underscore.",
                )
        check_key_variable("store.token_env", self.token_env)
        check_key_variable("store.search_token_env", self.search_token_env)
        _ = self.build_values, self.query_values

    @property
    def database(self) -> dict[str, str | int]:
        """Return the parameters of a connection; raise `BadSettings` when the address is none."""
        found = _DATABASE.fullmatch(self.url)
        if not found:
            if self.url.partition("://")[0] in ENGINES:
                raise BadSettings(
                    "store.url names a search engine: the index itself is kept in PostgreSQL.",
                    f"{_EXAMPLE}. Set store.search to the engine.",
                )
            if "@" in self.url:
                raise BadSettings(
                    "store.url must not hold a password.",
                    "Put it into an environment variable, and its name into store.token_env.",
                )
            raise BadSettings(
                f"store.url = {self.url!r} is not the address of a database.", _EXAMPLE
            )
        parameters: dict[str, str | int | None] = {
            "host": found["folder"] or (found["host"] or "").strip("[]"),
            "port": _port("store.url", self.url, found["port"], 5432, _EXAMPLE),
            "user": found["user"],
            "dbname": found["database"],
            "sslmode": "verify-full" if found["tls"] else None,
        }
        return {name: value for name, value in parameters.items() if value}

    @property
    def engine(self) -> EngineAddress | None:
        """The address of the search engine; None when this machine or the database searches."""
        if self.search in {"local", "postgresql"}:
            return None
        found = _ENGINE.fullmatch(self.search)
        if not found or found["scheme"] not in ENGINES:
            if "@" in self.search:
                raise BadSettings(
                    "store.search must not hold a name or a password.",
                    "Put the key into an environment variable, and its name into"
                    " store.search_token_env.",
                )
            raise BadSettings(
                f"store.search = {self.search!r} names nothing that can search.", _ENGINE_EXAMPLE
            )
        kind, _, tls = found["scheme"].partition("+")
        port = _port("store.search", self.search, found["port"], _PORTS[kind], _ENGINE_EXAMPLE)
        return EngineAddress(kind, bool(tls), found["host"], port, found["database"] or "")

    @property
    def build_values(self) -> dict[str, float | int | str]:
        """Return the parameters for building, by name."""
        return dict(_parameter("store.build", entry) for entry in self.build)

    @property
    def query_values(self) -> dict[str, float | int | str]:
        """Return the parameters for searching, by name."""
        return dict(_parameter("store.query", entry) for entry in self.query)


def _port(setting: str, url: str, written: str | None, usual: int, example: str) -> int:
    port = int(written or usual)
    if not 0 < port < 65_536:
        raise BadSettings(f"{setting} = {url!r} has no possible port.", example)
    return port


def _parameter(setting: str, entry: str) -> tuple[str, float | int | str]:
    name, sign, value = (part.strip() for part in entry.partition("="))
    if not sign or not name.isidentifier() or not value:
        raise BadSettings(
            f"{setting} holds {entry!r}, which is not a parameter.", "Write: NAME=VALUE"
        )
    for kind in (int, float):
        with suppress(ValueError):
            return name, kind(value)
    return name, value
