"""The analyzer that ships: weighted fields laid down as one stream of terms.

Scoring one stream whose term frequencies are weighted sums over fields is BM25F as Robertson,
Zaragoza and Taylor define it (Simple BM25 Extension to Multiple Weighted Fields, 2004); adding up
scores field by field is not, and ranks far worse.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache, partial
from itertools import chain, count, repeat
from operator import itemgetter

import Stemmer
from msgspec.structs import asdict

from dowse._model import ANALYZE_VERSION, GAP, ChunkedDocument, DocumentTerms, Fields, Stream
from dowse._model.ports import Analyzer
from dowse._text.languages import COMMON_WORDS, STOPWORDS, language_of
from dowse._text.matching import fold_word
from dowse._text.options import BOOSTED, KeywordOptions
from dowse._text.scripts import CJK_RUN, KANA_CHARACTER, CjkTerms, one_width
from dowse._util import limits

_VOCABULARY_WORD = re.compile(r"[^\W\d_][\w-]*")
# Whole lines whose words are counted at once, so that a long text is never copied as a whole.
_LINES_AT_ONCE = re.compile(r"(?s:.{1,65536})[^\n]*\n?")


class TextAnalyzer:
    """Turns documents and queries into terms."""

    def __init__(self, options: KeywordOptions, languages: tuple[str, ...] = ()) -> None:
        self._options = options
        self._languages = languages  # whose terms those of a query have, too
        self._cjk = CjkTerms(options.tokenizer, options.stopwords)
        self._words = self._terms_in(options.language, "english")
        self._by_language = cache(lambda language: self._terms_in(language, language))
        self._of_field = lru_cache(1000)(self._words.terms)  # chunks share most of theirs
        self._of_word = lru_cache(20_000)(self._distinct)  # the words of results recur
        self._boosts = {name: float(getattr(options, name)) for name in BOOSTED}

    def __reduce__(self) -> tuple[type[TextAnalyzer], tuple[KeywordOptions, tuple[str, ...]]]:
        """Say how another process gets one: its stemmer cannot be sent there, its options can."""
        return TextAnalyzer, (self._options, self._languages)

    def _terms_in(self, stemmer: str, stopwords: str) -> WordTerms:
        stem = Stemmer.Stemmer(stemmer).stemWord if self._options.stemming else None
        common = COMMON_WORDS[stopwords] if self._options.stopwords else frozenset[str]()
        return WordTerms(stem, common, self._cjk)

    def language(self, text: str) -> str:
        """Guess the language by which rules a document is stemmed, too; "" for none."""
        if not self._options.stemming or self._options.language != "english":
            return ""
        language = language_of(text, least=5)
        return "" if language == "english" else language

    def speaking(self, languages: Sequence[str]) -> TextAnalyzer:
        """Return an analyzer of which queries have the terms by the rules of languages, too."""
        return _speaking(self._options, tuple(languages))

    @property
    def stamp(self) -> dict[str, object]:
        """The settings that terms depend on, and the tokenizers that are used."""
        return {
            "version": ANALYZE_VERSION,
            "tokenizers": self._cjk.versions,
            **asdict(self._options),
        }

    def chunk_terms(
        self, fields: Fields, header_path: Sequence[str], text: str, language: str = ""
    ) -> list[tuple[str, int]]:
        """Return the terms of a chunk with positions; a term weighs as often as it is listed."""
        layers = self._layers(_texts(fields, header_path, text), language)
        placed = [one for start, terms in layers for one in zip(terms, count(start), strict=False)]
        return sorted((one for one in placed if one[0] != GAP), key=itemgetter(1))

    def chunk_stream(
        self, fields: Fields, header_path: Sequence[str], text: str, language: str = ""
    ) -> Stream:
        """Return the terms of a chunk as one text, in the order of the chunk."""
        layers = self._layers(_texts(fields, header_path, text), language)
        return f" {GAP} ".join([" ".join(terms) for _, terms in layers])

    def code_terms(self, text: str) -> list[tuple[str, int]]:
        """Return the identifiers of a piece of code and their parts, with their positions.

        None is stemmed.
        """
        names = _IDENTIFIER.findall(unicodedata.normalize("NFC", text))
        return list(zip(chain.from_iterable(map(_OF_NAME.__getitem__, names)), count()))

    def code_stream(self, text: str) -> Stream:
        """Return the identifiers of a piece of code and their parts, as one text."""
        return " ".join([term for term, _ in self.code_terms(text)])

    def query_terms(self, text: str) -> list[str]:
        """Return the distinct terms of a query, in the order in which they first occur."""
        return list(self._of_word(text) if len(text) <= LONGEST else self._distinct(text))

    def _distinct(self, text: str) -> Iterable[str]:
        others = (self._by_language(language).terms(text) for language in self._languages)
        return tuple(dict.fromkeys(chain(self._words.terms(text), *others)))

    def vocabulary(self, text: str) -> Counter[str]:
        """Return the words of a text that the vocabulary can hold, with how often they occur.

        Of a text with very many distinct words, the first ones.
        """
        written: dict[str, int] = {}  # a counter takes twice as long to fill
        for lines in _LINES_AT_ONCE.finditer(text):
            for word, often in Counter(_VOCABULARY_WORD.findall(fold_word(lines[0]))).items():
                if word in written or len(written) < limits.WORDS:
                    written[word] = written.get(word, 0) + often
        words: dict[str, int] = {}
        for spelled, often in written.items():
            word = spelled.rstrip("_-")
            # What is longer is no word: a hash, a line of text without spaces.
            if 3 <= len(word) <= 40 and word not in STOPWORDS:
                words[word] = words.get(word, 0) + often
        return Counter(words)

    def _layers(
        self, texts: Iterable[tuple[str, str]], language: str
    ) -> Iterator[tuple[int, list[str]]]:
        """Yield the terms of each field with the first position, as often as the field weighs.

        In the last layer of a field that weighs 2.5, a gap is where a term weighs no more. Stems by
        the rules of a language follow the other terms, so that phrases are found as written.
        """
        # Frequencies are whole numbers: what a boost of 2.5 leaves over is carried to the next
        # occurrence of the term, and in the end rounded to the nearest.
        carried: defaultdict[str, float] = defaultdict(lambda: 0.5)
        start = 0
        for name, text in texts:
            whole, part = divmod(self._boosts[name], 1)
            if not whole and not part:
                continue
            terms = self._words.terms(text) if name == "content" else self._of_field(text)
            if language:
                stems, known = self._by_language(language).terms(text), {*terms}
                terms = [*terms, GAP, *(stem for stem in stems if stem not in known)]
            yield from repeat((start, terms), int(whole))
            if part:
                last = []
                for term in terms:
                    more, carried[term] = divmod(carried[term] + part, 1)
                    last.append(term if more else GAP)
                yield start, last
            start += len(terms) + 100  # so that no phrase spans two fields
        if language:
            yield start, [language.upper()]


_speaking = lru_cache(4)(TextAnalyzer)


def _texts(fields: Fields, header_path: Sequence[str], text: str) -> Iterator[tuple[str, str]]:
    joined = fields.texts() | {"headers": "\n".join(header_path), "content": text}
    # The fields are repeated in every chunk of a document, however many there are.
    room = limits.FIELD_CHARACTERS
    for name in fields.texts():
        room, joined[name] = room - len(joined[name]), joined[name][: max(0, room)]
    return ((name, joined[name]) for name in BOOSTED if joined[name])


# ── A whole document ────────────────────────────────────────────────────────────


def terms_of(chunked: ChunkedDocument, analyzer: Analyzer) -> DocumentTerms:
    """Return what can be searched of a document by words."""
    document, chunks = chunked.document, []
    language = analyzer.language(document.text)
    for chunk, blocks in zip(chunked.chunks, chunked.code_by_chunk(), strict=True):
        body = analyzer.chunk_stream(
            document.fields, chunk.header_path, chunked.text_of(chunk), language
        )
        code = "\n".join(block.text for block in blocks)
        chunks.append((body, analyzer.code_stream(code) if code else ""))
    return DocumentTerms(chunks, analyzer.vocabulary(document.text[document.body :]))


# ── Words, cut so that technical terms survive as written ──────────────────────

LONGEST = 64
"""Characters of the longest term; what is longer is no word that anyone types."""


# Brackets, quotes, commas and emphasis end a word; dots, dashes, slashes and colons may not.
_INSIDE = r"[^\s()\[\]{}<>\"`,;|=*“”„‘«»…—、。，；：！？「」『』（）【】《》〈〉〔〕〜・]+"
_RUN = re.compile(_INSIDE)
# In a->b, 2>&1, *.md and foo() a sign that ends a word elsewhere is a part of it.
_RUN_WITH_SIGNS = re.compile(
    rf"(?:(?<![A-Za-z0-9])\*(?=\.\w))?{_INSIDE}"
    rf"(?:(?:(?<=\w-)>(?=\w)|(?<=\d)>(?=&\d)){_INSIDE})*(?:\(\))?"
)
_SIGNS = re.compile(r"->|>&|\*\.|\(\)")
_LEADING = re.compile(r"(?:[!?:'’&^%+_]|~~|~(?!/)|[#@$]{2,}|\.{3,})+")
_TRAILING = ".!?:'’&^~/-_$"
_AFTER_A_WORD = re.compile(r"\w\w[+#]")
_DECORATED = re.compile(r"(?:[#@$](?=\w)|\*(?=\.)|[vV](?=\d+\.\d))(.+?)(?:\(\))?|(.+)\(\)")
_PART = re.compile(r"(?<!\w)[^\W\d_](?:\+\+|#)(?!\w)|\w+")


class WordTerms:
    """Turns running text into terms; remembers words it has seen, since most recur."""

    def __init__(
        self, stem: Callable[[str], str] | None, stopwords: frozenset[str], cjk: CjkTerms
    ) -> None:
        self._stem = stem
        self._stopwords = stopwords
        self._cjk = cjk
        self._of_run = {
            flag: _Remembered(partial(self._run_terms, japanese=flag)) for flag in (False, True)
        }

    def terms(self, text: str, japanese: bool | None = None) -> list[str]:
        """Return the terms of a text, in their order; if None, the text says if it is Japanese."""
        if not text.isascii():
            if japanese is None:  # kana tell to read the Chinese characters as Japanese, too
                japanese = self._cjk.by_text and KANA_CHARACTER.search(text) is not None
            text = unicodedata.normalize("NFC", text)
        runs = (_RUN_WITH_SIGNS if _SIGNS.search(text) else _RUN).findall(text)
        return list(chain.from_iterable(map(self._of_run[bool(japanese)].__getitem__, runs)))

    def _run_terms(self, run: str, japanese: bool) -> Iterable[str]:
        """Cut what has no blanks: between scripts, then each piece by the rules of its script."""
        if run.isascii():
            return self._western(run)
        usual = one_width(run)
        if usual != run:
            return self.terms(usual, japanese)
        return chain.from_iterable(
            self._cjk.terms(piece, japanese) if number % 2 else self._western(piece)
            for number, piece in enumerate(CJK_RUN.split(run))
        )

    def _western(self, piece: str) -> list[str]:
        word = piece if piece.isalnum() else _bare(piece)
        whole = word.casefold()
        if whole.isalnum() and len(whole) <= LONGEST:
            # The whole is stemmed as if it were written in small letters, so that either finds it.
            inside = [] if word[1:].islower() else split_identifier(word)
            return self._plain([whole, *inside] if len(inside) > 1 else [whole])
        if whole and len(whole) <= LONGEST:
            if decorated := _DECORATED.fullmatch(word):
                return [whole, *self._western(decorated[1] or decorated[2])]
            if not any(map(str.isalnum, whole)):
                return []
        parts: list[str] = []
        for part in _PART.findall(word):
            if part[-1] in "+#":  # C++, C#
                parts.append(part.casefold())
            else:
                parts += self._plain(split_identifier(part[: 4 * LONGEST]))
        if not whole or len(whole) > LONGEST:
            return parts
        return [whole, *self._plain(joined(whole)), *(part for part in parts if part != whole)]

    def _plain(self, words: list[str]) -> list[str]:
        kept = [word for word in words if len(word) >= 2 and word not in self._stopwords]
        return [self._stem(word) for word in kept] if self._stem else kept


class _Remembered(dict[str, tuple[str, ...]]):
    """The terms of pieces of text; those of most pieces are kept."""

    def __init__(self, make: Callable[[str], Iterable[str]]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, piece: str) -> tuple[str, ...]:
        # A dictionary of Chinese, Japanese or Korean may know words with a blank in them.
        terms = tuple(" ".join(self._make(piece)).split())
        if len(self) > 50_000:  # keeps a long-running process small
            self.clear()
        # In another script longer runs seldom come again.
        if len(piece) <= (LONGEST if piece.isascii() else 24):
            self[piece] = terms
        return terms


def _bare(piece: str) -> str:
    """Take the signs before and after a word away: up to two at each end."""
    for _ in range(2):
        leading = _LEADING.match(piece)
        word = piece[leading.end() :] if leading else piece
        bare = word.rstrip(_TRAILING)  # a pattern that ends with $ would try again at every sign
        if bare == word and word[-1:] in {"s", "S"} and word[-2:-1] in {"'", "’"}:
            bare = word[:-2]
        elif bare == word and word and _AFTER_A_WORD.fullmatch(piece[-3:]):
            bare = word[:-1]
        if bare == piece or bare.isalnum():
            return bare
        piece = bare
    return piece


# ── Identifiers and code ─────────────────────────────────────────────────────

_IDENTIFIER = re.compile(r"(?<!\w)[A-Za-z](?:\+\+|#)(?!\w)|\w+(?:(?:::|\.|->)\w+)*")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|\?+")
_SNAKE = re.compile(r"[^\W\d_][^\W_]*(?:_+[^\W\d_][^\W_]*)+")
# An ASCII character that is cut alike; "?" for letters without case.
_SHAPES = (
    (str.isupper, "A"),
    (str.istitle, "A"),
    (str.islower, "a"),
    (str.isdecimal, "0"),
    (str.isalnum, "?"),
)


def split_identifier(name: str) -> list[str]:
    """Split an identifier into words, in lower case: `HTTPResponse_v2` is http response v 2."""
    cut_alike = (next((sign for is_so, sign in _SHAPES if is_so(one)), "_") for one in name)
    shape = name if name.isascii() else "".join(cut_alike)
    return [name[match.start() : match.end()].casefold() for match in _CAMEL.finditer(shape)]


def joined(name: str) -> list[str]:
    """Return `get_user` as a whole in the style of `getUser`, so that one finds the other."""
    return [name.replace("_", "")] if "_" in name and _SNAKE.fullmatch(name) else []


def _name_terms(name: str) -> Iterable[str]:
    whole = name.casefold()
    if name[-1] in "+#":
        return (whole,)
    parts = split_identifier(name)
    wholes = (whole, *joined(whole)) if [whole] != parts and len(whole) <= LONGEST else ()
    return (*wholes, *(part for part in parts if len(part) <= LONGEST))


_OF_NAME = _Remembered(_name_terms)
