"""The label of a result (strong, likely or weak), the reason for it, and whether anything fits."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from dowse._model import Match, Query
from dowse._search.state import Candidate, SearchState
from dowse._text.matching import TermsOf, Wanted
from dowse._text.scripts import is_unspaced

_STRONG = 0.45  # the confidences at or above which a result is called so: see docs/quality.md
_LIKELY = 0.1
_EVEN = 0.5  # of a plain sigmoid, which says little
_FIRST = 5  # results that are looked at: whether there is a match must not depend on their number


def has_no_good_match(search: SearchState) -> bool:
    """Tell whether the query is out of domain, and none of the best results has all its words.

    A confidence that the user demands takes the place of this.
    """
    out_of_domain = search.domain is not None and search.domain.odds < 0
    if not out_of_domain or search.settings.threshold.min_confidence >= 0:
        return False
    words, first = (
        QueryWords(search.query, search.parts.analyzer.query_terms),
        search.candidates[:_FIRST],
    )
    return bool(first) and not any(
        one.stored.key in search.named or _words_in(one, words).complete for one in first
    )


def label(search: SearchState, candidate: Candidate, words: QueryWords) -> tuple[Match, str]:
    """Label a candidate, and give the reason."""
    listed = candidate.places and all(one.strategy == "listing" for one in candidate.places)
    if listed or not search.has_words:
        return "strong", "meets the filters"
    if name := search.named.get(candidate.stored.key):
        return "strong", f"exact {name.kind}"
    found = _words_in(candidate, words)
    match: Match = "weak"
    if search.fitted and not search.no_good_match:
        match = label_of(candidate.score)
    elif not search.no_good_match:
        # Nobody knows what such a score means, so only words can speak for a result.
        likely = found.complete or (search.hypothesis and candidate.score >= _EVEN)
        match = "likely" if likely else "weak"
    if search.hypothesis:
        return match, "close in meaning"
    return match, found.reason(place.strategy for place in candidate.places)


def label_of(confidence: float) -> Match:
    """Label a fitted confidence."""
    if confidence >= _STRONG:
        return "strong"
    return "likely" if confidence >= _LIKELY else "weak"


# ── The words of the query in a result ───────────────────────────────────────


def _words_in(candidate: Candidate, words: QueryWords) -> WordsFound:
    """Count the words in what a result is made of: its document's fields, headings and passages."""
    passages = [one.stored for one in (candidate, *candidate.others, *candidate.weaker)]
    texts = [
        *candidate.stored.document.fields.texts().values(),
        *dict.fromkeys(heading for one in passages for heading in one.chunk.header_path),
        *(one.text for one in passages),
    ]
    return words.found_in(texts)


class WordsFound(Struct, frozen=True):
    """How many words of a query a passage has."""

    found: int
    total: int  # words that say something; of several spellings of one word, one
    parts: bool = False  # there are terms of the query, be they a part of a word only

    @property
    def complete(self) -> bool:
        """Whether all of them are there."""
        return self.found == self.total > 0

    def reason(self, strategies: Iterable[str]) -> str:
        """Say why a passage was found that these strategies have ranked."""
        if not self.total:
            return ""
        if not self.found and self.parts:  # `getUserById` finds "user"
            return f"only parts of {'the word' if self.total == 1 else 'words'} found"
        if not self.found:
            named = set(strategies)
            other = "linked with a result, " if "graph" in named else ""
            return f"{'close in meaning, ' if 'semantic' in named else other}no word in common"
        if self.total == 1:
            return "word found"
        if self.complete:
            return "both words found" if self.total == 2 else f"all {self.total} words found"
        only = "only " if 2 * self.found < self.total else ""
        return f"{only}{self.found} of {self.total} words found"


class QueryWords:
    """The words of a query that a person would look for in a passage."""

    def __init__(self, query: Query, terms_of: TermsOf) -> None:
        self.wanted = Wanted(query.terms)  # what is looked for; it remembers the words it has seen
        self._words = _words_of(query, terms_of)
        self._terms_of = terms_of

    def found_in(self, texts: Iterable[str]) -> WordsFound:
        """Count the words that some texts have between them."""
        left, parts = self._words, False
        for text in texts:
            if not left:  # the rest need not be read
                break
            found = self.wanted.in_text(text, self._terms_of)
            left = [word for word in left if word.isdisjoint(found)]
            parts = parts or bool(found)
        return WordsFound(len(self._words) - len(left), len(self._words), parts)


def _words_of(query: Query, terms_of: TermsOf) -> list[frozenset[str]]:
    """Read the words of a query, each as the terms of which one is enough to find it."""
    searched, distinct = frozenset(query.terms), dict.fromkeys(map(frozenset, query.alternatives))
    grouped = frozenset[str]().union(*distinct)
    for word in query.text.split():
        terms = searched.intersection(terms_of(word)) - grouped
        if any(map(is_unspaced, word)):  # no blanks between its words: each term is one
            distinct |= dict.fromkeys(frozenset([term]) for term in sorted(terms))
        elif terms:
            # Of `auth-server` the whole counts: "server" alone is something else. `get_user` is
            # the same whole as `getUser`.
            whole = max(terms, key=lambda term: (len(term), term)).replace("_", "")
            distinct[frozenset(term for term in terms if term.replace("_", "") == whole)] = None
    words = list(distinct)
    # Those that OR joins are one: any of them is what was asked for.
    for condition in query.conditions:
        if condition.kind == "any" and not condition.negated:
            phrases = [one.values for one in condition.parts if one.kind == "phrase"]
            wanted = frozenset(term for values in phrases for term in values)
            joined = [word for word in words if not word.isdisjoint(wanted)]
            if len(joined) > 1:
                words = [word for word in words if word not in joined]
                words.append(frozenset[str]().union(*joined))
    return words
