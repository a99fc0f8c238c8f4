"""An answer in the documents' own words: the sentences of the results that answer best."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from dowse.answer.options import AnswerOptions
from dowse.answer.prose import sentences
from dowse.text.matching import Wanted
from dowse.text.sentences import is_finished
from dowse.types import Answer, Hit, Sentence

TermsOf = Callable[[str], Collection[str]]
"""The analyzer's terms of a text."""

Similarity = Callable[[Sequence[str]], Sequence[float]]
"""The cosine of each sentence to the query."""

_WORDS, _MEANING, _RESULT = 0.45, 0.45, 0.1  # what words, meaning and the result's score weigh
_HEADING = 0.3  # what a term weighs that stands only in the headings above a sentence
_LEAD_IN = 0.5  # what is left of the score of "There are three ways:"
_FRAGMENT = 0.8  # and of a list item without a full stop; cells and commands have a colon
_RELATED = 0.4  # cosine from which a sentence touches a query with which it shares no word
_WORTH = 0.5  # share of the best score below which a sentence would only dilute the answer
_ALIKE = 0.7  # share of common words from which two sentences say the same
_MOST_READ = 20_000  # characters of one result


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A sentence that may become part of the answer."""

    text: str
    hit: int  # place of its result, from 1
    place: int  # among all sentences, in the order of results and text
    met: frozenset[str]  # terms of the query in the sentence
    above: frozenset[str]  # those only in the title and headings above it
    share: float  # score of its result as a share of the best result's

    @property
    def length(self) -> int:
        """Characters that it takes in the answer, its citation included."""
        return len(f"{self.text} [{self.hit}]")

    @property
    def finished(self) -> float:
        """How much of its score it keeps: little of a lead-in, most of a mere fragment."""
        if self.text.endswith((":", "：")):
            return _LEAD_IN
        whole = is_finished(self.text) or ": " in self.text
        return 1.0 if whole else _FRAGMENT


def extract_answer(
    hits: Sequence[Hit],
    terms: Collection[str],
    terms_of: TermsOf,
    similarity: Similarity | None,
    options: AnswerOptions,
) -> Answer | None:
    """The sentences that answer best, in the order of the results, each with its citation.

    None when no sentence shares a word with the query or comes near it in meaning.
    """
    candidates = _touching(hits, Wanted(terms), terms_of)
    by_words = _scores_by_words(candidates)
    if similarity is None or not options.candidates:
        scored = [(by_words[one.place], one) for one in candidates if one.met or one.above]
    else:
        scored = _scored_by_meaning(candidates, by_words, similarity, options.candidates)
    scored.sort(key=lambda pair: (-pair[0], pair[1].place))
    picked = sorted(_pick(scored, options), key=lambda one: one.place)
    return _answer([Sentence(one.text, one.hit) for one in picked]) if picked else None


def _touching(hits: Sequence[Hit], wanted: Wanted, terms_of: TermsOf) -> list[_Candidate]:
    """All sentences with the terms they hold; a term met nowhere may begin a longer word."""
    found = _candidates(hits, wanted, terms_of)
    missing = wanted.terms.difference(*(one.met | one.above for one in found))
    return _candidates(hits, wanted.loosened(missing), terms_of) if missing else found


def _candidates(hits: Sequence[Hit], wanted: Wanted, terms_of: TermsOf) -> list[_Candidate]:
    best = max((hit.score for hit in hits), default=0.0) or 1.0
    found: dict[str, _Candidate] = {}
    for rank, hit in enumerate(hits, 1):
        above = wanted.among(terms_of("\n".join((hit.title, *hit.header_path))))
        for text in sentences(hit.text[:_MOST_READ]):
            if (key := _essence(text)) and key not in found:
                met = frozenset(wanted.among(terms_of(text)))
                rest = frozenset(above - met)
                found[key] = _Candidate(text, rank, len(found), met, rest, hit.score / best)
    return list(found.values())


def _essence(text: str) -> str:
    """What two sentences share that say the same in the same words; "" for what says nothing."""
    words = re.findall(r"\w+", text.casefold())
    essence = " ".join(words)
    return essence if len(words) > 1 or len(essence.encode("utf-8", "replace")) >= 8 else ""


# ── Scores ───────────────────────────────────────────────────────────────────


def _scores_by_words(candidates: Sequence[_Candidate]) -> list[float]:
    coverage = _coverages(candidates)
    return [
        one.finished * ((1 - _RESULT) * coverage[one.place] + _RESULT * one.share)
        for one in candidates
    ]


def _scored_by_meaning(
    candidates: Sequence[_Candidate], by_words: list[float], similarity: Similarity, most: int
) -> list[tuple[float, _Candidate]]:
    """Scores with the cosine in them, of the candidates that promise most by their words."""
    chosen = sorted(candidates, key=lambda one: (-by_words[one.place], one.place))[:most]
    cosines = similarity([one.text for one in chosen]) if chosen else []
    coverage = _coverages(candidates)
    return [
        (one.finished * (_WORDS * coverage[one.place] + _MEANING * near + _RESULT * one.share), one)
        for one, near in zip(chosen, (max(0.0, float(cosine)) for cosine in cosines), strict=True)
        if one.met or one.above or near >= _RELATED
    ]


def _coverages(candidates: Sequence[_Candidate]) -> list[float]:
    """Which share of the query each sentence holds, 0 to 1; rare terms are the larger part."""
    rarity = _rarity(candidates)
    total = sum(rarity.values()) or 1.0
    return [
        (_sum(rarity, one.met) + _HEADING * _sum(rarity, one.above)) / total for one in candidates
    ]


def _rarity(candidates: Sequence[_Candidate]) -> dict[str, float]:
    often = Counter(term for one in candidates for term in one.met)
    often.update({term for one in candidates for term in one.above})
    return {term: math.log(1 + len(candidates) / count) for term, count in sorted(often.items())}


def _sum(rarity: dict[str, float], terms: Collection[str]) -> float:
    # In a fixed order: sums of floating point numbers depend on it in the last bit.
    return sum(rarity[term] for term in sorted(terms))


# ── Choice ───────────────────────────────────────────────────────────────────


def _pick(scored: Sequence[tuple[float, _Candidate]], options: AnswerOptions) -> list[_Candidate]:
    picked: list[_Candidate] = []
    room = options.max_chars
    for score, one in scored:
        if len(picked) == options.sentences or score < _WORTH * scored[0][0]:
            break
        fitting = one if picked else _cut_to(one, room)
        needed = fitting.length + bool(picked)
        if needed <= room and not any(_alike(one.text, other.text) for other in picked):
            picked.append(fitting)
            room -= needed
    return picked


def _cut_to(one: _Candidate, room: int) -> _Candidate:
    if one.length <= room:
        return one
    start = one.text[: room - (one.length - len(one.text)) - 2]
    whole_words = start.rpartition(" ")[0]
    kept = whole_words if len(whole_words) > len(start) // 2 else start
    return replace(one, text=f"{kept} …")


def _alike(one: str, other: str) -> bool:
    first, second = set(one.casefold().split()), set(other.casefold().split())
    return len(first & second) >= _ALIKE * len(first | second)


def _answer(chosen: Sequence[Sentence]) -> Answer:
    return Answer(
        text=" ".join(f"{sentence.text} [{sentence.hit}]" for sentence in chosen),
        sentences=tuple(chosen),
        sources=tuple(dict.fromkeys(sentence.hit for sentence in chosen)),
        written_by="",
    )
