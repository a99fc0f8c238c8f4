"""Search engines as replicas of the truth: one row for each chunk, under the chunk's key.

A key is never given out twice, and what a chunk holds never changes. So a row is right or its chunk
is gone, and the truth knows which: every hit is looked up there before anybody sees it. An engine
that lags, errs or was lost costs results, and never gives wrong ones; it is built again from the
truth. Rows of chunks that are gone are removed a minute later, for readers that have not ended.

Keyword search is BM25 as an inner product: what a chunk knows is in its row, what the index knows
in the query. A chunk's weight of a term is `tf (k1 + 1) / (tf + k1 (1 - b + b length / average))`
(Robertson and Zaragoza, 2009), the query's is the rarity of the term, counted in the truth.

What all engines have in common is here; what one of them needs is in the module of its name.
"""

from __future__ import annotations

import hashlib
import re
import socket
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, TypeAlias

from dowse._model import GAP, ChunkKey, Finding, Keys, Scores, Stream, Vector
from dowse._model.ports import Analyzer, KeywordField, within
from dowse._model.store_options import StoreOptions
from dowse._store.files import REPAIR
from dowse._store.replicas import Indexes
from dowse._store.sql.database import Database, SqlConnection, Statements, decode_vector
from dowse._store.sql.reader import ConditionCache, facets_asked
from dowse._text.matching import rarity
from dowse._util.arrays import np
from dowse.errors import Damaged, DowseError, EngineFailed

Weights = Mapping[int, float]
"""A sparse vector: weights by the number of a term."""

Query: TypeAlias = "Vector | Weights"
"""What a search compares rows with: a dense vector, or a sparse one."""

SPARSE = ("body", "code")
"""The sparse vectors of a row."""

FACETS = 1000
"""The most facets of a row."""

WIDTH = 400
"""Rows that a search in a graph keeps in view. Of the 30 nearest among 6,297 passages pgvector
finds .999 so; with 100 it finds .978, and for one query of a hundred none."""

_K1, _B = 1.2, 0.75
_EXACT, _BITS = 24, 4  # lengths below are kept as they are; of the rest so many bits
_AT_ONCE = 500  # rows that are made and sent together
_LISTED = 10_000  # facets or keys that a filter may list; of more, hits are fetched beyond it
_MANY = 0  # the facet that stands for all that a row has no room for
_SLACK = 16  # hits more than are asked for: some may be of chunks that are gone
_GROWTH = 4  # how many times more hits are fetched when some were too few
_TIE = 1e-6  # of two scores that are the same apart from rounding
_FEW = 1000  # chunks that are built again in a moment, however little has changed
_KEPT = 60.0  # seconds that a reader of a former generation may still need its rows
_RARE = 100  # chunks that are looked for to count them
_DRIFT = 0.1  # how far the average length may move before weights are made again


class Row(NamedTuple):
    """A chunk as an engine keeps it."""

    key: ChunkKey
    vector: Vector | None
    body: Weights
    code: Weights
    facets: Sequence[int]  # what conditions compare of its document, as numbers


class Filter(NamedTuple):
    """Which rows may be found. What an engine cannot do with facets, the truth does later."""

    keys: Sequence[ChunkKey] | None = None  # only these
    having: Sequence[Sequence[int]] = ()  # only those with a facet of each of these lists
    without: Sequence[int] = ()  # none with any of these facets


class SearchEngine(Protocol):
    """Keeps rows under names, and finds them by inner products. Nothing in it is trusted.

    Promises: a row that was put is found by the next search, and replaces one of the same key. No
    method is called without any rows or keys.
    """

    most: int  # hits that one search can give

    def create(self, name: str, dimensions: int) -> None:
        """Make a place for rows."""

    def put(self, name: str, rows: Sequence[Row]) -> None:
        """Write rows."""

    def remove(self, name: str, keys: Sequence[ChunkKey]) -> None:
        """Remove rows, as far as there are any."""

    def settle(self, name: str, chunks: int) -> None:
        """Make ready for searches, now that many rows were written, and let its alias name it."""

    def keys(self, name: str) -> set[ChunkKey]:
        """Return all rows."""

    def search(self, name: str, using: str, query: Query, limit: int, within: Filter) -> Scores:
        """Find the rows whose vectors have the highest inner products, best first.

        Their `dense` vectors are compared, or those of a field.
        """

    def names(self, prefix: str) -> list[str]:
        """Return the places whose names begin so."""

    def drop(self, name: str) -> None:
        """Remove a place with its rows."""

    def close(self) -> None:
        """Close the connection; a later call opens it again."""


class _Built(NamedTuple):
    """What the truth knows of an engine: the columns of its row in `search_index`."""

    name: str
    identity: str
    generation: int
    chunks: int = 0  # that it has taken; those that are gone count until it is built again
    gone: int = 0
    body: float = 0.0  # the average lengths that weights were made with
    code: float = 0.0
    body_terms: int = 0  # the lengths of all those chunks together
    code_terms: int = 0


@lru_cache(maxsize=100_000)
def term_number(term: str) -> int:
    """Return the number of a term in sparse vectors: 31 bits, never 0."""
    digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return max(1, int.from_bytes(digest, "big") >> 1)


def _terms(stream: Stream) -> list[str]:
    return [term for term in stream.split(" ") if term and term != GAP]


def _weighed(terms: Sequence[str], average: float) -> dict[int, float]:
    """Return the sparse vector of a chunk in an index of this average length.

    Lengths are as coarse as tantivy keeps them in one byte, so that both give the same scores.
    """
    rest = len(terms) - _EXACT
    shift = max(0, rest.bit_length() - _BITS)
    length = len(terms) if rest <= 0 else _EXACT + (rest >> shift << shift)
    norm = _K1 * (1 - _B + _B * length / (average or 1.0))
    return {
        term_number(term): often * (_K1 + 1) / (often + norm)
        for term, often in Counter(terms).items()
    }


class EngineIndexes:
    """The indexes of all machines in one engine, written in the transaction of the database."""

    are_shared = True

    def __init__(
        self,
        place: str,
        engine: Callable[[Any], SearchEngine],
        analyzer: Analyzer,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self._place = place  # of the engine, which is what the truth knows it by
        self._engine = engine
        self._analyzer = analyzer
        self._close = close
        self._conditions: tuple[object, ConditionCache] = (None, ConditionCache())

    def at(self, begin: Callable[[], Database]) -> Indexes:
        """Begin a transaction, and find what the engine holds for its generation."""
        database = begin()
        built = self._built(database)
        if not built.name and not database.is_empty():
            raise Damaged(
                f"The search index at {self._place} was never built.", f"Build it with: {REPAIR}"
            )
        known, conditions = self._conditions
        if known != database.id:
            conditions = ConditionCache()
            self._conditions = database.id, conditions
        engine = self._engine(database.connection)
        found = self._place, self._analyzer, database, engine, built, conditions
        return Indexes(_Keywords(*found), _Vectors(*found), conditions)

    def catch_up(self, database: Database, *, repair: bool) -> None:  # noqa: ARG002  (of the port)
        """Bring the engine to the truth's generation."""
        with _transaction(database.connection):
            built = self._built(database)
            if self._is_strange(database, built):
                self._build(database, built)
            elif built.generation < database.generation:
                self._remove_gone(database.connection)
                changed = database.changed_since(built.generation, terms_only=False)
                new = frozenset(database.changed_since(built.generation, terms_only=True))
                built = self._put(database, built, changed, new)
                self._note(database, built._replace(generation=database.generation))

    def rebuild(self, database: Database) -> None:
        """Build it again."""
        with _transaction(database.connection):
            self._build(database, self._built(database))

    def renew(self, database: Database, *, thorough: bool) -> None:
        """Make weights again when lengths have moved on, and ready the engine for searches."""
        with _transaction(database.connection):
            built = self._built(database)
            drift = max(
                _moved(built.body, built.body_terms, built.chunks),
                _moved(built.code, built.code_terms, built.chunks) / 5,  # most chunks have none
            )
            is_worn = thorough or built.chunks <= _FEW or 2 * built.gone > built.chunks
            if drift > _DRIFT or (is_worn and (drift or built.gone)):
                built = self._build(database, built)
            connection, engine = database.connection, self._engine(database.connection)
            engine.settle(built.name, built.chunks)
            self._remove_gone(connection)
            kept = connection.execute(
                "SELECT name FROM search_gone WHERE place = ? AND chunk = 0", (self._place,)
            ).fetchall()
            # What is left was made in a transaction that did not come to its end.
            for name in set(engine.names(_prefix(connection))).difference([built.name], *kept):
                engine.drop(name)

    def findings(self, database: Database) -> list[Finding]:
        """Say what the engine lacks; rows of chunks that are gone do no harm."""
        built, missing = self._built(database), database.chunk_keys()
        if built.generation < database.generation:
            return [Finding(f"The search index at {self._place} is behind the database.", REPAIR)]
        if missing:
            missing -= self._engine(database.connection).keys(built.name)
        what = f"The search index at {self._place} lacks {len(missing)} chunks."
        return [Finding(what, REPAIR)] if missing else []

    def discard(self, connection: SqlConnection) -> None:
        """Remove what the engine holds."""
        engine = self._engine(connection)
        for name in engine.names(_prefix(connection)):
            engine.drop(name)

    def close(self) -> None:
        """Forget what was read, and close the connection; a later call opens it again."""
        self._conditions = None, ConditionCache()
        self._close()

    def _built(self, database: Database) -> _Built:
        row = database.connection.execute(
            f"SELECT {', '.join(_Built._fields)} FROM search_index WHERE place = ?", (self._place,)
        ).fetchone()
        return _Built(*row) if row else _Built("", "", 0)

    def _is_strange(self, database: Database, built: _Built) -> bool:
        """Tell whether an engine holds another index, or must be emptied, or is too far behind."""
        if built.identity != database.identity or (built.chunks and database.is_empty()):
            return True
        (oldest,) = database.connection.execute("SELECT min(number) FROM generations").fetchone()
        return built.generation < database.generation and built.generation + 1 < (oldest or 0)

    def _build(self, database: Database, former: _Built) -> _Built:
        """Fill a new place, and switch to it; the former one is kept for readers of before.

        The row in `search_index` says which place is in use: it changes in the transaction of the
        truth, which the alias of an engine could not.
        """
        connection, engine = database.connection, self._engine(database.connection)
        if former.name:
            self._note_gone(connection, former.name, [0])
        self._remove_gone(connection)
        name = f"{_prefix(connection)}{uuid.uuid4().hex[:8]}"
        engine.create(name, database.dimensions)
        connection.execute("DELETE FROM search_terms WHERE place = ?", (self._place,))
        built = _Built(name, database.identity, database.generation)
        if keys := sorted(database.chunk_keys()):
            built = self._put(database, built, keys, frozenset(keys))
            engine.settle(name, built.chunks)
        self._note(database, built)
        return built

    def _put(
        self,
        database: Database,
        built: _Built,
        changed: Sequence[ChunkKey],
        new: frozenset[ChunkKey],
    ) -> _Built:
        """Send chunks that came or got a vector, note those that went, and count terms.

        The first chunks that an index takes say how long chunks are on average.
        """
        if not built.chunks:
            sizes = [
                (len(_terms(body)), len(_terms(code)))
                for _, body, code in database.keyword_rows(self._analyzer, changed)
            ]
            averages = np.mean(sizes or [(0, 0)], axis=0).tolist()
            built = built._replace(**dict(zip(SPARSE, averages, strict=True)))
        for start in range(0, len(changed), _AT_ONCE):
            keys = changed[start : start + _AT_ONCE]
            found = [
                (key, _terms(body), _terms(code))
                for key, body, code in database.keyword_rows(self._analyzer, keys)
            ]
            added = [one for one in found if one[0] in new]
            lengths = sum(len(body) for _, body, _ in added), sum(len(code) for *_, code in added)
            vectors = {key: decode_vector(kept) for key, kept in database.vector_rows(keys)}
            facets = _facets(database.connection, keys)
            rows = [
                Row(
                    key,
                    vectors.get(key),
                    _weighed(body, built.body),
                    _weighed(code, built.code),
                    facets[key],
                )
                for key, body, code in found
            ]
            if rows:
                self._engine(database.connection).put(built.name, rows)
            counted = Counter(
                (field, term)
                for row in rows
                if row.key in new
                for field, weights in zip(SPARSE, (row.body, row.code), strict=True)
                for term in weights
            )
            if counted:
                changes = [(*one, often) for one, often in counted.items()]
                database.connection.execute(
                    "INSERT INTO search_terms SELECT ?, * FROM"
                    " unnest(?::text[], ?::bigint[], ?::bigint[])"
                    " ON CONFLICT (place, field, term)"
                    " DO UPDATE SET chunks = search_terms.chunks + excluded.chunks",
                    (self._place, *map(list, zip(*changes, strict=True))),
                )
            gone = new.intersection(keys).difference(row.key for row in rows)
            self._note_gone(database.connection, built.name, sorted(gone))
            built = built._replace(
                chunks=built.chunks + len(added),
                gone=built.gone + len(gone),
                body_terms=built.body_terms + lengths[0],
                code_terms=built.code_terms + lengths[1],
            )
        return built

    def _note_gone(self, connection: SqlConnection, name: str, keys: Sequence[ChunkKey]) -> None:
        connection.execute(
            "INSERT INTO search_gone SELECT ?, ?, * FROM unnest(?::bigint[])"
            " ON CONFLICT DO NOTHING",
            (self._place, name, list(keys)),
        )

    def _remove_gone(self, connection: SqlConnection) -> None:
        """Remove rows and places that no reader can still need."""
        engine = self._engine(connection)
        for name, keys in connection.execute(
            "WITH gone AS (DELETE FROM search_gone WHERE place = ?"
            " AND since < now() - make_interval(secs => ?) RETURNING name, chunk)"
            " SELECT name, array_agg(chunk) FROM gone GROUP BY name",
            (self._place, _KEPT),
        ).fetchall():
            if 0 in keys:
                engine.drop(name)
            else:
                engine.remove(name, keys)

    def _note(self, database: Database, built: _Built) -> None:
        database.connection.execute("DELETE FROM search_index WHERE place = ?", (self._place,))
        database.connection.execute(
            f"INSERT INTO search_index (place, {', '.join(built._fields)})"
            f" VALUES (?, {', '.join('?' * len(built))})",
            (self._place, *built),
        )


def _transaction(connection: Any) -> AbstractContextManager[None]:
    """Begin a transaction in PostgreSQL, or take part in the one that is open."""
    return connection.transaction()  # type: ignore[no-any-return]


def _prefix(connection: SqlConnection) -> str:
    """Return how the names of an index begin in an engine that holds those of others, too."""
    (identity,) = connection.execute("SELECT value FROM meta WHERE name = 'index'").fetchone()
    return f"dowse_{identity[:12]}_"


def _facets(connection: SqlConnection, keys: Sequence[ChunkKey]) -> dict[ChunkKey, list[int]]:
    """Number the facets of the documents of chunks."""
    facets: dict[ChunkKey, list[int]] = {key: [] for key in keys}
    for kind, value, chunks in connection.execute(
        "SELECT f.kind, f.value, array_agg(c.key) FROM chunks c JOIN facets f"
        " ON f.document = c.document WHERE c.key = ANY(?) GROUP BY f.kind, f.value",
        (list(keys),),
    ).fetchall():
        for key in chunks:
            facets[key].append(term_number(f"{kind}={value}"))
    return {
        key: some if len(some) <= FACETS else [_MANY, *some[1:FACETS]]
        for key, some in facets.items()
    }


def _moved(average: float, terms: int, chunks: int) -> float:
    """Return by what share the average length of chunks has moved from an earlier one."""
    return abs(terms / chunks - average) / (average or 1.0) if chunks else 0.0


# ── Searching ─────────────────────────────────────────────────────────────


class _Searcher:
    """What an engine finds, as far as the truth confirms it."""

    is_whole = True

    def __init__(  # noqa: PLR0917
        self,
        place: str,
        analyzer: Analyzer,
        database: Database,
        engine: SearchEngine,
        built: _Built,
        conditions: ConditionCache,
    ) -> None:
        self._place, self._analyzer = place, analyzer
        self._database, self._engine, self._built = database, engine, built
        self._conditions = conditions

    def _best(
        self,
        using: str,
        query: Query,
        limit: int,
        among: Keys | None,
        score: Callable[[Scores], Scores] = lambda found: found,
    ) -> Scores:
        """Return the best hits; equal scores by key, also where the limit cuts."""
        engine, built = self._engine, self._built
        if limit < 1 or not built.name or (among is not None and not len(among)):
            return []
        allowed, share = self._narrowed(among)
        count = min(engine.most, int(1.2 * limit / share) + _SLACK)
        while True:
            found = engine.search(built.name, using, query, count, allowed)
            confirmed = score(self._confirmed(found, among))
            best = sorted(confirmed, key=lambda one: (-one[1], one[0]))[:limit]
            # Whatever ties with the last one that fits must have been fetched.
            enough = len(best) == limit and best[-1][1] > found[-1][1] + _TIE
            if len(found) < count or enough:
                return best
            if count == engine.most:
                if among is None or allowed.keys is not None:
                    return best
                allowed = Filter(among.tolist())
            count = min(engine.most, _GROWTH * count)

    def _narrowed(self, among: Keys | None) -> tuple[Filter, float]:
        """Say what the engine can leave out, and what share of the rest is among these keys."""
        if among is None:
            return Filter(), 1.0
        asked = self._conditions.asked(among)
        sql = Statements(self._database.connection, nullcontext)
        met = [(one.negated, facets_asked(sql, one, _LISTED)) for one in asked or ()]
        share = 1.0
        if asked is None or any(facets is None for _, facets in met):
            if len(among) <= _LISTED:
                return Filter(among.tolist()), share
            share = len(among) / max(1, self._built.chunks)
        numbered = [
            (negated, [term_number(f"{kind}={value}") for kind, value in facets])
            for negated, facets in met
            if facets is not None
        ]
        having = [[_MANY, *numbers] for negated, numbers in numbered if not negated]
        without = [number for negated, numbers in numbered if negated for number in numbers]
        return Filter(None, having, without), share

    def _confirmed(self, found: Scores, among: Keys | None) -> Scores:
        known = {
            key
            for (key,) in self._database.connection.execute(
                "SELECT key FROM chunks WHERE key = ANY(?)", ([key for key, _ in found],)
            ).fetchall()
        }
        if among is not None:
            known = set(within(np.array(sorted(known), np.int64), among).tolist())
        return [one for one in found if one[0] in known]


class _Keywords(_Searcher):
    """Finds chunks by the weights of their terms."""

    @property
    def size(self) -> int:
        """Return how many chunks it holds."""
        return self._built.chunks - self._built.gone

    def search(
        self, field: KeywordField, terms: Sequence[str], limit: int, among: Keys | None = None
    ) -> Scores:
        """Find chunks that hold any of the terms in a field, best first by BM25."""
        weights = {
            term_number(term): rarity(often, self._built.chunks)
            for term, often in self.frequencies(field, terms).items()
            if often
        }
        return self._best(field, weights, limit, among) if weights else []

    def frequencies(self, field: KeywordField, terms: Sequence[str]) -> dict[str, int]:
        """Count in about how many chunks each term occurs."""
        known = dict(
            self._database.connection.execute(
                "SELECT term, chunks FROM search_terms"
                " WHERE place = ? AND field = ? AND term = ANY(?)",
                (self._place, field, [term_number(term) for term in terms]),
            ).fetchall()
        )
        found = {term: known.get(term_number(term), 0) for term in terms}
        for term, often in found.items():
            # Chunks that are gone are counted, too, which matters for rare terms alone.
            if self._built.gone and 0 < often <= _RARE:
                found[term] = len(self._best(field, {term_number(term): 1.0}, often, None))
        return found

    def phrase(self, field: KeywordField, terms: Sequence[str]) -> Keys:
        """Find chunks in which the terms follow each other, by key; all when there are none.

        The engine names the chunks that hold the rarest of them; their texts say the rest.
        """
        if not terms:
            return np.array(sorted(self._database.chunk_keys()), np.int64)
        among, held = None, self.frequencies(field, terms)
        often, rarest = min((often, term) for term, often in held.items())
        if often < self._engine.most:
            among = sorted(
                key for key, _ in self._best(field, {term_number(rarest): 1.0}, often, None)
            )
            if len(terms) == 1:
                return np.array(among, np.int64)
        wanted = f" {' '.join(terms)} "
        return np.array(
            [
                key
                for key, body, code in self._database.keyword_rows(self._analyzer, among)
                if wanted in f" {body if field == 'body' else code} "
            ],
            np.int64,
        )

    def keys(self) -> set[ChunkKey]:
        """Return all the chunks it holds."""
        return self._engine.keys(self._built.name) if self._built.name else set()


class _Vectors(_Searcher):
    """Finds chunks by their vectors; scores are computed from those that the truth holds."""

    def nearest(self, vector: Vector, limit: int, among: Keys | None = None) -> Scores:
        """Find chunks by cosine to the vector, best first; only `among` these keys, if given."""
        query = vector.astype(np.float64)

        def score(found: Scores) -> Scores:
            return [
                (key, float(np.float32(one.astype(np.float64) @ query)))
                for key, one in self.of([key for key, _ in found]).items()
            ]

        return self._best("dense", vector, limit, among, score) if self._database.dimensions else []

    def of(self, keys: Sequence[ChunkKey]) -> dict[ChunkKey, Vector]:
        """Return the vectors of these chunks; those without one are passed over."""
        known = {
            key: decode_vector(kept)
            for key, kept in self._database.vector_rows([int(key) for key in keys])
        }
        return {int(key): known[key] for key in keys if key in known}

    def keys(self) -> set[ChunkKey]:
        """Return all the chunks that have a vector."""
        return {key for key, _ in self._database.vector_rows()}


# ── Engines behind a network ──────────────────────────────────────────────

REACH = 2.0
"""Seconds for an engine to answer at all."""

SEARCH = "search"
"""What an engine is asked to do when somebody waits for it."""

_FRESH = 1.0  # seconds in which an engine that has answered is not asked whether it lives

_ADDRESSES = re.compile(r"[\w.-]+:\d+")  # a port must not be read as the number of an error
_AGAIN = "Nothing is half done: run the command again once the engine is well."
_REASONS = (
    (
        r"unauthenticated|unauthorized|forbidden|auth check|api.?key|\b401\b|\b403\b",
        "it refused the key",
        "Put the right key into the environment variable that store.search_token_env names.",
    ),
    (
        r"deadline|timed out|timeout",
        "it did not answer in time",
        f"Raise store.timeout, or look at its load. {_AGAIN}",
    ),
    (
        r"unavailable|connect|refused|unreachable|resolv|closed channel|\beof\b",
        "it cannot be reached",
        f"Is it running, and is store.search right? {_AGAIN}",
    ),
    (
        r"read.?only|\bdeny|denied",
        "it takes no writes",
        f"Let it take writes again. {_AGAIN}",
    ),
    (
        r"no space|quota|disk full|memory limit|out of memory|exceeded|\b429\b",
        "it has no room left, or a quota is used up",
        f"Give it more room. {_AGAIN}",
    ),
    (
        r"unimplemented|not implemented|unsupported|unknown field|not supported|not (exist|found)",
        "it does not know what it is asked for",
        "Build its index again: dowse doctor --repair. It needs Milvus 2.5 or Qdrant 1.10.",
    ),
    (r"\b400\b|\b413\b", "it refused the request", "Look at the log of the engine."),
)


class RemoteEngine:
    """An engine behind a network: connected when it is first used, and again once closed."""

    def __init__(self, options: StoreOptions, key: str = "") -> None:
        self._options, self._key = options, key
        self._address = options.engine
        self._turn = threading.RLock()
        self._opened: Any = None
        self._answered = 0.0

    def _connect(self) -> Any:
        """Make a client, which gives up on a silent server within `REACH`."""
        raise NotImplementedError

    def _ping(self, client: Any) -> None:
        """Ask for anything; raise what the client raises when no answer comes within `REACH`."""
        raise NotImplementedError

    @contextmanager
    def asking(self, action: str) -> Iterator[Any]:
        """Lend the client; what it raises is translated.

        An engine that was not heard of for a moment is looked for first. For a search it must
        answer something small as well: nobody waits for a dead one as long as for a busy one.
        """
        try:
            with self._turn:
                old = self._address and time.monotonic() - self._answered > _FRESH
                if self._address and old:
                    socket.create_connection(
                        (self._address.host.strip("[]"), self._address.port), REACH
                    ).close()
                if self._opened is None:
                    self._opened = self._connect()
                if old and action == SEARCH:
                    self._ping(self._opened)
            yield self._opened
            self._answered = time.monotonic()
        except (DowseError, KeyboardInterrupt, GeneratorExit, AssertionError):
            raise
        except Exception as error:
            raise self._translated(action, error) from error

    def close(self) -> None:
        """Close the connection."""
        with self._turn:
            if self._opened is not None:
                self._opened.close()
            self._opened = None

    def _translated(self, action: str, error: Exception) -> EngineFailed:
        """Return what to say about an error of a client, by the words that it uses."""
        said = _ADDRESSES.sub("", f"{type(error).__name__} {error}".lower())
        what = f"The search engine at {self._options.search} could not {action}"
        for words, reason, hint in _REASONS:
            if re.search(words, said):
                return EngineFailed(f"{what}: {reason}.", hint)
        first = (str(error).strip() or type(error).__name__).splitlines()[0][:300]
        return EngineFailed(f"{what}: {first}", "Look at the log of the engine.")
