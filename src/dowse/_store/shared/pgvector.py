"""pgvector and a table of weighted terms: search for teams that run nothing but PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dowse._model import ChunkKey, Scores
from dowse._store.shared.engine import SPARSE, Filter, Query, Row

if TYPE_CHECKING:
    from dowse._store.shared.postgresql import PostgresConnection

_EXTENSION = 1  # the number of the lock of those who make the extension
_INDEXED = 20_000  # vectors from which on a graph is worth its memory; fewer are all compared
_LONGEST = 4000  # dimensions that a graph of half floats can have


class PgVector:
    """Rows in tables of the schema that holds the truth: they change in one transaction with it."""

    most = 1_000_000

    def __init__(self, connection: PostgresConnection) -> None:
        self._connection = connection

    def create(self, name: str, dimensions: int) -> None:
        """Make the tables of an index."""
        known = self._connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'")
        if known.fetchone() is None:  # two indexes of one database may be made at once
            self._connection.script(
                f"SELECT pg_advisory_xact_lock({_EXTENSION}, 3);"
                "CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public"
            )
        self._connection.script(
            f"CREATE TABLE {name} (chunk BIGINT PRIMARY KEY, vector halfvec({max(1, dimensions)}),"
            " facets BIGINT[] NOT NULL);"
            f"CREATE INDEX ON {name} USING gin (facets);"
            f"CREATE TABLE {name}_terms (field SMALLINT NOT NULL, term BIGINT NOT NULL,"
            " chunk BIGINT NOT NULL, weight REAL NOT NULL);"
            f"CREATE INDEX ON {name}_terms (field, term) INCLUDE (chunk, weight);"
            f"CREATE INDEX ON {name}_terms (chunk)"
        )

    def put(self, name: str, rows: Sequence[Row]) -> None:
        """Write rows."""
        self.remove(name, [row.key for row in rows])
        self._connection.copy(
            f"{name} (chunk, vector, facets)",
            (
                (
                    row.key,
                    row.vector if row.vector is None else str(row.vector.tolist()),
                    row.facets,
                )
                for row in rows
            ),
        )
        self._connection.copy(
            f"{name}_terms (field, term, chunk, weight)",
            (
                (field, term, row.key, weight)
                for row in rows
                for field, weights in enumerate((row.body, row.code))
                for term, weight in weights.items()
            ),
        )

    def remove(self, name: str, keys: Sequence[ChunkKey]) -> None:
        """Remove rows, as far as there are any."""
        for table in (name, f"{name}_terms"):
            self._connection.execute(f"DELETE FROM {table} WHERE chunk = ANY(?)", (list(keys),))

    def settle(self, name: str, chunks: int) -> None:
        """Build the graph once there are many vectors, and tell the planner what there is."""
        row = self._connection.execute(
            "SELECT atttypmod FROM pg_attribute"
            " WHERE attname = 'vector' AND attrelid = ?::regclass",
            (name,),
        ).fetchone()
        if chunks >= _INDEXED and row and row[0] <= _LONGEST:
            self._connection.script(
                "SET LOCAL maintenance_work_mem = '512MB';"
                f"CREATE INDEX IF NOT EXISTS {name}_near ON {name}"
                " USING hnsw (vector halfvec_ip_ops)"
            )
        self._connection.script(f"ANALYZE {name}; ANALYZE {name}_terms")

    def keys(self, name: str) -> set[ChunkKey]:
        """Return all rows."""
        return {key for (key,) in self._connection.execute(f"SELECT chunk FROM {name}")}

    def search(self, name: str, using: str, query: Query, limit: int, within: Filter) -> Scores:
        """Find the rows whose vectors have the highest inner products, best first."""
        where, values = _where(within)
        if isinstance(query, Mapping):
            among = f"AND chunk IN (SELECT chunk FROM {name} WHERE {where})" if where else ""
            found = self._connection.execute(
                "SELECT chunk, sum(t.weight * q.weight) AS score FROM"
                " unnest(?::bigint[], ?::double precision[]) AS q(term, weight)"
                f" JOIN {name}_terms t ON t.field = ? AND t.term = q.term {among}"
                " GROUP BY chunk ORDER BY score DESC, chunk LIMIT ?",
                (list(query), list(query.values()), SPARSE.index(using), *values, limit),
            )
            return list(found)
        self._connection.script(
            f"SET LOCAL hnsw.ef_search = {min(1000, max(100, limit))};"
            "SET LOCAL hnsw.iterative_scan = strict_order"
        )
        vector, among = str(query.tolist()), f"AND {where}" if where else ""
        return list(
            self._connection.execute(
                f"SELECT chunk, -(vector <#> ?::halfvec) FROM {name}"
                f" WHERE vector IS NOT NULL {among} ORDER BY vector <#> ?::halfvec LIMIT ?",
                (vector, *values, vector, limit),
            )
        )

    def names(self, prefix: str) -> list[str]:
        """Return the tables whose names begin so."""
        found = self._connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = ? AND starts_with(tablename, ?)"
            " AND tablename NOT LIKE '%\\_terms'",
            (self._connection.address.schema, prefix),
        )
        return [name for (name,) in found]

    def drop(self, name: str) -> None:
        """Remove the tables of an index."""
        self._connection.script(f"DROP TABLE IF EXISTS {name}, {name}_terms")

    def close(self) -> None:
        """Need nothing: the connection is that of the truth."""


def _where(within: Filter) -> tuple[str, list[list[int]]]:
    parts = ["chunk = ANY(?)"] * (within.keys is not None) + ["facets && ?::bigint[]"] * len(
        within.having
    )
    values = [] if within.keys is None else [list(within.keys)]
    values += map(list, within.having)
    if within.without:
        parts.append("NOT facets && ?::bigint[]")
        values.append(list(within.without))
    return " AND ".join(parts), values
