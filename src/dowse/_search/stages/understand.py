"""The first stage of a search: what the query means, and which strategies are to rank."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from dowse._model import Condition, Query
from dowse._search.query.correct import rewrite
from dowse._search.query.interpret import COMPLETIONS, Known, understand
from dowse._search.stages.strategies import STRATEGIES, mode_of, strategies_wanted
from dowse._search.state import SearchState
from dowse._text.fold import fold_word


def understand_query(search: SearchState) -> None:
    """Tell words, phrases and conditions apart, and correct what nothing would match."""
    search.hypothesis = mode_of(search).hypothesis
    search.strategies = strategies_wanted(search)
    search.weights = _weights(search)
    search.query = _as_answer(search) if search.hypothesis else _as_query(search)
    filters = (*search.conditions, *search.request.filters.conditions(search.parts.now))
    if search.request.query.strip() or not filters:  # otherwise a filter takes its place
        search.notices += search.query.notices
    search.conditions = (*filters, *search.query.conditions)
    search.embedded_text = search.query.text


def _weights(search: SearchState) -> dict[str, float]:
    """Return the weights of the settings, those of vectors lowered while some chunks have none.

    What has a vector already is not better than the rest.
    """
    weights = search.settings.fuse.weights
    for strategy in STRATEGIES:
        if strategy.uses == "vectors":
            weights[strategy.name] *= search.parts.embedded
    return weights


def _as_query(search: SearchState) -> Query:
    analyzer = search.parts.analyzer
    return rewrite(
        understand(search.request.query, analyzer, _known(search)), search.reading, analyzer
    )


def _known(search: SearchState) -> Known:
    reading = search.reading

    @cache
    def has_field(name: str) -> bool:
        return bool(len(reading.matching([Condition("field", name=name, sign="has")])))

    def beginning(prefix: str) -> Sequence[str]:
        return reading.vocabulary.beginning(fold_word(prefix), COMPLETIONS)

    return Known(has_field, beginning, search.parts.now)


def _as_answer(search: SearchState) -> Query:
    """All words as they are: in an answer nothing is a sign."""
    terms = tuple(search.parts.analyzer.query_terms(search.request.query))
    asked = any(map(str.isalnum, search.request.query))
    notices = () if asked else ("The hypothesis holds no word to search for.",)
    return Query(search.request.query, search.request.query, terms, (), notices=notices)
