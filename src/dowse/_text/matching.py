"""How names, values and terms are compared."""

from __future__ import annotations

import math
import operator
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from typing import Literal

from dowse._text.dates import period_of, read_date


def fold(text: str) -> str:
    """Return a text as it is compared."""
    return unicodedata.normalize("NFC", text).casefold()


def fold_name(text: str) -> str:
    """Return a title or heading as it is compared: without regard to punctuation and blanks, too.

    `#` stays, because C# is not C; so do symbols such as +.
    """
    folded = fold(unicodedata.normalize("NFKC", text))
    return " ".join("".join(map(_in_name, folded)).split()) or " ".join(folded.split())


@cache
def _in_name(sign: str) -> str:
    return " " if sign != "#" and unicodedata.category(sign).startswith("P") else sign


def fold_word(text: str) -> str:
    """Fold a word for the vocabulary: to lower case, which keeps its letters (`ß`) apart."""
    return unicodedata.normalize("NFC", text).lower()


# ── The values of frontmatter fields ───────────────────────────────────────────

Sign = Literal["=", "<", "<=", ">", ">=", "has", "empty"]
"""How a value is compared: `has` takes any value, `empty` one that says nothing."""

_NUMBER = re.compile(r"[+-]?(?:\d{1,15}(?:[,_]\d{3})*)(?:\.\d{1,15})?%?", re.ASCII)
_YES, _NO = frozenset({"true", "yes"}), frozenset({"false", "no"})
_ORDER: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def matcher(sign: Sign, wanted: Sequence[str]) -> Callable[[str], bool]:
    """Say whether a value meets a comparison with any of the wanted ones; all are folded."""
    if sign == "has":
        return lambda _: True
    if sign == "empty":
        return lambda written: not written
    tests = [_equal_to(one) if sign == "=" else _ordered(sign, one) for one in wanted]
    return lambda written: any(test(written) for test in tests)


def _equal_to(wanted: str) -> Callable[[str], bool]:
    """Match a value that has a text as whole words; `draft*` matches one that begins so."""
    if wanted.endswith("*") and len(wanted) > 1:
        return lambda written: written.startswith(wanted[:-1])
    if wanted in _YES | _NO:
        return (_YES if wanted in _YES else _NO).__contains__
    number, period = _number(wanted), period_of(wanted)
    words = re.compile(rf"(?<!\w){re.escape(wanted)}(?!\w)") if wanted else None

    def test(written: str) -> bool:
        if written == wanted:
            return True
        if number is not None and (found := _number(written)) is not None:
            return found == number
        if period is not None and (moment := _moment(written)) is not None:
            return period[0] <= moment < period[1]
        return words is not None and words.search(written) is not None

    return test


def _ordered(sign: Sign, wanted: str) -> Callable[[str], bool]:
    number, period, holds = _number(wanted), period_of(wanted), _ORDER[sign]

    def test(written: str) -> bool:
        if number is not None and (found := _number(written)) is not None:
            return holds(found, number)
        if period is not None and (moment := _moment(written)) is not None:
            is_before = moment < period[0 if sign in {"<", ">="} else 1]
            return is_before == (sign in {"<", "<="})
        if number is not None or period is not None:
            return False
        return bool(written) and holds((written > wanted) - (written < wanted), 0)

    return test


def _number(text: str) -> float | None:
    if not _NUMBER.fullmatch(text):
        return None
    return float(text.rstrip("%").replace(",", "").replace("_", ""))


def _moment(written: str) -> float | None:
    return read_date(written) if written[:1].isalnum() else None


# ── The terms of a query in a stretch of text ──────────────────────────────────

TermsOf = Callable[[str], Collection[str]]
"""The analyzer's terms of a stretch of text."""


class Wanted:
    """The terms of a query; one that ends with `*` stands for every word that begins so.

    It remembers what it was asked, since the words of a text recur.
    """

    def __init__(self, terms: Collection[str]) -> None:
        self.terms = frozenset(terms)
        self._prefixes = {term: term[:-1] for term in terms if len(term) > 1 and term[-1] == "*"}
        self._met: dict[str, frozenset[str]] = {}  # by a term of a text
        self._words: dict[str, frozenset[str]] = {}  # by a word of a text that has some
        self._seen: set[str] = set()  # all words
        self._looser: dict[frozenset[str], Wanted] = {}  # by the terms that were missing

    def among(self, found: Iterable[str]) -> frozenset[str]:
        """Return those of the query's terms that are among the terms of a stretch."""
        if not self._prefixes:
            return self.terms.intersection(found)
        return frozenset[str]().union(*map(self._meant_by, found))

    def in_words(self, words: set[str], terms_of: TermsOf) -> dict[str, frozenset[str]]:
        """Return those of some words that have terms of the query, with these terms."""
        for word in words - self._seen:
            if hits := self.among(terms_of(word)):
                self._words[word] = hits
        self._seen |= words
        return {word: self._words[word] for word in self._words.keys() & words}

    def _meant_by(self, found: str) -> frozenset[str]:
        met = self._met.get(found)
        if met is None:
            begun = (term for term, prefix in self._prefixes.items() if found.startswith(prefix))
            met = self._met[found] = self.terms.intersection([found]).union(begun)
        return met

    def loosened(self, missing: Collection[str]) -> Wanted:
        """Return the same, but terms that were met nowhere may also be the beginning of a word."""
        key = frozenset(missing)
        if key not in self._looser:
            # What is shorter begins too many words.
            prefixes = {term: term for term in key if len(term) >= 4}
            loose = self._looser[key] = Wanted(self.terms)
            loose._prefixes = prefixes | self._prefixes
        return self._looser[key]


# ── Rarity ──────────────────────────────────────────────────────────────────────


def rarity(held: int, size: int) -> float:
    """Return BM25's weight of a term in `held` of `size` chunks (Robertson and Zaragoza, 2009).

    A term that nothing holds weighs most.
    """
    return math.log(1 + (max(size, held) - held + 0.5) / (held + 0.5))
