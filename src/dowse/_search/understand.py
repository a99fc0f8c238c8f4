"""The stages that read a query: what it means in this index, its kind, and words like it."""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta
from msgspec.structs import replace

from dowse._model import Condition, Matrix, Query, Vector, text_key
from dowse._model.ports import Analyzer, IndexReader
from dowse._search.confidence import background_terms
from dowse._search.query import COMPLETIONS, MOST_TERMS, Known, distinct, lex, understand
from dowse._search.request import leaves, meeting
from dowse._search.state import SearchState
from dowse._search.strategies import MODES, STRATEGIES, query_vector
from dowse._text.languages import COMMON_WORDS, MARKS, language_of
from dowse._text.matching import fold_word
from dowse._text.scripts import late_pattern
from dowse._util.arrays import np
from dowse._util.bounds import SHARE, Options
from dowse._util.messages import listed

_COMPLETIONS = 50  # words that stand for one prefix
_BEGINNINGS = 10  # words that stand for one that nothing holds
_FEWER_BEGINNINGS = 3  # when other words find something, or few hold it
_SPELLINGS = 3
_LEAST_MISSPELT = 5  # letters, when other words find something
_LEAST_COMMON = 2  # words that tell the language of a query
_FEW = 5  # passages: fewer would leave a page of results unfilled
_LONGEST_SHORT = 5  # letters of a word that may be short for a longer one
_LEAST_BEGINNING = 4  # letters: vim does not stand for vimeo, auth may for authentication
_PASSAGES_PER_HOLDER = 2000  # one passage of so many must hold a word that takes another's place
_MOST_LOOKUPS = 8  # words of one query: a pasted page need not be proofread
_PLAIN_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_LETTERS = re.compile(r"[^\W\d_]+")
_BREAKS = re.compile(r"[\s,;()\[\]{}<>|=*…、。，；：！？（）【】《》]+")
_QUOTES = '"“„«»「『'
_EDGES = ".:!?'’\"“”„«»「」『』`"


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
    if mode.hypothesis:  # all words are taken as they are: in an answer nothing is a sign
        terms, has_words = parts.analyzer.query_terms(written), any(map(str.isalnum, written))
        notices = () if has_words else ("The hypothesis has no words to search for.",)
        search.query = Query(written, written, tuple(terms), (), notices=notices)
    else:
        reader, analyzer = search.reader, parts.analyzer

        @cache
        def has_field(name: str) -> bool:
            return bool(len(reader.matching([Condition("field", name=name, sign="has")])))

        def beginning(prefix: str) -> Sequence[str]:
            return reader.vocabulary.beginning(fold_word(prefix), COMPLETIONS)

        query = understand(written, analyzer, Known(has_field, beginning, parts.now))
        if languages := _languages(query, reader):
            stemming = analyzer.speaking(languages)
            query = _in_languages(query, reader, analyzer, stemming)
            search.parts = replace(parts, analyzer=stemming)
        search.query = correct(query, reader, analyzer)  # what nothing would match
    filters = (*search.conditions, *search.request.filters.conditions(parts.now))
    if written.strip() or not filters:  # otherwise a filter takes its place
        search.notices += search.query.notices
    search.conditions = (*filters, *search.query.conditions)
    search.embedded_text = search.query.text


def _languages(query: Query, reading: IndexReader) -> tuple[str, ...]:
    """Return the languages besides English of documents that the query may mean."""
    marks = reading.keyword.frequencies("body", tuple(MARKS))
    found = tuple(language for mark, language in MARKS.items() if marks.get(mark))
    spoken = language_of(query.text, _LEAST_COMMON) if found else ""
    if spoken == "english":
        return ()
    return (spoken,) if spoken in found else found


def _in_languages(
    query: Query, reading: IndexReader, analyzer: Analyzer, stemming: Analyzer
) -> Query:
    """Search for plain words also by the rules of other languages, as far as anything has them.

    What a query in one of these says too often to tell documents apart is left out.
    """
    common = COMMON_WORDS.get(language_of(query.text, _LEAST_COMMON), frozenset())
    words = {term: fold_word(written) for written, term in _plain_words(query, analyzer)}
    left_out = {term for term, word in words.items() if word in common}
    forms = {term: stemming.query_terms(word) for term, word in words.items()}
    held = reading.keyword.frequencies("body", distinct(chain.from_iterable(forms.values())))
    found = {term: [one for one in some if held.get(one)] for term, some in forms.items()}
    kept = [term for term in query.terms if term not in left_out] or query.terms
    return replace(
        query,
        terms=distinct(one for term in kept for one in found.get(term) or [term])[:MOST_TERMS],
        alternatives=tuple(tuple(found[one]) for one in kept if len(found.get(one, ())) > 1),
    )


def correct(query: Query, reading: IndexReader, analyzer: Analyzer) -> Query:
    """Put a query into the words of this index: its prefixes, unknown words and unheld phrases.

    What is embedded stays as written: an encoder reads an unknown word by its parts, and a word
    that these documents do not hold may still be right ("mango" is no slip for "mongo").
    """
    if query.prefixes:
        query = _complete(query, reading, analyzer)
    if len(query.terms) <= 1:
        query = _join_small_words(query, reading, analyzer)
    if query.terms:
        frequencies = reading.keyword.frequencies("body", query.terms)
        missing = {term for term in query.terms if not frequencies.get(term)}
        if missing:
            query = _replace_missing(query, missing, reading, analyzer)
        elif len(query.terms) == 1 and frequencies[query.terms[0]] < _FEW:
            query = _widen(query, reading, analyzer)
    return _without_lost_phrases(query, reading, analyzer) if query.conditions else query


# ── Prefixes ─────────────────────────────────────────────────────────────────


def _complete(query: Query, reading: IndexReader, analyzer: Analyzer) -> Query:
    looked_up = query.prefixes[:_MOST_LOOKUPS]
    found = {
        prefix: reading.vocabulary.beginning(fold_word(prefix), _COMPLETIONS)
        for prefix in looked_up
    }
    notices = [f'No word begins with "{prefix}".' for prefix in looked_up if not found[prefix]]
    if len(query.prefixes) > _MOST_LOOKUPS:
        notices.append(f"Only the first {_MOST_LOOKUPS} words with a star were completed.")
    for prefix, completions in found.items():
        own = analyzer.query_terms(prefix)
        if completions:
            # The prefix itself is left out where no document has it as a word: nothing is missing.
            held = reading.keyword.frequencies("body", own)
            query = replace(
                query,
                terms=tuple(term for term in query.terms if term not in own or held.get(term)),
            )
        own = [term for term in own if term in query.terms]
        query = _with_words(query, completions, analyzer, own)
    return _with_notices(replace(query, prefixes=()), notices)


# ── Words that are too common to be indexed ──────────────────────────────────

_NAMES = 4  # words of a name such as wait-for-any
_MOST_SMALL = 12  # words of a query that consists of little else
_NO_NAME = re.compile(
    "am|are|can|could|did|do|does|has|have|how|is|was|were|wh(?:at|en|ere|ich|o|ose|y)|will|would"
)


def _join_small_words(query: Query, reading: IndexReader, analyzer: Analyzer) -> Query:
    """Add names that words of the query are, written together: `BeforeAll`, `wait-for-any`.

    Common words are not indexed by themselves, but names have them.
    """
    words = [word.casefold() for word in _LETTERS.findall(query.text)]
    if not 2 <= len(words) <= _MOST_SMALL or all(map(analyzer.query_terms, words)):
        return query
    spans = [
        words[start:end]
        for start in range(len(words))
        for end in range(start + 2, min(start + _NAMES, len(words)) + 1)
        if not _NO_NAME.fullmatch(words[start])
    ]
    names = {
        _whole(analyzer.query_terms(sign.join(span))): sign.join(span)
        for span in spans
        for sign in ("-", "")
    }
    names.pop("", None)
    held = reading.keyword.frequencies("body", list(names))
    found = [name for term, name in names.items() if held.get(term) and term not in query.terms]
    return _with_words(query, found, analyzer)


# ── Unknown words ────────────────────────────────────────────────────────────


def _replace_missing(
    query: Query, missing: set[str], reading: IndexReader, analyzer: Analyzer
) -> Query:
    unknown = {
        term: written
        for written, term in reversed(list(_plain_words(query, analyzer)))
        if term in missing and len(written) >= 3
    }
    looked_up = [term for term in query.terms if term in unknown][:_MOST_LOOKUPS]
    all_lost = len(missing) == len(query.terms)
    found = {
        term: words
        for term in looked_up
        if (words := _instead(unknown[term], term, all_lost, reading, analyzer))
    }
    notices = [
        f'Nothing has "{unknown[term]}"; searched for {listed(words)} instead.'
        for term, words in found.items()
    ]
    kept = replace(query, terms=tuple(term for term in query.terms if term not in found))
    for words in found.values():
        kept = _with_words(kept, words, analyzer)
    return _with_notices(kept, notices)


def _instead(
    word: str, term: str, all_lost: bool, reading: IndexReader, analyzer: Analyzer
) -> list[str]:
    """Find words of the documents that must be meant by one that none of them has.

    A word that begins others is taken to be short for them. Else it may be a slip of the keyboard,
    unless it is a word of its own: who asks for Slack does not mean a stack.
    """
    looked_up = fold_word(word)
    many = _BEGINNINGS if all_lost else _FEWER_BEGINNINGS
    known = _is_known(looked_up, term)
    if len(looked_up) >= _LEAST_BEGINNING:
        longer = reading.vocabulary.beginning(looked_up, many)
        # A word of its own is seldom short: auth is for authentication, but roll is no rollup.
        if longer and not (known and max(map(len, longer)) < 2 * len(looked_up)):
            return _frequent(longer, reading, analyzer)
    # Next to other words that do find something, a wrong guess costs more than none.
    if not all_lost and len(looked_up) < _LEAST_MISSPELT:
        return []
    spellings = reading.vocabulary.spelled_like(looked_up, _SPELLINGS)
    # The first letter of a word is seldom the wrong one.
    likely = [spelling for spelling in spellings if spelling.startswith(looked_up[0])]
    meant = _frequent(likely or (spellings if all_lost else []), reading, analyzer)
    wholes = {_whole(analyzer.query_terms(one)) for one in _nearest(looked_up, meant)}
    return meant[:1] if len(wholes) == 1 and not known else []


def _nearest(word: str, spellings: list[str]) -> list[str]:
    """Keep the spellings that are as near to a word as the first of them."""
    from rapidfuzz.distance import OSA  # noqa: PLC0415  (few queries have a misspelled word)

    slips = [OSA.distance(word, spelling) for spelling in spellings]
    return [one for one, count in zip(spellings, slips, strict=True) if count == slips[0]]


def _is_known(word: str, term: str) -> bool:
    """Tell whether a word is one that other documentation has, or that the shipped model knows."""
    if term in background_terms().terms or any(map({word}.issubset, COMMON_WORDS.values())):
        return True
    # One vocabulary has `##er` for the end of a word, another one `Ġword` for a whole one.
    spelled = (f'"{begin}{one}"' for begin in ("", "Ġ") for one in (word, word.capitalize()))
    return any(one.encode() in _vocabulary_of_model() for one in spelled)


@cache
def _vocabulary_of_model() -> bytes:
    """Read the pieces of words that the shipped model knows, as they are in its file."""
    files = (Path(__file__).parents[1] / "_embed" / "weights").glob("*/tokenizer.json")
    return b"".join(file.read_bytes() for file in files)


def _frequent(words: list[str], reading: IndexReader, analyzer: Analyzer) -> list[str]:
    """Keep those of the words that so many passages have that a slip for them is likely."""
    terms = {word: _whole(analyzer.query_terms(word)) for word in words}
    held = reading.keyword.frequencies("body", list(filter(None, terms.values()))) if terms else {}
    least = max(1, reading.keyword.size // _PASSAGES_PER_HOLDER)
    return [word for word in words if held.get(terms[word], 0) >= least]


def _widen(query: Query, reading: IndexReader, analyzer: Analyzer) -> Query:
    """Add words that begin with a short one that is alone and that few passages hold.

    The word itself stays: auth finds authentication as well.
    """
    written, own = next(_plain_words(query, analyzer), ("", ""))
    if not _LEAST_BEGINNING <= len(written) <= _LONGEST_SHORT:
        return query
    longer = reading.vocabulary.beginning(fold_word(written), _BEGINNINGS)
    added = [one for one in longer if _whole(analyzer.query_terms(one)) != own][:_FEWER_BEGINNINGS]
    if not added:
        return query
    notice = f'Few passages have "{written}"; searched for {listed(added)} as well.'
    return _with_notices(_with_words(query, added, analyzer, query.terms), [notice])


def _plain_words(query: Query, analyzer: Analyzer) -> Iterator[tuple[str, str]]:
    """Read the words outside quotes and code that are letters, each with its one term."""
    for piece in lex(query.written):
        if piece.kind == "word" and not piece.negated:
            for run in _BREAKS.split(piece.text):
                if _PLAIN_WORD.fullmatch(run.strip(_EDGES)):
                    for word in _LETTERS.findall(run):
                        terms = analyzer.query_terms(fold_word(word))
                        if len(terms) == 1:
                            yield word, terms[0]


# ── Phrases ──────────────────────────────────────────────────────────────────


def _without_lost_phrases(query: Query, reading: IndexReader, analyzer: Analyzer) -> Query:
    wanted = [  # those that demand words and nothing else
        one
        for one in query.conditions
        if not one.negated
        and one.kind in {"phrase", "any", "all"}
        and all(leaf.kind == "phrase" for leaf in leaves(one))
    ]
    lost = [one for one in wanted if not len(meeting([one], reading, analyzer))]
    called = (f"the phrase {_quoted(one)}" if _is_quoted(one) else one.written for one in lost)
    notices = [f"Nothing has {one}; its words were searched for instead." for one in called]
    left = [condition for condition in wanted if condition not in lost]
    if len(left) > 1 and not len(meeting(left, reading, analyzer)):
        lost = wanted
        phrases = ", ".join(map(_quoted, left))
        notices.append(f"Nothing has all of {phrases}; their words were searched for instead.")
    kept = tuple(condition for condition in query.conditions if condition not in lost)
    return _with_notices(replace(query, conditions=kept), notices) if lost else query


def _is_quoted(condition: Condition) -> bool:
    return condition.kind == "phrase" and condition.written[:1] in _QUOTES


def _quoted(condition: Condition) -> str:
    return f'"{condition.written[1:-1]}"' if _is_quoted(condition) else condition.written


# ── Putting words in ─────────────────────────────────────────────────────────


def _with_words(
    query: Query, words: list[str], analyzer: Analyzer, own: Sequence[str] = ()
) -> Query:
    """Add words to what is searched for: one is as good as all, or as the query's own terms."""
    terms = distinct(filter(None, (_whole(analyzer.query_terms(word)) for word in words)))
    if not terms:
        return query
    code = [_whole([term for term, _ in analyzer.code_terms(word)]) for word in words]
    return replace(
        query,
        terms=distinct([*query.terms, *terms])[:MOST_TERMS],
        alternatives=(*query.alternatives, distinct([*own, *terms])),
        put_in=query.put_in.union(terms),
        code_terms=distinct([*query.code_terms, *filter(None, code)])[:MOST_TERMS],
    )


def _whole(terms: list[str]) -> str:
    """Choose the term for a whole word: of `auth-server` not "server", which is not meant."""
    return max(terms, key=len, default="")


def _with_notices(query: Query, notices: list[str]) -> Query:
    return replace(query, notices=distinct([*query.notices, *notices])) if notices else query


# ── The kind of a query ─────────────────────────────────────────────────────────


QueryType = Literal["factual", "navigational", "exploratory"]
"""What a query asks for: a thing by its exact name, a place in the documents, or an explanation."""

_FACTOR = Meta(ge=0, le=10)


def _multiplies(kind: QueryType, when: str) -> str:
    weights = " and ".join(one.name for one in STRATEGIES if one.favoured_by == kind)
    return f"Multiplies the {weights} weight {when} (0–10)."


# Names such as iPhone and gRPC are written so in prose: identifiers have two small letters before
# the first capital.
_CAMEL_CASE = late_pattern(r"\b(?!(?:mac|tv|watch)OS\b)[a-z][a-z0-9]+[A-Z]\w*")
# Names of products and companies have the shape of identifiers. These are frequent in prose.
_IN_PROSE = (
    "AirPods|BitTorrent|CloudFront|CoffeeScript|DevOps|DigitalOcean|ESLint|FaceTime|GitHub|GitLab"
    "|HashiCorp|IPSec|JavaScript|LibreOffice|LinkedIn|MacBook|NumPy|OneDrive|OneNote|OpenOffice"
    "|OpenShift|OpenStack|PayPal|PowerPoint|PowerShell|PyTorch|SQLite|SciPy|SharePoint|SourceForge"
    "|TensorFlow|TypeScript|VSCode|WhatsApp|WordPress|YouTube"
)
# Two capitalised parts and more, or an acronym before one: PascalCase, HTTPResponse.
_PASCAL_CASE = late_pattern(
    rf"\b(?!(?:{_IN_PROSE})s?\b)(?:[A-Z]{{2,}}(?=[A-Z][a-z0-9])|[A-Z][a-z0-9]+)"
    r"(?:[A-Z][a-z0-9]+)*[A-Z][a-z0-9]{2,}\b"
)
_SNAKE_CASE = late_pattern(r"[^\W_]_+[^\W_]")
_CALL = late_pattern(r"\w\(\)|\w\.\w+\(")  # foo.bar()
_MEMBER = late_pattern(r"\w::\w")  # std::vector
_VARIABLE = late_pattern(r"(?<![\w$])\$\{?[A-Za-z_]")  # $VAR, but no sum of money
_FLAG = late_pattern(r"(?:^|\s)--?[A-Za-z]")  # kubectl get pods -o
_SHAPES_OF_CODE = (_CAMEL_CASE, _PASCAL_CASE, _SNAKE_CASE, _CALL, _MEMBER, _VARIABLE, _FLAG)
# A share, a sum of money and the number of a section are no versions.
_VERSION = late_pattern(
    r"(?<![0-9.,$€£])(?<!section )(?<!chapter )[0-9]+(?:\.[0-9]+)+(?![0-9,.]{0,20}\s?%)"
    r"|\bv[0-9]+\b",
    re.IGNORECASE,
)
_PLACE = late_pattern(
    r"\b(?:sections?|chapters?|guides?|tutorials?|documentation|docs|handbook|appendix)\b"
    r"|\[\[[^\[\]]+\]\]",
    re.IGNORECASE,
)


class ClassifyOptions(Options, frozen=True):
    """Whether the kind of a query changes the weights, and by how much."""

    enabled: Annotated[bool, "Change the weights of strategies by the kind of the query."] = False
    factual: Annotated[
        float, _FACTOR, _multiplies("factual", "when the query names a thing exactly")
    ] = 1.5
    navigational: Annotated[
        float, _FACTOR, _multiplies("navigational", "when the query asks for a place")
    ] = 1.5
    exploratory: Annotated[float, _FACTOR, _multiplies("exploratory", "of all other queries")] = 1.3

    def multipliers(self, kind: QueryType) -> dict[str, float]:
        """Return the factor for the weight of each strategy."""
        favour = float(getattr(self, kind))
        return {one.name: favour if one.favoured_by == kind else 1.0 for one in STRATEGIES}


def weigh_by_type(search: SearchState) -> None:
    """Let the kind of query change the weights."""
    factors = search.settings.classify.multipliers(classify(search.request.query))
    for strategy, factor in factors.items():
        search.weights[strategy] *= factor


def classify(text: str) -> QueryType:
    """Classify a query as the user wrote it; the first kind that fits wins."""
    searched = [piece for piece in lex(text) if piece.kind != "field" and not piece.negated]
    words = " ".join(piece.text for piece in searched)
    quoted = any(piece.kind in ("phrase", "code") for piece in searched)
    if quoted or any(shape.search(words) for shape in (*_SHAPES_OF_CODE, _VERSION)):
        return "factual"
    return "navigational" if _PLACE.search(words) else "exploratory"


# ── Words that mean nearly the same ─────────────────────────────────────────────


class ExpandOptions(Options, frozen=True):
    """Whether words near the query are appended to it for the semantic search."""

    enabled: Annotated[
        bool, "Add words of the documents that are close in meaning to the semantic query."
    ] = False
    terms: Annotated[int, Meta(ge=1, le=50), "How many words to add at most (1–50)."] = 3
    similarity: Annotated[
        float, SHARE, "Cosine to the query at or above which a word may be added (0–1)."
    ] = 0.5


_LEARN = "Make them with: dowse config set expand.enabled true, then dowse index"


def expand_query(search: SearchState) -> None:
    """Add the words of the documents nearest to the query, for the semantic ranking."""
    vector = query_vector(search)
    if vector is None:
        return
    words, vectors = search.parts.words(search.reader)
    if not words:
        search.notices.append(f"No word was added to the query: no word has a vector. {_LEARN}")
        return
    known = set(search.parts.analyzer.vocabulary(search.query.text))
    added = nearest_words(vector, words, vectors, known, search.settings.expand)
    if added:
        search.embedded_text = " ".join([search.query.text, *added])
        search.notices.append(f"The search by meaning added {listed(added)} to the query.")
        search.vector = None  # of what was asked; the next one is of what is searched for


def nearest_words(
    query_vector: Vector,
    words: Sequence[str],
    vectors: Matrix,
    query_words: Collection[str],
    options: ExpandOptions,
) -> list[str]:
    """Find the words nearest to the query that are not in it; ties in alphabetical order.

    `vectors` holds one row for each of `words`.
    """
    if not words:
        return []
    asked = {word.casefold() for word in query_words}
    cosines = np.vecdot(vectors, query_vector).tolist()
    near = [
        (-cosine, word)
        for cosine, word in zip(cosines, words, strict=True)
        if cosine >= options.similarity and word.casefold() not in asked
    ]
    return [word for _, word in sorted(near)[: options.terms]]


# ── The words of the documents with their vectors, kept for as long as the index stays the same ───


class KnownWords:
    """Remembers the vocabulary of the generation that was asked for last."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._of = (-1, -1)  # generation and size: a discarded index counts generations from 0
        self._known: tuple[list[str], Matrix] | None = None

    def of(self, reading: IndexReader) -> tuple[list[str], Matrix]:
        """Return the words that have a vector, and their vectors."""
        with self._lock:
            wanted = (reading.catalogue.generation, reading.keyword.size)
            if self._known is None or self._of != wanted:
                words = reading.vocabulary.most_frequent(self._size)
                keys = {text_key(word): word for word in words}
                known = reading.text_vectors.known(list(keys))
                vectors = {word: known[key] for key, word in keys.items() if key in known}
                rows = np.stack(list(vectors.values()) or [np.zeros(0, np.float32)])[: len(vectors)]
                self._known, self._of = (list(vectors), rows), wanted
            return self._known
