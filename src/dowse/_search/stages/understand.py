"""The first stage of a search: what the query means, and which strategies are to rank."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from dowse._model import Condition, Query
from dowse._search.query.correct import correct
from dowse._search.query.interpret import COMPLETIONS, Known, understand
from dowse._search.stages.strategies import MODES, STRATEGIES
from dowse._search.state import SearchState
from dowse._text.fold import fold_word


def understand_query(search: SearchState) -> None:
    """Choose the strategies and their weights; tell words, phrases and conditions apart."""
    settings, parts, written = search.settings, search.parts, search.request.query
    mode = next(one for one in MODES if one.name == settings.search.mode)
    search.hypothesis = mode.hypothesis
    search.strategies = mode.strategies or tuple(
        one.name for one in STRATEGIES if not one.optional or getattr(settings, one.name).enabled
    )
    search.weights = settings.fuse.weights
    search.limit = settings.search.candidates
    for one in STRATEGIES:
        if one.uses == "vectors":  # chunks that have one already are not better than the rest
            search.weights[one.name] *= parts.embedded
    search.query = _as_answer(search) if mode.hypothesis else _as_query(search)
    filters = (*search.conditions, *search.request.filters.conditions(parts.now))
    if written.strip() or not filters:  # otherwise a filter takes its place
        search.notices += search.query.notices
    search.conditions = (*filters, *search.query.conditions)
    search.embedded_text = search.query.text


def _as_query(search: SearchState) -> Query:
    """Read the query with its signs, and correct what nothing would match."""
    reader, analyzer = search.reader, search.parts.analyzer

    @cache
    def has_field(name: str) -> bool:
        return bool(len(reader.matching([Condition("field", name=name, sign="has")])))

    def beginning(prefix: str) -> Sequence[str]:
        return reader.vocabulary.beginning(fold_word(prefix), COMPLETIONS)

    known = Known(has_field, beginning, search.parts.now)
    return correct(understand(search.request.query, analyzer, known), reader, analyzer)


def _as_answer(search: SearchState) -> Query:
    """Take all words as they are: in an answer nothing is a sign."""
    written = search.request.query
    terms = tuple(search.parts.analyzer.query_terms(written))
    asked = any(map(str.isalnum, written))
    notices = () if asked else ("The hypothesis has no words to search for.",)
    return Query(written, written, terms, (), notices=notices)
