"""How well a candidate fits its query, and why, in words."""

from __future__ import annotations

from dowse._model import Match
from dowse._search.confidence.match import match_of
from dowse._search.confidence.reason import QueryWords, WordsFound
from dowse._search.state import Candidate, SearchState

_FIRST = 5  # results that are looked at: whether there is a match must not depend on their number


def query_words(search: SearchState) -> QueryWords:
    """The words of the query that a person would look for."""
    return QueryWords(search.query, search.parts.analyzer.query_terms)


def has_no_good_match(search: SearchState) -> bool:
    """Whether even the best results hardly fit: all are far, and none has all words of the query.

    A confidence that the user demands takes the place of this.
    """
    far = search.near is not None and search.near.odds < 0
    if not far or search.settings.threshold.min_confidence >= 0:
        return False
    words, first = query_words(search), search.candidates[:_FIRST]
    return bool(first) and not any(
        one.stored.key in search.named or _words_in(one, words).complete for one in first
    )


def verdict(search: SearchState, candidate: Candidate, words: QueryWords) -> tuple[Match, str]:
    """The word for a candidate, and the reason."""
    if not search.has_words or _is_listed(candidate):
        return "strong", "meets the filters"
    found = _words_in(candidate, words)
    match = match_of(search, candidate, complete=found.complete)
    name = search.named.get(candidate.stored.key)
    if name is not None:
        return match, f"exact {name.kind}"
    if search.hypothesis:
        return match, "close in meaning"
    return match, found.reason(place.strategy for place in candidate.places)


def _is_listed(candidate: Candidate) -> bool:
    """Whether only the conditions of the query have found it."""
    return bool(candidate.places) and all(one.strategy == "listing" for one in candidate.places)


def _words_in(candidate: Candidate, words: QueryWords) -> WordsFound:
    """The words in what the result is made of: its document's fields, headings and passages."""
    passages = [one.stored for one in (candidate, *candidate.others, *candidate.weaker)]
    texts = [
        *candidate.stored.document.fields.texts().values(),
        *dict.fromkeys(heading for one in passages for heading in one.chunk.header_path),
        *(one.text for one in passages),
    ]
    return words.found_in(texts)
