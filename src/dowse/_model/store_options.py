"""What a user can choose about where the index is kept."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from msgspec import Meta, Struct

from dowse._util.bounds import ALWAYS, ENTRIES, NAME, Entry, Options, check_key_variable
from dowse.errors import BadSettings

SCHEMES = ("milvus", "milvus+tls", "qdrant", "qdrant+tls")
"""How the address of an engine can begin."""

_ADDRESS = re.compile(
    r"(?P<scheme>[a-z+]+)://(?P<host>[\w.-]+|\[[0-9a-fA-F:]+\])(:(?P<port>\d{1,5}))?"
    r"(/(?P<database>[A-Za-z_]\w{0,99}))?/?"
)
_PORTS = {"milvus": 19530, "qdrant": 6333}
_INDEX_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_EXAMPLE = "Write it as: milvus://HOST:19530 or qdrant://HOST:6333, with +tls for TLS"


class EngineAddress(Struct, frozen=True):
    """The address of an engine, taken apart."""

    kind: str  # "milvus" or "qdrant"
    tls: bool
    host: str
    port: int
    database: str  # of Milvus; "" for its default

    @property
    def http(self) -> str:
        """The address as the clients take it."""
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}"


class StoreOptions(Options, frozen=True):
    """Where the index is kept: in the project's folder, or in an engine that machines share."""

    url: Annotated[
        str,
        NAME,
        ALWAYS,
        "Engine that keeps the index, such as milvus://HOST:19530/DATABASE or qdrant+tls://HOST;"
        " empty keeps it in the project's folder.",
    ] = ""
    name: Annotated[
        str,
        NAME,
        ALWAYS,
        "Name of the index in the engine, for several machines that share it; empty gives each"
        " project a name of its own.",
    ] = ""
    prefix: Annotated[
        str, NAME, ALWAYS, "What the names of all collections in the engine begin with."
    ] = "dowse"
    token_env: Annotated[
        str,
        NAME,
        ALWAYS,
        "Name of the environment variable that holds the engine's token or key; never the key.",
    ] = ""
    timeout: Annotated[
        float, Meta(ge=0.1, le=3600), ALWAYS, "Seconds that the engine may take for one answer."
    ] = 30.0
    index: Annotated[
        Literal["AUTOINDEX", "FLAT", "IVF_FLAT", "IVF_SQ8", "IVF_PQ", "HNSW", "SCANN", "DISKANN"],
        ALWAYS,
        "Kind of vector index in Milvus, from the next rebuild on; Qdrant always builds HNSW.",
    ] = "AUTOINDEX"
    build: Annotated[
        tuple[Entry, ...],
        ENTRIES,
        ALWAYS,
        "Parameters for building the vector index, such as M=32 or nlist=1024.",
    ] = ()
    search: Annotated[
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
    consistency: Annotated[
        Literal["strong", "bounded"],
        ALWAYS,
        "Whether a search in Milvus waits for the newest writes, or may be some seconds behind.",
    ] = "strong"

    def __post_init__(self) -> None:
        """Rejects what no engine could be reached with."""
        super().__post_init__()
        if self.url:
            self.address  # noqa: B018  (it raises)
        for option in ("name", "prefix"):
            value = getattr(self, option)
            if value and not _INDEX_NAME.fullmatch(value):
                raise BadSettings(
                    f"store.{option} must be letters, digits and underscores, not {value!r}.",
                    "It begins with a letter or an underscore.",
                )
        check_key_variable("store.token_env", self.token_env)
        _ = self.build_values, self.search_values

    @property
    def address(self) -> EngineAddress:
        """The address of the engine; raises `BadSettings` when it is none."""
        found = _ADDRESS.fullmatch(self.url)
        if not found or found["scheme"] not in SCHEMES:
            if "@" in self.url:
                raise BadSettings(
                    "store.url must not hold a name or a password.",
                    "Put the key into an environment variable, and its name into store.token_env.",
                )
            raise BadSettings(f"store.url = {self.url!r} is no address of an engine.", _EXAMPLE)
        kind, _, tls = found["scheme"].partition("+")
        port = int(found["port"] or _PORTS[kind])
        if not 0 < port < 65_536:
            raise BadSettings(f"store.url = {self.url!r} has no possible port.", _EXAMPLE)
        return EngineAddress(kind, bool(tls), found["host"], port, found["database"] or "")

    @property
    def build_values(self) -> dict[str, float | int | str]:
        """The parameters for building, by name."""
        return dict(_parameter("store.build", entry) for entry in self.build)

    @property
    def search_values(self) -> dict[str, float | int | str]:
        """The parameters for searching, by name."""
        return dict(_parameter("store.search", entry) for entry in self.search)


def _parameter(setting: str, entry: str) -> tuple[str, float | int | str]:
    name, sign, value = entry.partition("=")
    if not sign or not name.strip().isidentifier() or not value.strip():
        raise BadSettings(f"{setting} holds {entry!r}, which is no parameter.", "Write: NAME=VALUE")
    return name.strip(), _number(value.strip())


def _number(value: str) -> float | int | str:
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value
