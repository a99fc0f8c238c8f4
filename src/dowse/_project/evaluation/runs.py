"""Runs: what a way of searching finds for every query, and the files that such runs are kept in."""

from __future__ import annotations

import math
import re
import time
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from dowse._config.schema import change_search
from dowse._model import Announce, Event, silent
from dowse._project.engine import Engine
from dowse._project.evaluation.measures import Collection, JudgedQuery, Ranked, Run
from dowse._search.pipeline import SearchSettings
from dowse._search.request import NO_FILTERS, Filters, SearchRequest
from dowse.errors import Locked, NotFound, UsageError

_CHUNKS_PER_DOCUMENT = 3  # results to ask for, so that their documents fill a ranking
# From the left a query and a fixed word, from the right three plain fields: the document's name
# may hold spaces.
_LINE = re.compile(r"(\S+)\s+(\S+)\s+(\S.*?)\s+(\S+)\s+(\S+)\s+(\S+)")
_THEMSELVES: Mapping[str, str] = MappingProxyType({})
_UNFILTERED: Mapping[str, Filters] = MappingProxyType({})


def search_run(
    name: str,
    engine: Engine,
    queries: Sequence[JudgedQuery],
    changes: Mapping[str, Any],
    depth: int = 100,
    *,
    names: Mapping[str, str] = _THEMSELVES,
    filters: Mapping[str, Filters] = _UNFILTERED,
    announce: Announce = silent,
) -> Run:
    """Asks every query, and ranks documents by their best chunk.

    Each query is asked twice: as the settings have it, which is timed, and for enough chunks to
    fill `depth` documents, with as many candidates per strategy unless `changes` says otherwise.
    When `changes` says how many results there are, exactly these are judged. Recency does not count
    unless `changes` turns it on: files of a checkout are all new. `names` gives documents that
    judgments know by another name, `filters` what some queries demand besides their words. Raises
    `Locked` when the index was changed meanwhile: no figure would mean anything.
    """
    generation = _generation(engine)
    usual = {"recency.bias": 0.0, **changes}
    deep = _deep(usual, depth)
    found: dict[str, tuple[Ranked, ...]] = {}
    seconds: dict[str, float] = {}
    confidence: dict[str, float] = {}
    marked: set[str] = set()
    notices: Counter[str] = Counter()
    engine.search(
        SearchRequest("warm up", changes=usual)
    )  # what is loaded on first use is nobody's latency
    for done, query in enumerate(queries):
        announce(Event("searching", done, len(queries), "queries"))
        demanded = filters.get(query.id, NO_FILTERS)
        began = time.perf_counter()
        response = engine.search(SearchRequest(query.text, demanded, usual))
        seconds[query.id] = time.perf_counter() - began
        best = response.hits or response.nearest
        confidence[query.id] = best[0].score if best else 0.0
        marked |= {query.id} if response.no_good_match else set()
        notices.update(set(response.notices))
        ranking = engine.rank(SearchRequest(query.text, demanded, deep))[:depth]
        found[query.id] = tuple(Ranked(names.get(name, name), score) for name, score in ranking)
    if _generation(engine) != generation:
        raise Locked(
            "Another process has changed the index while it was measured.", "Measure once more."
        )
    least = change_search(engine.settings, usual).threshold.min_confidence
    # What was said of most queries belongs to the way of searching, not to a query.
    general = tuple(notice for notice, count in notices.most_common() if 2 * count > len(queries))
    return Run(name, found, seconds, confidence, general, frozenset(marked), least)


def check_ids(queries: Iterable[str]) -> None:
    """Raises `UsageError` when no run over queries with these ids could be written to a file.

    Searching takes long: it is better known before.
    """
    for query in queries:
        if not query or re.search(r"\s", query):
            raise UsageError(
                f"The query id {query!r} cannot be written into a run file.",
                "Give queries ids without spaces.",
            )


def as_trec(run: Run) -> str:
    """A run as `trec_eval` reads it: `query Q0 document rank score tag`.

    Scores fall strictly, also as 32-bit numbers: other tools order by them alone.
    """
    check_ids(run.found)
    tag = re.sub(r"\s+", "-", run.name) or "dowse"
    lines: list[str] = []
    for query, ranking in run.found.items():
        scores = _falling([one.score for one in ranking])
        rows = enumerate(zip(ranking, scores, strict=True), start=1)
        lines += [f"{query} Q0 {one.document} {rank} {score} {tag}" for rank, (one, score) in rows]
    return "".join(f"{line}\n" for line in lines)


def read_trec(path: Path, name: str = "") -> Run:
    """A run from a file, ordered as `trec_eval` does, whatever the order of its lines.

    That is by score, as a 32-bit number, and where scores are equal by the documents' ids, the last
    of them first; ranks are not looked at. Raises `UsageError` with the number of the line that is
    not as it should be.
    """
    rankings: dict[str, list[tuple[np.float32, str]]] = {}
    for number, line in enumerate(_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        query, document, score = _parsed(line, path, number)
        rankings.setdefault(query, []).append((np.float32(score), document))
    found = {query: _ordered(rows, query, path) for query, rows in rankings.items()}
    return Run(name or path.stem, found)


def check_run(collection: Collection, run: Run) -> tuple[str, ...]:
    """What of a run does not fit a collection, in sentences.

    Raises `UsageError` when it answers none of the queries because their ids differ.
    """
    asked = [query.id for query in collection.queries]
    if run.found and not run.found.keys() & set(asked):
        raise UsageError(
            f"{run.name} answers no query of {collection.name}: it names {min(run.found)!r},"
            f" the judgments {min(asked)!r}.",
            "Name the judgments that the run belongs to.",
        )
    judged = {name for query in collection.answerable for name in query.relevant}
    found = {one.document for query in asked for one in run.found.get(query, ())}
    if not found or not judged or found & judged:
        return ()
    names = f"it names {min(found)!r}, the judgments {min(judged)!r}"
    return (f"{run.name} found no document that is judged: {names}.",)


def _deep(changes: Mapping[str, Any], depth: int) -> dict[str, Any]:
    if "search.top_n" in changes:
        return dict(changes)
    chunks = _CHUNKS_PER_DOCUMENT * depth
    candidates = change_search(SearchSettings(), changes).search.top_k  # maybe of a preset
    return {**changes, "search.top_n": chunks, "search.top_k": candidates or chunks}


def _generation(engine: Engine) -> int:
    with engine.read() as reading:
        return reading.catalogue.generation


def _falling(scores: Sequence[float]) -> list[str]:
    written: list[str] = []
    last = np.float32(np.inf)
    for score in scores:
        last = min(np.float32(score), np.nextafter(last, np.float32(-np.inf)))
        written.append(str(last))
    return written


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except (FileNotFoundError, IsADirectoryError):
        raise NotFound(f"There is no run file {path}.", "Name a file that is there.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.", "Name a run file.") from error


def _parsed(line: str, path: Path, number: int) -> tuple[str, str, float]:
    match = _LINE.fullmatch(line.strip())
    try:
        if match:
            query, _, document, rank, score, _ = match.groups()
            if math.isfinite(float(score)) and math.isfinite(float(rank)):
                return query, unicodedata.normalize("NFC", document), float(score)
    except ValueError:  # no numbers where numbers belong
        pass
    raise UsageError(
        f"{path}, line {number}: this is no line of a run.",
        "A line is: query Q0 document rank score tag",
    )


def _ordered(rows: list[tuple[np.float32, str]], query: str, path: Path) -> tuple[Ranked, ...]:
    rows.sort(reverse=True)
    ranking = tuple(Ranked(document, float(score)) for score, document in rows)
    counts = Counter(one.document for one in ranking)
    twice = next((document for document, count in counts.items() if count > 1), None)
    if twice is not None:
        raise UsageError(
            f"{path}: query {query!r} lists {twice!r} more than once.", "List a document once."
        )
    return ranking
