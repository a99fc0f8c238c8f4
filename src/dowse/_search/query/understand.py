"""The first stage of a search: what the query means, and which strategies are to rank."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from dowse._model import Condition, Query
from dowse._search.query.meaning import COMPLETIONS, Known
from dowse._search.query.query import understand
from dowse._search.query.rewrite import rewrite
from dowse._search.stages.strategies import mode_of, strategies_wanted
from dowse._search.state import SearchState
from dowse._text.fold import fold_word
from dowse._text.scripts import latin_share


def understand_query(search: SearchState) -> None:
    """Tells words, phrases and conditions apart, and corrects what nothing would match."""
    search.hypothesis = mode_of(search).hypothesis
    search.strategies = strategies_wanted(search)
    search.query = _as_answer(search) if search.hypothesis else _as_query(search)
    if search.written.strip() or not search.demanded:  # otherwise a filter takes its place
        search.notices += search.query.notices
    search.embedded_text = search.query.text
    search.latin = latin_share(search.query.text)


def _as_query(search: SearchState) -> Query:
    analyzer = search.parts.analyzer
    return rewrite(understand(search.written, analyzer, _known(search)), search.reading, analyzer)


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
    terms = tuple(search.parts.analyzer.query_terms(search.written))
    asked = any(map(str.isalnum, search.written))
    notices = () if asked else ("The hypothesis holds no word to search for.",)
    return Query(search.written, search.written, terms, (), notices=notices)
