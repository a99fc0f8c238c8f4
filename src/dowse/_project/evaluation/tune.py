"""Settings that rank better on these documents, if there are any.

Every strategy ranks once per query; then all ways of fusing are tried by the stages of the flow
themselves. Settings are chosen on four fifths of the queries and judged on the fifth that they have
not seen, five times over, so that the gain is what other queries can expect. Queries that the same
document answers stay together, where they are parted and where chance is reckoned with.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import product
from typing import Annotated, Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dowse._config.schema import change_search
from dowse._model import Announce, Event, silent
from dowse._project.engine import Engine
from dowse._project.evaluation.collections import SEED, JudgedQuery
from dowse._project.evaluation.measures import Difference, compare, measure
from dowse._project.evaluation.own_queries import FEW, OwnQuery, hidden_copy
from dowse._project.workspace import Workspace
from dowse._search.pipeline import Retrieved, SearchSettings
from dowse._search.request import SearchRequest
from dowse._search.strategies import STRATEGIES
from dowse.errors import UsageError

FOLDS = 5
"""Into how many parts the queries are cut."""

_LEAST = 10  # queries, below which nothing can be chosen
_SURE = 0.05  # a gain that chance gives as often is none
_DEPTH = 10  # documents that count
_AS_GOOD = 0.002  # nDCG@10 that is not worth a change, let alone a rebuilt index

SettingValues = Mapping[str, Any]
"""Settings by their full names."""

# Twice as many results as count, as several may be of one document; a tree of files that was just
# copied is all new, so that recency would say nothing.
_SEARCH: SettingValues = {"search.top_n": 2 * _DEPTH, "recency.bias": 0.0}

_OTHER_CONFIDENCE = (
    "With this fuse.normalise, confidence compares results with each other: it no longer says"
    " whether there is an answer at all."
)


class ChangeRecord(Struct, frozen=True):
    """A setting that would rank better."""

    name: Annotated[str, "As in `fuse.keyword`."]
    now: Annotated[Any, "What holds now."]
    better: Annotated[Any, "What would rank better."]


class TuneRecord(Struct, frozen=True):
    """What `dowse tune` found out, and did."""

    project: Annotated[str, "Name of the project."]
    queries: Annotated[Mapping[str, int], "How many queries it was tuned on, by type."]
    tried: Annotated[int, "How many settings were tried."]
    gain: Annotated[
        Difference, "In nDCG@10 on queries that were not chosen on; first: what holds now."
    ]
    real: Annotated[bool, "Whether the gain is more than chance."]
    best: Annotated[tuple[ChangeRecord, ...], "What ranked best, by all queries."]
    agreeing: Annotated[int, "Of the 5 parts of the queries, how many chose just the same."]
    written: Annotated[bool, "Whether `best` holds for the project from now on."]
    rebuild: Annotated[bool, "Whether the index must be rebuilt for it."]
    notices: Annotated[tuple[str, ...], "What could not be done, and what else changes."]


# ── The settings that are tried: ways of fusing, and weights of fields ──────────

_MEANING = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)  # share of the vectors; words have the rest
_NORMALISE = ("ceiling", "minmax", "zscore")
_GATHER = (0.0, 0.25, 0.5, 0.75)
_BOOSTS: Sequence[SettingValues] = [
    {
        "keyword.title": title,
        "keyword.headers": headers,
        "keyword.keywords": headers,
        "keyword.description": tags,
        "keyword.tags": tags,
    }
    for title, headers, tags in ((1.0, 1.0, 1.0), (3.0, 2.5, 2.0), (6.0, 5.0, 4.0), (9.0, 7.5, 6.0))
]


def _ways_to_fuse(settings: SearchSettings) -> list[SettingValues]:
    """List what to change for every way of fusing, first nothing."""
    ways: list[dict[str, Any]] = [{}]
    for meaning, normalise, share in product(_MEANING, _NORMALISE, _GATHER):
        # Weights of the strategies that every hybrid search has; others keep theirs.
        weights = {
            f"fuse.{one.name}": round(2 * meaning if one.uses == "vectors" else 2 - 2 * meaning, 1)
            for one in STRATEGIES
            if not one.optional
        }
        way = {"fuse.method": "convex", "fuse.normalise": normalise, **weights}
        ways.append({**way, "gather.share": share})
    return _differing(settings, ways)


def _differing(
    settings: SearchSettings, wanted: Sequence[Mapping[str, Any]]
) -> list[SettingValues]:
    """Keep of every but the first what is not so yet, if anything."""
    changed = [
        {name: value for name, value in one.items() if settings.value(name) != value}
        for one in wanted
    ]
    return [one for place, one in enumerate(changed) if one or not place]


# ── What is found for every query, by settings of the index ─────────────────────

Trial = tuple[SettingValues, Sequence[Retrieved]]
"""Weights of fields that differ from the present ones, and what is found with them by query."""


def judged_queries(queries: Sequence[JudgedQuery], engine: Engine) -> list[JudgedQuery]:
    """List the judged queries that a document of the project answers.

    Raise `UsageError` when there is none, or when nobody knows what was asked.
    """
    if not all(query.text for query in queries):
        raise UsageError("There are judgments, but no queries.", "Put them into queries.jsonl.")
    known = {entry.id for entry in engine.documents()}
    answered = [query for query in queries if known & query.relevant.keys()]
    if not answered:
        raise UsageError(
            f"No judged document is in the project {engine.project.name}.",
            "Choose the project that the judgments belong to with -p.",
        )
    return answered


def gather_evidence(
    workspace: Workspace,
    engine: Engine,
    queries: Sequence[JudgedQuery],
    hidden: Sequence[OwnQuery] = (),
    *,
    boosts: bool = False,
    announce: Announce = silent,
) -> Iterator[Trial]:
    """Find answers with the present weights of fields, and with `boosts` also with others.

    What `hidden` queries were drawn from is not found. Raise `UsageError` when the queries are
    too few.
    """
    _check(queries)
    weights = [{}, *_BOOSTS] if boosts else [{}]
    for changes in _differing(engine.settings, weights):
        with ExitStack() as opened:
            searched = engine
            if hidden or changes:
                copy = hidden_copy(workspace, engine, hidden, changes, announce)
                searched = opened.enter_context(copy).engine
            found = []
            for done, query in enumerate(queries):
                announce(Event("searching", done, len(queries), "queries"))
                found.append(searched.find(SearchRequest(query.text, query.filters, _SEARCH)))
        yield changes, found


def _check(queries: Sequence[JudgedQuery]) -> None:
    """Raise `UsageError` when there is too little to choose by."""
    if len(queries) < _LEAST:
        raise UsageError(
            f"There are only {len(queries)} queries to tune on; {_LEAST} are the least.",
            "Judge some queries and name them with --on SET.",
        )
    documents = len({query.answer for query in queries})
    if documents < FOLDS:
        raise UsageError(
            f"Only {documents} documents answer the queries to tune on; {FOLDS} are the least.",
            "Judge queries about other documents, too, and name them with --on SET.",
        )


# ── Choosing ────────────────────────────────────────────────────────────────────


def tune(
    project: str,
    evidence: Sequence[Trial],
    queries: Sequence[JudgedQuery],
    settings: SearchSettings,
    announce: Announce = silent,
) -> TuneRecord:
    """Try every setting on what was found, and say what choosing the best would bring.

    Settings are chosen on each four fifths and scored on the fifth, and in the end chosen on
    everything. The same evidence gives the same result.
    """
    _check(queries)
    tried: list[SettingValues] = []
    rows: list[list[float]] = []  # nDCG@10 of every query
    ways = _ways_to_fuse(settings)
    for boosts, found in evidence:
        for way in ways:
            announce(Event("tuning", len(tried), len(evidence) * len(ways), "ways"))
            changed = change_search(settings, {**_SEARCH, **way})
            documents = (one.documents(changed)[:_DEPTH] for one in found)
            pairs = zip(documents, queries, strict=True)
            rows.append([measure([d for d, _ in one], q.relevant).ndcg_10 for one, q in pairs])
            tried.append({**way, **boosts})
    # The fewest changes first: they win where others are hardly better.
    order = sorted(range(len(tried)), key=lambda place: len(tried[place]))
    scores, part = np.array(rows)[order], _parts(queries)
    held_out, chosen = np.zeros(len(queries)), []
    for number in range(FOLDS):
        chosen.append(_best(scores[:, part != number]))
        held_out[part == number] = scores[chosen[-1], part == number]
    ids = [query.id for query in queries]
    gain = compare(
        dict(zip(ids, scores[0].tolist(), strict=True)),
        dict(zip(ids, held_out.tolist(), strict=True)),
        groups={query.id: query.answer for query in queries},
    )
    best = _best(scores)
    changes = [
        ChangeRecord(name, settings.value(name), value)
        for name, value in tried[order[best]].items()
    ]
    # Chance is ruled out, and there were enough queries: the interval alone would be content with
    # four queries that gain and none that loses.
    is_real = bool(changes) and gain.low > 0 and gain.p < _SURE and len(queries) >= FEW
    notices = []  # what was said of most queries, and so belongs to none of them
    for _, found in evidence:
        said = Counter(notice for one in found for notice in set(one.notices))
        notices += [notice for notice, count in said.items() if 2 * count > len(found)]
    if is_real and any(one.name == "fuse.normalise" and one.now == "ceiling" for one in changes):
        notices.append(_OTHER_CONFIDENCE)
    return TuneRecord(
        project=project,
        queries=Counter(query.type for query in queries),
        tried=len(tried),
        gain=gain,
        real=is_real,
        best=tuple(changes),
        agreeing=chosen.count(best),
        written=False,
        rebuild=any(one.name.startswith("keyword.") for one in changes),
        notices=tuple(dict.fromkeys(notices)),
    )


def _best(scores: NDArray[np.float64]) -> int:
    """Find the first of the rows that are as good as the best: no change for next to nothing."""
    means = scores.mean(axis=1)
    return int(np.argmax(means >= means.max() - _AS_GOOD))


def _parts(queries: Sequence[JudgedQuery]) -> NDArray[np.int64]:
    """Give each query the part of its document.

    Documents are dealt out by type and by how many queries they answer, so that every part has its
    share of both, as far as the documents let it.
    """
    types = {query.answer: query.type for query in queries}
    counts = Counter(query.answer for query in queries)
    documents = sorted(counts)
    random.Random(SEED).shuffle(documents)  # noqa: S311  it must be the same every time
    documents.sort(key=lambda document: (types[document], -counts[document]))
    part_of = {document: place % FOLDS for place, document in enumerate(documents)}
    return np.array([part_of[query.answer] for query in queries])
