"""The analyzer that ships: weighted fields laid down as one stream of terms.

Scoring one stream whose term frequencies are weighted sums over fields is BM25F as Robertson,
Zaragoza and Taylor define it (Simple BM25 Extension to Multiple Weighted Fields, 2004); adding up
scores field by field is not, and ranks far worse.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count, islice, repeat
from operator import itemgetter

import Stemmer
from msgspec.structs import asdict

from dowse._model import ANALYZE_VERSION, GAP, ChunkedDocument, DocumentTerms, Fields, Stream
from dowse._model.ports import Analyzer
from dowse._text.cjk import CjkTerms
from dowse._text.fold import fold_word
from dowse._text.options import BOOSTED, KeywordOptions
from dowse._text.words import LONGEST, STOPWORDS, WordTerms, code_terms
from dowse._util import limits

_KNOWN_WORDS = 20_000
_KNOWN_FIELDS = 1000
_FIELD_GAP = 100  # positions between fields, so that no phrase spans two of them
_VOCABULARY_WORD = re.compile(r"[^\W\d_][\w-]*")
_PART = 65_536  # characters whose words are counted at once
_LONGEST_WORD = 40  # characters; what is longer is no word: a hash, a line of text without spaces


class TextAnalyzer:
    """Turns documents and queries into terms."""

    def __init__(self, options: KeywordOptions) -> None:
        self._options = options
        stem = Stemmer.Stemmer(options.language).stemWord if options.stemming else None
        self._cjk = CjkTerms(options.tokenizer, options.stopwords)
        self._words = WordTerms(stem, options.stopwords, self._cjk)
        self._of_field = lru_cache(_KNOWN_FIELDS)(self._words.terms)  # chunks share most of theirs
        self._of_word = lru_cache(_KNOWN_WORDS)(self._distinct)  # the words of results recur
        self._boosts = {name: float(getattr(options, name)) for name in BOOSTED}

    def __reduce__(self) -> tuple[type[TextAnalyzer], tuple[KeywordOptions]]:
        """Say how another process gets one: its stemmer cannot be sent there, its options can."""
        return TextAnalyzer, (self._options,)

    @property
    def stamp(self) -> dict[str, object]:
        """The settings that terms depend on, and the tokenizers that are used."""
        return {
            "version": ANALYZE_VERSION,
            "tokenizers": self._cjk.versions,
            **asdict(self._options),
        }

    def chunk_terms(
        self, fields: Fields, header_path: Sequence[str], text: str
    ) -> list[tuple[str, int]]:
        """Return the terms of a chunk with positions; a term weighs as often as it is listed."""
        layers = self._layers(_texts(fields, header_path, text))
        placed = [one for start, terms in layers for one in zip(terms, count(start), strict=False)]
        return sorted((one for one in placed if one[0] != GAP), key=itemgetter(1))

    def chunk_stream(self, fields: Fields, header_path: Sequence[str], text: str) -> Stream:
        """Return the terms of a chunk as one text, in the order of the chunk."""
        layers = self._layers(_texts(fields, header_path, text))
        return f" {GAP} ".join([" ".join(terms) for _, terms in layers])

    def code_terms(self, text: str) -> list[tuple[str, int]]:
        """Return the identifiers of a piece of code and their parts, with their positions."""
        return list(zip(code_terms(text), count(), strict=False))

    def code_stream(self, text: str) -> Stream:
        """Return the identifiers of a piece of code and their parts, as one text."""
        return " ".join(code_terms(text))

    def query_terms(self, text: str) -> list[str]:
        """Return the distinct terms of a query, in the order in which they first occur."""
        return list(self._of_word(text) if len(text) <= LONGEST else self._distinct(text))

    def _distinct(self, text: str) -> Iterable[str]:
        return tuple(dict.fromkeys(self._words.terms(text)))

    def vocabulary(self, text: str) -> Counter[str]:
        """Return the words of a text that the vocabulary can hold, with how often they occur.

        Of a text with very many distinct words, the first ones.
        """
        written: Counter[str] = Counter()
        for part in _parts(text):
            found = Counter(_VOCABULARY_WORD.findall(fold_word(part)))
            written.update(_at_most(limits.WORDS, written, found))
        words: dict[str, int] = {}  # a counter takes twice as long to fill
        for spelled, often in written.items():
            word = spelled.rstrip("_-")
            if 3 <= len(word) <= _LONGEST_WORD and word not in STOPWORDS:
                words[word] = words.get(word, 0) + often
        return Counter(words)

    def _layers(self, texts: Iterable[tuple[str, str]]) -> Iterator[tuple[int, list[str]]]:
        """Yield the terms of each field with the first position, as often as the field weighs.

        In the last layer of a field that weighs 2.5, a gap is where a term weighs no more.
        """
        # Frequencies are whole numbers: what a boost of 2.5 leaves over is carried to the next
        # occurrence of the term, and in the end rounded to the nearest.
        carried: defaultdict[str, float] = defaultdict(lambda: 0.5)
        start = 0
        for name, text in texts:
            whole, part = divmod(self._boosts[name], 1)
            terms = self._terms_of(name, text) if whole or part else []
            yield from repeat((start, terms), int(whole))
            if part:
                yield start, [_carry(carried, term, part) for term in terms]
            start += len(terms) + _FIELD_GAP

    def _terms_of(self, field: str, text: str) -> list[str]:
        return self._words.terms(text) if field == "content" else self._of_field(text)


def _carry(carried: dict[str, float], term: str, part: float) -> str:
    """Return the term when what was left over of it makes one more, otherwise a gap."""
    carried[term] += part
    full = carried[term] >= 1
    carried[term] %= 1
    return term if full else GAP


def _at_most(limit: int, known: Counter[str], found: Counter[str]) -> Mapping[str, int]:
    """Return what was found, as far as there are not more distinct words than a limit with it."""
    if len(known) + len(found) <= limit:
        return found
    new = islice((word for word in found if word not in known), limit - len(known))
    kept = {*known, *new}
    return {word: often for word, often in found.items() if word in kept}


def _parts(text: str) -> Iterator[str]:
    """Yield a text in parts of whole lines, so that a long one is never copied at once."""
    start = 0
    while start < len(text):
        end = text.find("\n", start + _PART) + 1 or len(text)
        yield text[start:end]
        start = end


def _texts(fields: Fields, header_path: Sequence[str], text: str) -> Iterator[tuple[str, str]]:
    joined = fields.texts()
    # They are repeated in every chunk of a document, however many there are.
    room = limits.FIELD_CHARACTERS
    for name, written in joined.items():
        joined[name] = written[: max(0, room)]
        room -= len(written)
    joined |= {"headers": "\n".join(header_path), "content": text}
    return ((name, joined[name]) for name in BOOSTED if joined[name])


# ── A whole document ────────────────────────────────────────────────────────────


def terms_of(chunked: ChunkedDocument, analyzer: Analyzer) -> DocumentTerms:
    """Return what can be searched of a document by words."""
    document, chunks = chunked.document, []
    for chunk, blocks in zip(chunked.chunks, chunked.code_by_chunk(), strict=True):
        text = chunked.text_of(chunk)
        body = analyzer.chunk_stream(document.fields, chunk.header_path, text)
        code = "\n".join(block.text for block in blocks)
        chunks.append((body, analyzer.code_stream(code) if code else ""))
    return DocumentTerms(chunks, analyzer.vocabulary(document.text[document.body :]))
