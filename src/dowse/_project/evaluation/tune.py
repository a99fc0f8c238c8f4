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
from itertools import product
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from dowse._config.schema import Settings, change_search
from dowse._model import Announce, Event, silent
from dowse._project.engine import Engine
from dowse._project.evaluation.bench import hidden_copy
from dowse._project.evaluation.measures import SEED, Difference, JudgedQuery, compare, measure
from dowse._project.evaluation.own_queries import FEW, OwnQuery
from dowse._project.workspace import Workspace
from dowse._search.pipeline import Retrieved, SearchSettings
from dowse._search.request import NO_FILTERS, Filters, SearchRequest
from dowse._search.strategies import STRATEGIES
from dowse.errors import UsageError

# ── The settings that are tried: ways of fusing, and weights of fields ──────────


SettingValues = Mapping[str, Any]
"""Settings by their full names."""

_MEANING = (
    0.2,
    0.3,
    0.4,
    0.5,
    0.6,
    0.7,
    0.8,
)  # share of the rankings by vectors; words have the rest
_NORMALISE = ("ceiling", "minmax", "zscore")
_GATHER = (0.0, 0.25, 0.5, 0.75)
_BOOSTED = ("title", "headers", "keywords", "description", "tags")
_BOOSTS = (
    (1.0, 1.0, 1.0, 1.0, 1.0),
    (3.0, 2.5, 2.5, 2.0, 2.0),
    (6.0, 5.0, 5.0, 4.0, 4.0),
    (9.0, 7.5, 7.5, 6.0, 6.0),
)


def ways_to_fuse(settings: SearchSettings) -> Iterator[SettingValues]:
    """What to change for every way of fusing, first nothing."""
    yield {}
    for meaning, normalise, share in product(_MEANING, _NORMALISE, _GATHER):
        way = {
            "fuse.method": "convex",
            "fuse.normalise": normalise,
            **_weights(meaning),
            "gather.share": share,
        }
        if changed := _changed(settings, way):
            yield changed


def _weights(meaning: float) -> dict[str, float]:
    """Weights of the strategies that every hybrid search has; others keep theirs."""
    always = [one for one in STRATEGIES if not one.optional]
    return {
        f"fuse.{one.name}": round(2 * meaning if one.uses == "vectors" else 2 - 2 * meaning, 1)
        for one in always
    }


def other_boosts(settings: Settings) -> Iterator[SettingValues]:
    """What to change for every other weighing of a document's fields."""
    for boosts in _BOOSTS:
        names = (f"keyword.{name}" for name in _BOOSTED)
        if changed := _changed(settings, dict(zip(names, boosts, strict=True))):
            yield changed


def with_boosts(settings: Settings, changes: SettingValues) -> Settings:
    """The settings with such changes."""
    boosts = {name.partition(".")[2]: value for name, value in changes.items()}
    return replace(settings, keyword=replace(settings.keyword, **boosts))


def _changed(settings: SearchSettings, wanted: SettingValues) -> SettingValues:
    """What of the wanted settings is not so yet."""
    return {name: value for name, value in wanted.items() if settings.value(name) != value}


FOLDS = 5
"""Into how many parts the queries are cut."""

_LEAST = 10  # queries, below which nothing can be chosen
_SURE = 0.05  # a gain that chance gives as often is none
_DEPTH = 10  # documents that count
_AS_GOOD = 0.002  # nDCG@10 that is not worth a change, let alone a rebuilt index
# Twice as many results as count, as several may be of one document; a tree of files that was just
# copied is all new, so that recency would say nothing.
_SEARCH: SettingValues = {"search.top_n": 2 * _DEPTH, "recency.bias": 0.0}


class Question(Struct, frozen=True):
    """A query to tune on."""

    judged: JudgedQuery
    filters: Filters = NO_FILTERS

    @property
    def document(self) -> str:
        """The one that answers it best."""
        grades = self.judged.relevant
        return min(grades, key=lambda document: (-grades[document], document))


class BoostTrial(Struct, frozen=True):
    """What the strategies find for every question while the fields of a document weigh so."""

    boosts: SettingValues  # what of the keyword settings differs from the present ones
    found: tuple[Retrieved, ...]  # in the order of the questions

    @property
    def notices(self) -> tuple[str, ...]:
        """What was said of most questions, and so belongs to none of them."""
        said = Counter(notice for found in self.found for notice in set(found.notices))
        return tuple(notice for notice, count in said.items() if 2 * count > len(self.found))


class Tuning(Struct, frozen=True):
    """What tuning has found."""

    questions: int
    tried: int  # how many settings
    gain: Difference  # in nDCG@10 on queries that were not chosen on; first: the present settings
    best: SettingValues  # what to change, chosen on all queries; empty: the present ones win
    agreeing: int  # of the five parts, how many chose just the same

    @property
    def is_real(self) -> bool:
        """Whether other queries can expect a gain: chance is ruled out, and there were enough.

        The interval alone would be content with four queries that gain and none that loses.
        """
        is_sure = self.gain.low > 0 and self.gain.p < _SURE
        return bool(self.best) and is_sure and self.questions >= FEW


def own_questions(queries: Sequence[OwnQuery]) -> list[Question]:
    """Queries that were drawn from the documents, to tune on."""
    return [Question(query.judged, query.filters) for query in queries]


def judged_questions(queries: Sequence[JudgedQuery], engine: Engine) -> list[Question]:
    """Judged queries that a document of the project answers.

    Raises `UsageError` when there is none, or when nobody knows what was asked.
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
    return [Question(query) for query in answered]


def gather_evidence(
    workspace: Workspace,
    engine: Engine,
    questions: Sequence[Question],
    hidden: Sequence[OwnQuery] = (),
    *,
    boosts: bool = False,
    announce: Announce = silent,
) -> Iterator[BoostTrial]:
    """What is found with the present weights of fields, and with `boosts` also with others.

    What `hidden` queries were drawn from is not found. Raises `UsageError` when the questions are
    too few.
    """
    _check(questions)
    if hidden:
        with hidden_copy(workspace, engine, hidden, announce=announce) as copy:
            yield BoostTrial({}, _find(copy.engine, questions, announce))
    else:
        yield BoostTrial({}, _find(engine, questions, announce))
    for changes in other_boosts(engine.settings) if boosts else ():
        settings = with_boosts(engine.settings, changes)
        with hidden_copy(workspace, engine, hidden, settings, announce) as copy:
            yield BoostTrial(changes, _find(copy.engine, questions, announce))


def tune(
    evidence: Sequence[BoostTrial],
    questions: Sequence[Question],
    settings: SearchSettings,
    announce: Announce = silent,
) -> Tuning:
    """Tries every setting on what was found, and says what choosing the best would bring.

    The same evidence gives the same result.
    """
    _check(questions)
    tried, rows = [], []
    ways = list(ways_to_fuse(settings))
    for place, one in enumerate(evidence):
        for number, way in enumerate(ways):
            announce(Event("tuning", place * len(ways) + number, len(evidence) * len(ways), "ways"))
            tried.append({**way, **one.boosts})
            rows.append(_scores(one, questions, change_search(settings, {**_SEARCH, **way})))
    # The fewest changes first: they win where others are hardly better.
    order = sorted(range(len(tried)), key=lambda place: len(tried[place]))
    return _chosen([tried[place] for place in order], np.array(rows)[order], questions)


def _check(questions: Sequence[Question]) -> None:
    """Raises `UsageError` when there is too little to choose by."""
    if len(questions) < _LEAST:
        raise UsageError(
            f"There are only {len(questions)} queries to tune on; {_LEAST} are the least.",
            "Judge some queries and name them with --on SET.",
        )
    documents = len({question.document for question in questions})
    if documents < FOLDS:
        raise UsageError(
            f"Only {documents} documents answer the queries to tune on; {FOLDS} are the least.",
            "Judge queries about other documents, too, and name them with --on SET.",
        )


def _chosen(
    tried: Sequence[SettingValues], scores: NDArray[np.float64], questions: Sequence[Question]
) -> Tuning:
    """Chooses on each four fifths, scores on the fifth, and in the end chooses on everything."""
    part = _parts(questions)
    held_out, chosen = np.zeros(len(questions)), []
    for number in range(FOLDS):
        chosen.append(_best(scores[:, part != number]))
        held_out[part == number] = scores[chosen[-1], part == number]
    best = _best(scores)
    ids = [question.judged.id for question in questions]
    gain = compare(
        dict(zip(ids, scores[0].tolist(), strict=True)),
        dict(zip(ids, held_out.tolist(), strict=True)),
        groups={question.judged.id: question.document for question in questions},
    )
    return Tuning(len(questions), len(tried), gain, tried[best], chosen.count(best))


def _best(scores: NDArray[np.float64]) -> int:
    """The first of the rows that are as good as the best: no change for next to nothing."""
    means = scores.mean(axis=1)
    return int(np.argmax(means >= means.max() - _AS_GOOD))


def _parts(questions: Sequence[Question]) -> NDArray[np.int64]:
    """The part that each question belongs to: that of its document.

    Every part has its share of every type, as far as the documents let it.
    """
    by_document: dict[str, list[int]] = {}
    for place in sorted(range(len(questions)), key=lambda place: questions[place].judged.id):
        by_document.setdefault(questions[place].document, []).append(place)
    groups = list(by_document.values())
    random.Random(SEED).shuffle(groups)  # noqa: S311  it must be the same every time
    groups.sort(key=len, reverse=True)  # small ones can fill what large ones leave
    parts = np.zeros(len(questions), dtype=np.int64)
    filled = [Counter[str]() for _ in range(FOLDS)]
    for group in groups:
        types = Counter(questions[place].judged.type for place in group)
        load = [(sum(part[one] for one in types), part.total()) for part in filled]
        number = load.index(min(load))
        filled[number] += types
        parts[group] = number
    return parts


def _find(
    engine: Engine, questions: Sequence[Question], announce: Announce
) -> tuple[Retrieved, ...]:
    found = []
    for done, question in enumerate(questions):
        announce(Event("searching", done, len(questions), "queries"))
        text, filters = question.judged.text, question.filters
        found.append(engine.find(SearchRequest(text, filters, _SEARCH)))
    return tuple(found)


def _scores(
    evidence: BoostTrial, questions: Sequence[Question], settings: SearchSettings
) -> list[float]:
    """nDCG@10 of every question."""
    scores = []
    for question, found in zip(questions, evidence.found, strict=True):
        documents = [document for document, _ in found.documents(settings)[:_DEPTH]]
        scores.append(measure(documents, question.judged.relevant).ndcg_10)
    return scores
