"""From a fused score, whose size says little, to a confidence and a label.

Logistic regression says how often such a result was judged to answer its query. It was fitted on
the first five documents of judged queries on five collections and on small parts of them, and of as
many queries that have no answer there: queries of other collections, nonsense, and queries whose
answers were taken out. The fused score carries the evidence of words and meaning. Being the first
result and its lead, how much less the score of another result is, a name that is the query, the
number of chunks (in a small vault the best result is more often right) and how likely the query is
about these documents at all add to that. Judgments name about one document per query, so the
confidence is cautious. benchmarks/results/confidence.md has the reliability.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from functools import cache
from operator import mul
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from dowse._model import ChunkKey, Match, Matrix, ModelFit, Query, Vector
from dowse._search.state import Candidate, SearchState
from dowse._text.matching import TermsOf, Wanted
from dowse._text.scripts import is_unspaced, readable_share
from dowse._util.arrays import np
from dowse._util.bounds import Options
from dowse._util.files import read_small, replace_file
from dowse._util.messages import listed


class CalibrateOptions(Options, frozen=True):
    """How a fused score becomes a confidence between 0 and 1."""

    enabled: Annotated[bool, "Turn fused scores into confidences."] = True
    method: Annotated[
        Literal["fitted", "sigmoid"],
        "Fitted on judged collections, where that was done for the model, or a plain sigmoid.",
    ] = "fitted"
    midpoint: Annotated[
        float,
        Meta(ge=0, le=1000),
        "Fused score at which the sigmoid is 0.5; 0: a value that suits the method of fusion.",
    ] = 0.0
    steepness: Annotated[
        float,
        Meta(ge=0, le=1_000_000),
        "How steeply the sigmoid rises there; 0: a value that suits the method of fusion.",
    ] = 0.0


# ── The model ────────────────────────────────────────────────────────────────


class Evidence(Struct, frozen=True):
    """What speaks for a result, apart from its own score."""

    lead: float = 0.0  # of the first result over the next document
    first: bool = False  # it is the first result
    behind: float = 0.0  # how much less its score is than that of the first result
    named: bool = False  # its title, an alias or a heading is the query
    chunks: int = 1  # in the index
    domain: float = 0.0  # log-odds that the query is about these documents


class Fit(Struct, frozen=True):
    """The weights of the evidence for one way of ranking."""

    score: float  # of the fused score
    lead: float
    first: float
    behind: float
    named: float
    chunks: float  # of the logarithm of their number, base 10
    constant: float
    domain: float


_WORDS = Fit(0.8, 7.06, 0.79, -5.89, 1.72, -0.31, -4.11, 0.91)
FITS: Mapping[tuple[str, ...], Fit] = {
    ("semantic", "keyword"): Fit(2.05, 14.49, 0.46, -15.45, 1.36, -0.33, -4.05, 0.79),
    ("semantic",): Fit(4.61, 23.12, 0.21, -26.54, 2.29, -0.39, -5.57, 0.7),
    ("keyword",): _WORDS,
}
"""By the strategies that rank."""

ALONE = 0.15
"""The lead of a document that was found alone."""

DEFAULT = ModelFit("dowse-docs-2")
"""The model that ships: all weights here are for its cosines."""

_LEAST, _MOST = -2.0, 3.0  # log-odds of the domain that are lower or higher count as these
_SIGMOID = "a plain sigmoid of the fused score"
_JUDGED = "confidence fitted on judged collections"
_OWN = "confidence fitted on the documents of this project"


def confidence(score: float, evidence: Evidence, fit: Fit) -> float:
    """Estimate how likely a result answers the query; rises with its fused score."""
    logit = (
        fit.score * score
        + fit.lead * evidence.lead
        + fit.first * evidence.first
        + fit.behind * evidence.behind
        + fit.named * evidence.named
        + fit.chunks * math.log10(max(1, evidence.chunks))
        + fit.constant
        + fit.domain * min(_MOST, max(_LEAST, evidence.domain))
    )
    return 0.5 + 0.5 * math.tanh(logit / 2)


def sigmoid(score: float, midpoint: float, steepness: float) -> float:
    """Compute the sigmoid that is one half at the midpoint."""
    return 0.5 + 0.5 * math.tanh(steepness * (score - midpoint) / 2)  # never overflows


def give_confidence(search: SearchState) -> None:
    """Turn fused scores into confidences, or only keep them between 0 and 1."""
    options = search.settings.calibrate
    fit, model = None, None
    if options.enabled and options.method == "fitted":
        # Words decide where they rank alone, or nearly so: where there are hardly vectors to use.
        no_vectors = search.vector is None or readable_share(search.query.text, search.scripts) < 1
        words_decide = no_vectors and "keyword" in search.strategies
        fit, model = _choose_fit(search, words_decide=words_decide)
        search.domain = _domain(search, None if words_decide else model)
    else:
        search.calibration = _SIGMOID if options.enabled else "fused scores as they are"
    search.fitted = fit is not None
    shift, cosine = 0.0, _best_score(search, "semantic")
    if model is not None and cosine is not None:
        # What the cosines of another model than the default one change in all fused scores. The
        # best cosine decides for all, so that the order stays.
        weights = [search.weights.get(one.strategy, 1.0) for one in search.rankings]
        share = search.weights.get("semantic", 1.0) / (math.fsum(weights) or 1.0)
        shift = share * (model.mapped(cosine) - cosine)
    for candidate, evidence in zip(search.candidates, _evidence(search), strict=True):
        if not options.enabled:
            score = min(1.0, max(0.0, candidate.score))
        elif fit is not None:
            score = confidence(candidate.score + shift, evidence, fit)
        else:
            midpoint, steepness = search.settings.fuse.sigmoid
            score = sigmoid(
                candidate.score, options.midpoint or midpoint, options.steepness or steepness
            )
        candidate.rescore("calibrate", score)


def _choose_fit(search: SearchState, *, words_decide: bool) -> tuple[Fit | None, ModelFit | None]:
    """Choose the fit for this way of ranking, and that of the model; note what the scores are."""
    embedder, model, name = search.parts.embedder, None, ""
    if search.vector is not None and embedder is not None:
        # The model is asked late: where its weights are missing, it may not even know its name.
        name = model_name(embedder.model.key)
        model = next(
            (one for one in (DEFAULT, search.parts.fit) if one and one.model == name), None
        )
    fusion, search.calibration = search.settings.fuse, _SIGMOID
    fused = (fusion.method, fusion.normalise) == ("convex", "ceiling") and not search.hypothesis
    if not fused or search.strategies not in FITS:
        return None, model
    if words_decide:
        search.calibration = _JUDGED
        return _WORDS, model
    if model is None:
        search.calibration += f"; none was fitted for the model {name}"
        return None, model
    search.calibration = _JUDGED if model is DEFAULT else _OWN
    return FITS[search.strategies], model


def model_name(key: str) -> str:
    """Return the part of a model's key that names it, without revision and dimensions."""
    return key.rsplit("/", 2)[0] if key.count("/") > 1 else key


def _evidence(search: SearchState) -> list[Evidence]:
    """Gather what speaks for each candidate."""
    candidates, domain = search.candidates, search.domain.odds if search.domain else 0.0
    if not candidates:
        return []
    first, chunks = candidates[0], search.reader.keyword.size
    named = {one.document for one in candidates if one.stored.key in search.named}
    best = max(one.score for one in candidates)
    following = next((one for one in candidates if one.document != first.document), None)
    lead = first.score - following.score if following else ALONE
    return [
        Evidence(
            lead if one is first else 0.0,
            one is first,
            best - one.score,
            one.document in named,
            chunks,
            domain,
        )
        for one in candidates
    ]


def _best_score(search: SearchState, strategy: str) -> float | None:
    """Return the best raw score of a strategy among the candidates."""
    places = (place for one in search.candidates for place in one.places)
    return max((place.score for place in places if place.strategy == strategy), default=None)


# ── Out of domain ────────────────────────────────────────────────────────────
#
# Whether the documents are about the query at all. The nearest passage counts, how many passages
# there are (among more of them, one is near by chance), how near the query is to other
# documentation, and how usual its words are there and here. Fitted like the confidence, on good
# answers against queries of other collections and nonsense, so that 1 % of the good answers are
# called out of domain. benchmarks/results/confidence.md has the tables, and what else was tried.

_MOST_TERMS = 8
_BY_MEANING = (44.85, -1.43, -11.94, 1.96, -16.19)  # of the evidence in domain_by_meaning, in order
_BY_WORDS = (9.46, 6.7, -0.46, 3.11, -3.97)  # where words rank alone


class Domain(Struct, frozen=True):
    """The evidence for or against the documents being about the query."""

    evidence: tuple[float, ...]
    odds: float  # the log-odds that they are; below 0 the query is out of domain


def domain_by_meaning(cosine: float, chunks: int, background: float, usual: float) -> Domain:
    """Judge a query whose nearest passage has this cosine."""
    evidence = (cosine, math.log10(max(1, chunks)), background, usual, 1.0)
    return Domain(evidence, math.fsum(map(mul, evidence, _BY_MEANING)))


def domain_by_words(share: float, terms: int, chunks: int, usual: float) -> Domain:
    """Judge a query whose best passage has this share of its words."""
    length = min(_MOST_TERMS, terms) / _MOST_TERMS
    evidence = (share, length, math.log10(max(1, chunks)), usual, 1.0)
    return Domain(evidence, math.fsum(map(mul, evidence, _BY_WORDS)))


def _domain(search: SearchState, fit: ModelFit | None) -> Domain | None:
    """Judge the query; without the fit of a model, words decide. None where nothing can be said."""
    if not search.candidates or not search.has_words or search.hypothesis:
        return None
    chunks = search.reader.keyword.size
    if fit is not None and (cosine := _best_score(search, "semantic")) is not None:
        vector = search.vector if fit is DEFAULT else None
        background = USUAL_COSINE if vector is None else background_cosine(vector)
        return domain_by_meaning(fit.mapped(cosine), chunks, background, _usual(search))
    share = _best_score(search, "keyword")
    if share is None and readable_share(search.query.text, search.scripts) < 1:
        return domain_by_words(0.0, len(set(search.query.terms)), chunks, _usual(search))
    most = max((one.ceiling for one in search.rankings if one.strategy == "keyword"), default=0.0)
    if share is None or not most or (search.vector is not None and fit is None):
        return None
    return domain_by_words(
        min(1.0, share / most), len(set(search.query.terms)), chunks, _usual(search)
    )


def _usual(search: SearchState) -> float:
    """Compare the words of the query with those of other documentation."""
    query, stored = search.query, [one.stored for one in search.candidates]
    held = search.frequencies("body", [term for term in query.terms if term not in query.put_in])
    if search.conditions:
        # A term is unknown that nothing has that meets the conditions. To look each of them up
        # would take as long as the search. So what was found is looked at, and the last letter of
        # a term, which a stem may change, is left out.
        titles = {one.document.fields.title for one in stored}
        headings = {name for one in stored for name in one.chunk.header_path}
        found = "\n".join((*(titles | headings), *(one.text for one in stored))).casefold()
        held = {term: n if term[:-1] in found else 0 for term, n in held.items()}
    length = sum(len(one.text) for one in stored) / len(stored)
    return frequency_ratio(held, search.reader.keyword.size, length, search.parts.analyzer.stamp)


# ── Other documentation, which ships with dowse ──────────────────────────────
#
# A query that was meant for other documents is often nearer to them than to anything here, and has
# words that are usual there and rare here. background.npy has 2,000 passages of other documentation
# as vectors of the shipped model, background.json how many of 50,000 passages have a word.
# docs/models.md says what they are of; training/elsewhere.py and training/familiar.py make them.

LEAST_COSINE = 0.57
"""A query that is farther from everything counts as being so near: nonsense is near nothing."""

USUAL_COSINE = 0.61
"""How near queries are on average, for models whose vectors cannot be compared with these."""

_NEAREST = 5
_PASSAGES = 100  # of other documentation that count as if they were here: few chunks say little
_MOST_RATIO = 2.0  # of one word, so that no word decides alone


def background_cosine(vector: Vector) -> float:
    """Average the cosines of a query of the shipped model with the nearest background passages."""
    # Row by row: a product of matrices would wait for threads that it does not need.
    cosines = np.partition(np.vecdot(_background_vectors(), vector), -_NEAREST)
    return max(LEAST_COSINE, float(cosines[-_NEAREST:].mean()))


@cache
def _background_vectors() -> Matrix:
    vectors: Matrix = np.load(Path(__file__).with_name("background.npy")).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


class BackgroundTerms(Struct, frozen=True):
    """In how many passages a term occurs, for the terms that many of them have."""

    passages: int
    length: float  # characters of a passage, on average
    analyzer: dict[str, object]  # the settings that the terms depend on
    terms: dict[str, int]


@cache
def background_terms() -> BackgroundTerms:
    """Read what was counted in other documentation."""
    return msgspec.json.decode(
        Path(__file__).with_name("background.json").read_bytes(), type=BackgroundTerms
    )


def frequency_ratio(
    held: Mapping[str, int], chunks: int, length: float, analyzer: Mapping[str, object]
) -> float:
    """Tell how much more usual the terms of a query are here than elsewhere; below 0, less usual.

    `held` says in how many of the `chunks`, which are about so long, each term occurs. Terms that
    were made with other settings than those counted are as usual here as elsewhere.
    """
    counted = background_terms()
    if not held or not counted.analyzer.items() <= analyzer.items():
        return 0.0
    if not any(here or term in counted.terms for term, here in held.items()):
        return -_MOST_RATIO  # nobody knows any of these words
    passages = chunks * length / counted.length  # a longer one has more words
    ratios = []
    for term, here in held.items():
        there = counted.terms.get(term, 0)
        usual = (there + 1) / counted.passages
        share = (here + _PASSAGES * usual) / (passages + _PASSAGES)
        ratio = math.log(share / usual) if here or there else 0.0  # 0 where nobody knows it
        ratios.append(max(-_MOST_RATIO, min(_MOST_RATIO, ratio)))
    return math.fsum(ratios) / len(held)


# ── What was fitted for another model, in the project's folder ───────────────

_FILE = "confidence.json"


def read_fit(folder: Path) -> ModelFit | None:
    """Read the fit of the project's model; None when there is none that can be read."""
    try:
        fit = msgspec.json.decode(read_small(folder / _FILE), type=ModelFit)
    except (OSError, ValueError, RecursionError):
        return None
    return fit if math.isfinite(fit.scale) and math.isfinite(fit.shift) else None


def write_fit(folder: Path, fit: ModelFit) -> None:
    """Keep a fit in the project's folder."""
    replace_file(folder / _FILE, msgspec.json.encode(fit))


# ── The label of a result ───────────────────────────────────────────────────────


_STRONG = 0.55  # the confidences at or above which a result is called so: see docs/quality.md
_POSSIBLE = 0.1
_EVEN = 0.5  # of a plain sigmoid, which says little
_NAMED = {
    "same title": "same words as the title",
    "same file": "same words as the file name",
}
_FIRST = 5  # results that are looked at: whether there is a match must not depend on their number


def has_no_good_match(search: SearchState) -> bool:
    """Tell whether the query is out of domain, and none of the best results has all its words.

    A confidence that the user demands takes the place of this.
    """
    if (
        search.domain is None
        or search.domain.odds >= 0
        or search.settings.threshold.min_confidence >= 0
    ):
        return False
    words = words_of(search)
    first = search.candidates[:_FIRST]
    return bool(first) and not any(
        one.stored.key in search.named or words_in(one, words).complete for one in first
    )


def label(search: SearchState, candidate: Candidate, found: WordsFound) -> tuple[Match, str]:
    """Label a candidate in which these words were found, and give the reason."""
    listed = candidate.places and all(one.strategy == "listing" for one in candidate.places)
    if listed or not search.has_words:
        return "strong", "meets the filters"
    if name := search.named.get(candidate.stored.key):
        return "strong", _NAMED.get(name.kind, f"exact {name.kind}")
    match: Match = "weak"
    if search.fitted and not search.no_good_match:
        match = label_of(candidate.score)
    elif not search.no_good_match:
        # Nobody knows what such a score means, so only words can speak for a result.
        possible = found.complete or (search.hypothesis and candidate.score >= _EVEN)
        match = "possible" if possible else "weak"
    if found.lacks_rarest:  # the query turns on it: "export to Kindle" is not about export to PDF
        match = "possible" if match == "strong" else "weak"
    if search.hypothesis:
        return match, "close in meaning"
    counted = (one.strategy for one in candidate.places if search.weights.get(one.strategy))
    return match, found.reason(counted)


def label_of(confidence: float) -> Match:
    """Label a fitted confidence."""
    if confidence >= _STRONG:
        return "strong"
    return "possible" if confidence >= _POSSIBLE else "weak"


# ── The words of the query in a result ───────────────────────────────────────


def words_of(search: SearchState) -> QueryWords:
    """Return the words of the query of a search."""
    if search.words is None:
        held = search.frequencies("body", search.query.terms)
        # A possible answer is the user's guess: that a word of it is not there says nothing.
        size = 0 if search.hypothesis else search.reader.keyword.size
        search.words = QueryWords(search.query, search.parts.analyzer.query_terms, held, size)
    return search.words


def words_in(candidate: Candidate, words: QueryWords) -> WordsFound:
    """Look for the words in a result, once: in its document's fields, headings and passages."""
    if (known := words.found.get(candidate.stored.key)) is not None:
        return known
    passages = [one.stored for one in (candidate, *candidate.others, *candidate.weaker)]
    texts = [
        *candidate.stored.document.fields.texts().values(),
        *dict.fromkeys(heading for one in passages for heading in one.chunk.header_path),
        *(one.text for one in passages),
    ]
    found = words.found[candidate.stored.key] = words.found_in(texts)
    return found


class WordsFound(Struct, frozen=True):
    """How many words of a query a passage has."""

    found: int
    total: int  # words that say something; of several spellings of one word, one
    parts: bool = False  # there are terms of the query, be they a part of a word only
    without: tuple[str, ...] = ()  # the key words that are not there, as written
    lacks_rarest: bool = False  # the rarest of all words is one of these

    @property
    def complete(self) -> bool:
        """Whether all of them are there."""
        return self.found == self.total > 0

    def reason(self, strategies: Iterable[str]) -> str:
        """Say why a passage was found that these strategies have ranked, and what it lacks."""
        lacking = f"without {listed(self.without)}" if self.found and self.without else ""
        return ", ".join(filter(None, (self._found(strategies), lacking)))

    def _found(self, strategies: Iterable[str]) -> str:
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


_EDGES = re.compile(r"\A\W+|\W+\Z")
# Words that ask, or that could be said of anything: no passage lacks them.
_COMMON = """
    actually anyone anything best big bigger biggest call called could deep different difference do
    does easily easy everything exactly explain far fast find first found give go good great happen
    happened happens help high instead keep kind large larger largest latest let like little long
    longer look make making many mean meaning means name need new number often old one people please
    possible purpose reason right say says see seen show small someone something sort tell thing
    things time try two use used useful using want way ways work works
"""
_ASKING = frozenset(_COMMON.split())
_KEY_SHARE, _ALWAYS_RARE = 0.02, 3  # a word is rare in this share of the passages, or so few
_MOST_MISSING = 3  # words that a result is said to be without


class QueryWords:
    """The words of a query that a person would look for in a passage."""

    def __init__(
        self, query: Query, terms_of: TermsOf, held: Mapping[str, int] | None = None, size: int = 0
    ) -> None:
        """Take the words; `held` says in how many of the `size` passages each term occurs."""
        self.wanted = Wanted(query.terms)  # what is looked for; it remembers the words it has seen
        self.found: dict[ChunkKey, WordsFound] = {}  # in the results that were looked at
        self._terms_of = terms_of
        # Of each word the terms of which one is enough to find it, and how it is written.
        searched = frozenset(query.terms)
        words = dict.fromkeys(map(frozenset, query.alternatives), "")
        grouped = frozenset[str]().union(*words)
        for word in query.text.split():
            terms = searched.intersection(terms_of(word)) - grouped
            if any(map(is_unspaced, word)):  # no blanks between its words: each term is one
                words |= dict.fromkeys((frozenset([term]) for term in sorted(terms)), "")
            elif terms:
                # Of `auth-server` the whole counts: "server" alone is something else. `get_user` is
                # the same whole as `getUser`.
                whole = max(terms, key=lambda term: (len(term), term)).replace("_", "")
                same = frozenset(term for term in terms if term.replace("_", "") == whole)
                words.setdefault(same, _EDGES.sub("", word))
        # Those that OR joins are one: any of them is what was asked for.
        for condition in query.conditions:
            if condition.kind == "any" and not condition.negated:
                wanted = {t for one in condition.parts if one.kind == "phrase" for t in one.values}
                joined = [word for word in words if not word.isdisjoint(wanted)]
                if len(joined) > 1:
                    words = {one: text for one, text in words.items() if one not in joined}
                    words[frozenset[str]().union(*joined)] = ""
        self._words = words
        held = held or {}
        self._held = {word: max(held.get(term, 0) for term in word) for word in words}
        rare = max(_ALWAYS_RARE, _KEY_SHARE * size)
        self.key = {  # the words that the query turns on: rare in the index, or unknown to it
            word: text
            for word, text in words.items()
            if size and text and self._held[word] <= rare and text.casefold() not in _ASKING
        }

    def found_in(self, texts: Iterable[str]) -> WordsFound:
        """Count the words that some texts have between them."""
        left, parts = list(self._words), False
        for text in texts:
            if not left:  # the rest need not be read
                break
            if text.isascii():  # a blank ends every word, so each can be looked up by itself
                met = self.wanted.in_words(set(text.split()), self._terms_of)
                found = frozenset[str]().union(*met.values())
            else:
                found = self.wanted.among(self._terms_of(text))
            left = [word for word in left if word.isdisjoint(found)]
            parts = parts or bool(found)
        missing = sorted((word for word in left if word in self.key), key=self._held.__getitem__)
        return WordsFound(
            len(self._words) - len(left),
            len(self._words),
            parts,
            tuple(self.key[word] for word in missing[:_MOST_MISSING]),
            bool(missing) and self._held[missing[0]] == min(self._held.values()),
        )
