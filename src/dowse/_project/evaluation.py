"""Search a judged collection in some ways, and judge what was found, for `dowse eval`.

    docs/            the documents
    queries.jsonl    {"_id", "text", "type"} per line
    qrels.tsv        query-id, corpus-id, score under a header

A collection is a project of its own, indexed in the cache: never the user's own index.

Measures are the usual ones, as `trec_eval` and `ir-measures` compute them. Gains are linear: a
document of grade 2 is worth two of grade 1. What has no grade is worth nothing.

Two runs answer the same queries, so the differences per query are compared: a sign-flip test says
how often chance alone would give as large a mean difference, a bootstrap how far it can be trusted.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from dowse._config.presets import PRESETS
from dowse._config.schema import assigned, change_search, is_of_a_search, of_an_index
from dowse._model import Announce, Event, silent
from dowse._project.engine import Engine
from dowse._project.registry import Project
from dowse._project.workspace import Workspace
from dowse._search.pipeline import SearchSettings
from dowse._search.request import NO_FILTERS, Filters, SearchRequest
from dowse._util.messages import counted
from dowse.errors import NotFound, StampMismatch, UsageError

SEED = 20_240_229
"""What every random choice of an evaluation begins with."""


class JudgedQuery(Struct, frozen=True):
    """A query, and which documents answer it."""

    id: str
    text: str
    type: str  # as the collection names it; "" when it names none
    relevant: Mapping[str, int]  # by document id: 1 helps, 2 and more answers; empty: nothing does
    filters: Filters = NO_FILTERS  # what it demands besides its words


class Collection(Struct, frozen=True):
    """Documents with queries that somebody has judged."""

    name: str
    documents: Path | None  # a folder; None when a project has them
    queries: tuple[JudgedQuery, ...]
    unjudged: int = 0  # queries that were left out because no document was judged to answer them

    @property
    def answerable(self) -> tuple[JudgedQuery, ...]:
        """List the queries that measures are taken over."""
        return tuple(query for query in self.queries if query.relevant)

    @property
    def unanswerable(self) -> tuple[JudgedQuery, ...]:
        """List the queries that a good search finds nothing for."""
        return tuple(query for query in self.queries if not query.relevant)


class Run(Struct, frozen=True):
    """What one way of searching found for every query."""

    name: str
    # By query id, best first: documents, each once, with scores that never increase.
    found: Mapping[str, tuple[tuple[str, float], ...]]
    seconds: Mapping[str, float] = field(default_factory=dict)  # by query id
    notices: tuple[str, ...] = ()  # what searching could not do for most queries
    marked: frozenset[str] = frozenset()  # queries whose results are marked as no good match


# ── Collections ─────────────────────────────────────────────────────────────────

_UNANSWERABLE = "unanswerable"  # the type of queries that have no answer in the collection


def read_collection(path: Path) -> Collection:
    """Read the collection in a folder.

    Queries that no document was judged to answer are left out and counted, unless their type says
    that they are unanswerable. Raise `NotFound` for what is missing, `UsageError` for what is
    broken.
    """
    if not path.is_dir():
        raise NotFound(f"There is no collection {path}.", "Name a folder that is there.")
    name, docs = path.resolve().name, path / "docs"
    file, asked = path / "qrels.tsv", path / "queries.jsonl"
    judgments, queries = _read_judgments(file), _read_queries(asked)
    if strangers := sorted(judgments.keys() - {query.id for query in queries}):
        raise UsageError(
            f"{file} judges the query {strangers[0]!r}, which is not in {asked}.",
            "Take the judgment out, or put the query in.",
        )
    kept = []
    for query in queries:
        relevant = judgments.get(query.id, {})
        if relevant and query.type == _UNANSWERABLE:
            raise UsageError(
                f"The query {query.id!r} is {_UNANSWERABLE}, but {file} names an answer.",
                "Give it another type, or take the judgment out.",
            )
        if relevant or query.type == _UNANSWERABLE:
            kept.append(replace(query, relevant=relevant))
    if not kept:
        raise UsageError(f"{name} has no query with a judgment.", "Judge some of its queries.")
    return Collection(name, docs if docs.is_dir() else None, tuple(kept), len(queries) - len(kept))


def sample(collection: Collection, count: int) -> Collection:
    """Keep so many of the queries, always the same ones, in their order."""
    if count >= len(collection.queries):
        return collection
    places = random.Random(SEED).sample(range(len(collection.queries)), count)  # noqa: S311  it must be the same every time
    return replace(collection, queries=tuple(collection.queries[n] for n in sorted(places)))


def _read_judgments(path: Path) -> dict[str, dict[str, int]]:
    """Read the grades above 0 by query and document; queries without any are there with none."""
    judgments: dict[str, dict[str, int]] = {}
    for number, line in _lines(path):
        cells = [cell.strip() for cell in line.split("\t")]
        if number == 1 and cells[0] == "query-id":
            continue
        if len(cells) != 3 or not all(cells) or not re.fullmatch(r"[+-]?\d+", cells[2]):
            raise UsageError(
                f"{path}, line {number}: this is not a judgment.",
                "A line is: query, document, grade, between tabs.",
            )
        query, document, grade = cells[0], unicodedata.normalize("NFC", cells[1]), int(cells[2])
        grades = judgments.setdefault(query, {})
        if grades.setdefault(document, grade) != grade:
            raise UsageError(
                f"{path}, line {number}: {document!r} has two grades for query {query!r}.",
                "Keep one of them.",
            )
    return {
        query: {document: grade for document, grade in grades.items() if grade > 0}
        for query, grades in judgments.items()
    }


def _read_queries(path: Path) -> list[JudgedQuery]:
    """Read the queries of a file, not judged yet."""
    queries: dict[str, JudgedQuery] = {}
    for number, name, row in json_lines(path):
        text = row.get("text")
        if not isinstance(text, str) or not text.strip():
            raise UsageError(
                f"{path}, line {number} has no text.", "A line is an object with _id and text."
            )
        if name in queries:
            raise UsageError(
                f"{path}, line {number}: there are two queries {name!r}.",
                "Give each query an id of its own.",
            )
        queries[name] = JudgedQuery(name, text, str(row.get("type") or "").strip(), {})
    return list(queries.values())


def json_lines(path: Path) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """Read the objects of a JSON Lines file, with their numbers and ids."""
    for number, line in _lines(path):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UsageError(
                f"{path}, line {number} is not JSON: {error}.", "Put one object on each line."
            ) from error
        identifier = row.get("_id") if isinstance(row, dict) else None
        if not isinstance(identifier, str | int) or not str(identifier).strip():
            raise UsageError(
                f"{path}, line {number} has no _id.", 'A line is: {"_id": "1", "text": "…"}'
            )
        yield number, str(identifier).strip(), row


def _lines(path: Path) -> list[tuple[int, str]]:
    """Read the lines that say something, with their numbers."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (FileNotFoundError, IsADirectoryError):
        raise NotFound(f"There is no file {path}.", "Put one there.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.", "It must be UTF-8 text.") from error
    # Only line feeds end lines: a text in JSON may hold other separators.
    lines = enumerate(text.split("\n"), start=1)
    return [(number, line.rstrip("\r")) for number, line in lines if line.strip()]


# ── Measures ──────────────────────────────────────────────────────────────────────


class Measures(Struct, frozen=True):
    """How well one query was answered, or several on average; all from 0 to 1."""

    ndcg_5: Annotated[float, "nDCG@5 with linear gains: grades, discounted by rank."]
    ndcg_10: Annotated[float, "nDCG@10."]
    mrr: Annotated[float, "Reciprocal rank of the first relevant document."]
    recall_10: Annotated[float, "Share of the relevant documents among the first 10."]
    recall_100: Annotated[float, "Share of the relevant documents among the first 100."]
    hit_1: Annotated[float, "Whether the first document is relevant."]
    hit_5: Annotated[float, "Whether one of the first 5 documents is relevant."]
    map: Annotated[float, "Average precision."]


NAMES: Mapping[str, str] = {
    "ndcg_5": "nDCG@5",
    "ndcg_10": "nDCG@10",
    "mrr": "MRR",
    "recall_10": "R@10",
    "recall_100": "R@100",
    "hit_1": "hit@1",
    "hit_5": "hit@5",
    "map": "MAP",
}
"""What people call each measure, by its field."""


def measure(found: Sequence[str], relevant: Mapping[str, int]) -> Measures:
    """Measure a ranking of documents for a query with these grades."""
    grades = [max(0, relevant.get(document, 0)) for document in found]
    best = sorted((grade for grade in relevant.values() if grade > 0), reverse=True)
    if not best:
        return Measures(*(0.0 for _ in NAMES))
    ranks = [rank for rank, grade in enumerate(grades, start=1) if grade]
    return Measures(
        ndcg_5=_gain(grades[:5]) / _gain(best[:5]),
        ndcg_10=_gain(grades[:10]) / _gain(best[:10]),
        mrr=1 / ranks[0] if ranks else 0.0,
        recall_10=sum(rank <= 10 for rank in ranks) / len(best),
        recall_100=sum(rank <= 100 for rank in ranks) / len(best),
        hit_1=float(any(rank <= 1 for rank in ranks)),
        hit_5=float(any(rank <= 5 for rank in ranks)),
        map=math.fsum(count / rank for count, rank in enumerate(ranks, start=1)) / len(best),
    )


def _gain(grades: Sequence[int]) -> float:
    """Return the discounted cumulative gain (Järvelin and Kekäläinen 2002)."""
    return math.fsum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))


def measure_queries(run: Run, queries: Iterable[JudgedQuery]) -> dict[str, Measures]:
    """Measure a run for each query; one that it does not know counts as answered by nothing."""
    return {
        query.id: measure([document for document, _ in run.found.get(query.id, ())], query.relevant)
        for query in queries
    }


def mean(measured: Iterable[Measures]) -> Measures | None:
    """Average over queries, each counting the same; None when there are none."""
    rows = list(measured)
    if not rows:
        return None
    columns = ([getattr(row, name) for row in rows] for name in NAMES)
    return Measures(*(math.fsum(column) / len(rows) for column in columns))


# ── Whether one run is better than another, or only luckier ─────────────────────

_ROUNDS = 10_000
_CELLS = 2_000_000  # random numbers held at a time
_SAME = 1e-12  # differences below are rounding


class Difference(Struct, frozen=True):
    """How much better the second is than the first, over the same queries."""

    first: Annotated[float, "Mean of the first."]
    second: Annotated[float, "Mean of the second."]
    difference: Annotated[float, "Second minus first."]
    relative: Annotated[float | None, "As a share of the first; null when that is 0."]
    low: Annotated[float, "Lower end of the 95 % bootstrap interval of the difference."]
    high: Annotated[float, "Upper end."]
    p: Annotated[float, "How often chance alone gives as large a difference, either way."]
    wins: Annotated[int, "Queries that the second answers better."]
    ties: Annotated[int, "Queries that both answer equally well."]
    losses: Annotated[int, "Queries that the first answers better."]


def compare(first: Mapping[str, float], second: Mapping[str, float]) -> Difference:
    """Compare what a measure gives for each query; both must cover the same queries, at least one.

    The same figures give the same result, to the bit.
    """
    queries = sorted(first)
    before, after = (np.array([side[query] for query in queries]) for side in (first, second))
    by_query = after - before
    low, high = _bootstrap(by_query)
    start, change = float(before.mean()), float(by_query.mean())
    return Difference(
        first=start,
        second=float(after.mean()),
        difference=change,
        relative=change / start if start else None,
        low=low,
        high=high,
        p=_sign_flips(by_query),
        wins=int((by_query > _SAME).sum()),
        ties=int((np.abs(by_query) <= _SAME).sum()),
        losses=int((by_query < -_SAME).sum()),
    )


def _sign_flips(differences: NDArray[np.float64]) -> float:
    """Run the two-sided paired randomisation test; exact where there are few ways to flip."""
    # Queries that are answered equally well stay at 0 whatever their sign.
    moved = differences[np.abs(differences) > _SAME]
    observed = abs(moved.sum()) - _SAME
    if 2 ** len(moved) <= _ROUNDS:
        flips = np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved)) & 1
        return float((np.abs((1 - 2 * flips) @ moved) >= observed).mean())
    rng, extreme = np.random.default_rng(SEED), 0
    for rounds in _portions(len(moved)):
        signs = 1.0 - 2.0 * rng.integers(0, 2, (rounds, len(moved)), dtype=np.int8)
        extreme += int((np.abs(signs @ moved) >= observed).sum())
    return (extreme + 1) / (_ROUNDS + 1)  # what was observed is one of the possible ways


def _bootstrap(differences: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95 % percentile interval of the mean over queries."""
    rng, count = np.random.default_rng(SEED), len(differences)
    drawn = (rng.integers(0, count, (rounds, count)) for rounds in _portions(count))
    low, high = np.percentile(
        np.concatenate([differences[places].mean(axis=1) for places in drawn]), [2.5, 97.5]
    )
    return float(low), float(high)


def _portions(count: int) -> Iterator[int]:
    """Cut all rounds into portions that memory can hold."""
    step = max(1, _CELLS // count)
    for start in range(0, _ROUNDS, step):
        yield min(step, _ROUNDS - start)


# ── What a run came to: measures over all queries and by type, latency, emptiness ──


class TypeReport(Struct, frozen=True):
    """How well queries of one type were answered."""

    type: Annotated[str, "As the collection names it; empty when it names none."]
    queries: Annotated[int, "How many."]
    measures: Annotated[Measures, "Their average."]


class Latency(Struct, frozen=True):
    """How long a search took, in seconds."""

    p50: Annotated[float, "Half of the searches took no longer."]
    p95: Annotated[float, "95 of 100 searches took no longer."]


class RunReport(Struct, frozen=True):
    """How well a run answered the queries of a collection."""

    name: Annotated[str, "Of the run."]
    queries: Annotated[int, "Queries with judgments."]
    empty: Annotated[int, "Of these, how many nothing was found for."]
    marked: Annotated[int, "Of these, how many have results that are marked as no good match."]
    measures: Annotated[Measures | None, "Their average; null when there are none."]
    types: Annotated[tuple[TypeReport, ...], "By type, in the order of the collection."]
    latency: Annotated[Latency, "Of a search with the user's settings."]
    rejected: Annotated[
        float | None,
        "Share of the queries without an answer that have no result or no good match, as it should"
        " be; null when all have answers.",
    ]
    notices: Annotated[tuple[str, ...], "What searching could not do."]


def report(collection: Collection, run: Run) -> RunReport:
    """Say how well a run answered a collection."""
    answerable = collection.answerable
    measured = measure_queries(run, answerable)
    by_type = {
        kind: [measured[q.id] for q in answerable if q.type == kind]
        for kind in dict.fromkeys(query.type for query in answerable)
    }
    averages = ((kind, rows, mean(rows)) for kind, rows in by_type.items())
    asked = [query.id for query in collection.unanswerable]
    return RunReport(
        name=run.name,
        queries=len(answerable),
        empty=sum(not run.found.get(query.id) for query in answerable),
        marked=sum(query.id in run.marked for query in answerable),
        measures=mean(measured.values()),
        types=tuple(TypeReport(kind, len(rows), one) for kind, rows, one in averages if one),
        latency=Latency(*np.percentile(list(run.seconds.values()), [50, 95]).tolist()),
        rejected=sum(one in run.marked or not run.found.get(one) for one in asked) / len(asked)
        if asked
        else None,
        notices=run.notices,
    )


def compare_runs(collection: Collection, first: Run, second: Run) -> dict[str, Difference]:
    """Compare two runs by every measure; by none when no query has judgments."""
    queries = collection.answerable
    before, after = measure_queries(first, queries), measure_queries(second, queries)
    return {
        name: compare(
            {query: getattr(measured, name) for query, measured in before.items()},
            {query: getattr(measured, name) for query, measured in after.items()},
        )
        for name in NAMES
        if queries
    }


# ── What is searched ────────────────────────────────────────────────────────────


class Bench(Struct, frozen=True):
    """A collection that is indexed and can be searched."""

    collection: Collection
    engine: Engine
    notices: tuple[str, ...]  # what indexing could not do
    embedded: int  # texts that the embedder had to read

    def run(self, name: str, changes: Mapping[str, Any], announce: Announce = silent) -> Run:
        """Ask all queries of the collection with these changes to the settings."""
        return search_run(name, self.engine, self.collection.queries, changes, announce)


@contextmanager
def open_bench(
    workspace: Workspace,
    collection: Collection,
    overrides: Mapping[str, Any] | None = None,
    announce: Announce = silent,
) -> Iterator[Bench]:
    """Update the index of a collection, and open it.

    `overrides` are settings by their full names; with other settings of the index, also those of a
    preset, an index of its own is kept.
    """
    if collection.documents is None:
        raise NotFound(
            f"{collection.name} has no documents to search.",
            "Put them into docs/.",
        )
    chosen = dict(overrides or {})
    folder = evaluation_folder(workspace, collection.documents, chosen)
    project = Project(collection.name, folder, (collection.documents.resolve(),))
    overrides = {"store.url": "", **chosen}  # a copy is of no use to other machines
    with workspace.open(project, overrides, announce, fetch=True) as engine:
        try:
            indexed = engine.index(announce=announce)
        except StampMismatch:  # the settings have changed; nothing here is worth a question
            indexed = engine.index(rebuild=True, announce=announce)
        notices = list(indexed.notices)
        if withheld := workspace.settings(project).withheld:
            notices.append(f"Its dowse.toml asks to {', to '.join(withheld)}: not done here.")
        if left_out := [item for item in indexed.left_out if item.whole]:
            files, first = counted(len(left_out), "file"), left_out[0]
            notices.append(f"{files} could not be indexed, such as {first.id}: {first.reason}")
        here = {entry.id for entry in engine.documents()}
        judged = {name for query in collection.queries for name in query.relevant}
        if here and judged and not here & judged:  # names differ: no figure would mean anything
            raise UsageError(
                f"No judged document is in {collection.name}: judgments name {min(judged)!r},"
                f" documents are called {min(here)!r}.",
                "Judge documents by their path below docs/.",
            )
        if unknown := sorted(judged - here):
            missing = counted(len(unknown), "judged document")
            why = "not in the collection, or left out"
            notices.append(f"{missing} cannot be found, such as {unknown[0]}: {why}.")
        yield Bench(collection, engine, tuple(notices), indexed.embedded)


def evaluation_folder(workspace: Workspace, documents: Path, overrides: Mapping[str, Any]) -> Path:
    """Return the folder of the index over these documents, apart for other settings of it."""
    key = json.dumps(
        [str(documents.resolve()), sorted(of_an_index(overrides).items())], default=str
    ).encode("utf-8", "replace")
    return workspace.locations.evaluations / hashlib.sha256(key).hexdigest()[:12]


# ── Searching ───────────────────────────────────────────────────────────────────

_DEPTH = 100  # documents of a ranking that are judged
_CHUNKS = 3 * _DEPTH  # results to ask for, so that their documents fill a ranking


def search_run(
    name: str,
    engine: Engine,
    queries: Sequence[JudgedQuery],
    changes: Mapping[str, Any],
    announce: Announce = silent,
) -> Run:
    """Ask every query, and rank documents by their best chunk.

    Each query is asked twice: as the settings have it, which is timed, and for enough chunks to
    fill a ranking, with as many candidates per strategy unless `changes` says otherwise.
    When `changes` says how many results there are, exactly these are judged. Recency does not count
    unless `changes` turns it on: files of a checkout are all new.
    """
    usual = {"recency.bias": 0.0, **changes}
    deep = usual
    if "search.top_n" not in usual:
        candidates = change_search(SearchSettings(), usual).search.top_k  # maybe of a preset
        deep = {**usual, "search.top_n": _CHUNKS, "search.top_k": candidates or _CHUNKS}
    seconds: dict[str, float] = {}
    found, marked, notices = {}, set(), Counter[str]()
    engine.search(SearchRequest("warm up", changes=usual))  # first use loads: nobody's latency
    for done, query in enumerate(queries):
        announce(Event("searching", done, len(queries), "queries"))
        began = time.perf_counter()
        response = engine.search(SearchRequest(query.text, query.filters, usual))
        seconds[query.id] = time.perf_counter() - began
        if response.no_good_match:
            marked.add(query.id)
        notices.update(set(response.notices))
        found[query.id] = engine.rank(SearchRequest(query.text, query.filters, deep))[:_DEPTH]
    # What was said of most queries belongs to the way of searching, not to a query.
    general = tuple(notice for notice, count in notices.most_common() if 2 * count > len(queries))
    return Run(name, found, seconds, general, frozenset(marked))


# ── The whole of it ─────────────────────────────────────────────────────────────

_DEFAULT = "default"

Side = tuple[str, Mapping[str, Any]]
"""A name with the changes to the settings to search with."""

OpenBench = Callable[[Mapping[str, Any], Announce], AbstractContextManager[Bench]]
"""Makes what is searched ready, with these settings."""


def sides_of(
    compared: Sequence[str] | None, preset: str | None, assignments: Sequence[str]
) -> list[Side]:
    """List what is judged: two sides to be compared, or a search with settings.

    Raise `UsageError` or `NotFound` for what is none of them.
    """
    changes = dict(assigned(text) for text in assignments)
    sides: list[Side] = []
    for text in compared or [preset or _DEFAULT]:
        own: dict[str, Any] = {}
        if text in PRESETS:
            own = {"search.preset": text}
        elif "=" in text:
            own = dict([assigned(text)])
        elif text != _DEFAULT:
            raise NotFound(
                f"{text!r} is neither a preset nor a setting.",
                f"Presets: {', '.join(PRESETS)}; or {_DEFAULT}, or NAME=VALUE.",
            )
        sides.append((text, {**changes, **own}))
    return sides


class EvalRecord(Struct, frozen=True):
    """What `dowse eval` found out."""

    collection: Annotated[str, "Its name."]
    documents: Annotated[int, "How many were searched."]
    queries: Annotated[int, "Queries with judgments."]
    unanswerable: Annotated[int, "Queries that have no answer."]
    unjudged: Annotated[int, "Queries left out because no document was judged to answer them."]
    runs: Annotated[tuple[RunReport, ...], "What each run came to."]
    comparison: Annotated[
        Mapping[str, Difference] | None, "With `--compare`: how the second differs, by measure."
    ]
    notices: Annotated[tuple[str, ...], "What could not be done, and how to change that."]


def evaluate(
    collection: Collection, sides: Sequence[Side], open_bench: OpenBench, announce: Announce
) -> EvalRecord:
    """Search the collection, and judge what was found; two sides are compared."""
    documents = 0
    notices: list[str] = []
    runs: list[Run] = []
    for name, side in sides:
        with open_bench(side, announce) as bench:
            documents = len(bench.engine.documents())
            notices += bench.notices
            of_searches = {one: value for one, value in side.items() if is_of_a_search(one)}
            runs.append(bench.run(name, of_searches, announce))
    for run in runs:
        notices += run.notices
    return EvalRecord(
        collection=collection.name,
        documents=documents,
        queries=len(collection.answerable),
        unanswerable=len(collection.unanswerable),
        unjudged=collection.unjudged,
        runs=tuple(report(collection, run) for run in runs),
        comparison=compare_runs(collection, *runs) if len(runs) == 2 else None,
        notices=tuple(dict.fromkeys(notices)),
    )
