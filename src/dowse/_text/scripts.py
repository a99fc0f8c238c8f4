"""What counts as Chinese, Japanese or Korean, in which widths it is written, and its words."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from threading import Lock
from typing import Any, cast

from dowse import DISTRIBUTION
from dowse.errors import BadSettings


def late_pattern(expression: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern with the methods of a compiled one, for constants known to be valid."""
    return cast("re.Pattern[str]", _LatePattern(expression, flags))


class _LatePattern:
    """Compiles when it is asked for a method, and keeps each that was asked for."""

    def __init__(self, expression: str, flags: int) -> None:
        self._written = (expression, flags)

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self._written), name)  # `re` keeps what it has compiled
        setattr(self, name, value)
        return value


HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Chinese characters, in whichever language they are used; ranges for a class of a pattern."""

KANA = "\u3040-\u30ff\uff66-\uff9f"
"""What only Japanese has, in both widths."""

HANGUL = "\uac00-\ud7af\u1100-\u11ff"
"""What only Korean has."""

WIDE_SIGNS = "\u2e80-\u303f\u3100-\u312f\u31f0-\u31ff\uff00-\uff65"
"""Punctuation of these scripts, parts of characters, and letters in full width."""

CJK = f"{HAN}{KANA}{HANGUL}"
"""Chinese, Japanese and Korean."""

CJK_CHARACTER = late_pattern(f"[{CJK}]")
CJK_RUN = late_pattern(f"([{CJK}]+)")
HAN_CHARACTER = late_pattern(f"[{HAN}]")
KANA_CHARACTER = late_pattern(f"[{KANA}]")
HANGUL_RUN = late_pattern(f"([{HANGUL}]+)")

SCRIPTS = {
    "latin-extended": "\u1e00-\u1eff",
    "cyrillic": "\u0400-\u052f\u1c80-\u1c8f\u2de0-\u2dff\ua640-\ua69f",
    "greek": "\u0370-\u03ff\u1f00-\u1fff",
    "han": HAN,
    "kana": KANA,
    "hangul": HANGUL,
    "arabic": "\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff",
    "hebrew": "\u0590-\u05ff",
    "devanagari": "\u0900-\u097f",
    "thai": "\u0e00-\u0e7f",
}
"""The scripts besides Latin that a model may read; ranges for a class of a pattern."""

_SCRIPT = late_pattern(
    "|".join(f"(?P<s{n}>[{range_}])" for n, range_ in enumerate(SCRIPTS.values()))
)

_UNSPACED = late_pattern(f"[{HAN}{KANA}{WIDE_SIGNS}]")

# Full-width punctuation that ends a word is left as it is: "：" ends one where ":" does not.
_OTHER_WIDTH = late_pattern("[\uff02-\uff07\uff0a\uff0b\uff0d-\uff19\uff1c-\uff1e\uff20-\uffef]+")


def is_unspaced(character: str) -> bool:
    """Return whether it is of a script that puts no spaces between words, as Korean does."""
    return not character.isascii() and _UNSPACED.match(character) is not None


def scripts_of(vocabulary: Iterable[str]) -> tuple[str, ...]:
    """Return the scripts besides Latin in which a model knows enough pieces of words."""
    pieces: Counter[str] = Counter()
    for character, count in Counter(piece[-1:] for piece in vocabulary).items():
        if not character.isascii() and (script := _SCRIPT.match(character)):
            pieces[str(script.lastgroup)] += count
    # English vocabularies have up to 488 of a script: its letters, and few words.
    return tuple(name for n, name in enumerate(SCRIPTS) if pieces[f"s{n}"] >= 1000)


def readable_share(text: str, scripts: Collection[str] | None) -> float:
    """Return the share of a text's letters that are Latin or of these scripts.

    It is 1 when the text has no letters, and for a model that reads every script (None).
    """
    if scripts is None or text.isascii():
        return 1.0
    others = sum(map(str.isalpha, "".join(_unread(tuple(scripts)).findall(text))))
    return 1.0 - others / sum(map(str.isalpha, text)) if others else 1.0


@cache
def _unread(scripts: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern of the characters that no Latin alphabet in use and no such script has."""
    return re.compile(f"[^\0-\u024f{''.join(SCRIPTS[name] for name in scripts)}]+")


def is_readable(text: str, scripts: Collection[str] | None) -> bool:
    """Tell whether a model that reads Latin and these scripts is given a text: a tenth is enough.

    Vectors of other texts would count for less than a thousandth in a search (see the stage
    `readable`), and Chinese takes as long to embed as English.
    """
    return readable_share(text, scripts) >= 0.1


def one_width(text: str) -> str:
    """Write full-width letters and half-width katakana of a text in their usual width.

    The other differences that NFKC levels are kept: they tell terms apart, as in `x²` and `x2`.
    """
    if not text.isascii():
        text = _OTHER_WIDTH.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text)
    return unicodedata.normalize("NFC", text)


def pairs(run: str) -> Iterator[str]:
    """Yield the overlapping pairs of a run and its Chinese characters, in the order of the text.

    One Chinese character is often a whole word, which no pair would find.
    """
    last = len(run) - 1
    for place, character in enumerate(run):
        if not last or HAN_CHARACTER.match(character):
            yield character
        if place < last:
            yield run[place : place + 2]


# ── The words of a run, as the settings want them ────────────────────────────
# Tokenizers are installed as an extra. Each is loaded when the first text in its language turns up,
# once per process, and is used by one thread at a time. What it makes of a run is a list of words
# in the order of the text, without grammar.

_PACKAGES = {
    "japanese": ("sudachipy", "sudachidict-small"),
    "korean": ("kiwipiepy", "kiwipiepy-model"),
    "chinese": ("rjieba",),
}
_LONGEST = 1000  # characters at once; the tokenizers refuse or crawl through runs without end
_loading = Lock()

# Words too common to tell texts apart, in the normal form of the tokenizers.
_JAPANESE_COMMON = "為る 居る 有る 成る 出来る 下さる こと もの よう ため 御".split()  # noqa: SIM905  (one line)
_KOREAN_COMMON = "하다 있다 없다 되다 이렇다 그렇다 같다 것 수 등 때".split()  # noqa: SIM905  (as above)

# Particles, endings and signs say how words are joined, not what a text is about.
_JAPANESE_GRAMMAR = frozenset(["助詞", "助動詞", "補助記号", "空白", "連体詞", "接続詞", "代名詞"])
_KOREAN_WORDS = frozenset(["NNG", "NNP", "NNB", "NR", "VV", "VA", "MAG", "XR", "SH"])
_PAIR = re.compile("(?=(..))")


class CjkTerms:
    """Cuts runs by the tokenizers that are wanted and installed, and into pairs otherwise."""

    def __init__(self, tokenizer: str, stopwords: bool) -> None:
        # Two tokenizers draw the borders of words differently. Where the text decides which one
        # reads Chinese characters, a few of them in a query may be read otherwise than those of
        # the documents; each character by itself is what all readings have in common.
        self.by_text = tokenizer == "auto"
        self._common = not stopwords  # words too common to tell texts apart, too
        self._han = tokenizer if tokenizer in _PACKAGES else "chinese"
        self._used: list[str] = []  # the languages that are cut by a tokenizer
        if tokenizer != "default":
            self._used = sorted(filter(versions_of, {"japanese", "korean", self._han}))
        if tokenizer in _PACKAGES and tokenizer not in self._used:
            raise BadSettings(
                f"keyword.tokenizer is {tokenizer!r}, but that tokenizer is not installed.",
                f'Install it with: pip install "{DISTRIBUTION}[cjk]"',
            )
        # The packages that terms depend on, with their versions.
        self.versions = ", ".join(versions_of(language) for language in self._used)

    def terms(self, run: str, japanese: bool) -> Iterator[str]:
        """Yield the terms of a run, in a text that is Japanese or not known to be."""
        if not self._used:
            yield from pairs(run)
            return
        for index, piece in enumerate(HANGUL_RUN.split(run)):
            others = "japanese" if japanese or KANA_CHARACTER.search(piece) else self._han
            language = "korean" if index % 2 else others
            if language not in self._used:
                yield from pairs(piece)
            else:
                words = _tokenizer(language).words
                for start in range(0, len(piece), _LONGEST):
                    yield from words(piece[start : start + _LONGEST], self.by_text, self._common)


@cache
def versions_of(language: str) -> str:
    """Return the packages that cut this language, with versions; "" when one is missing."""
    from importlib import metadata  # noqa: PLC0415  (30 ms that only these languages need)

    try:
        found = [f"{package} {metadata.version(package)}" for package in _PACKAGES[language]]
    except metadata.PackageNotFoundError:
        return ""
    return ", ".join(found)


def _tokenizer(language: str) -> _Chinese | _Japanese | _Korean:
    try:
        with _loading:  # two threads that come at once must not load two dictionaries
            return _load(language)
    except Exception as error:  # each library has its own ways to fail
        raise BadSettings(
            f"The tokenizer for {language} is installed but cannot be loaded: {error}",
            f"Reinstall it with: pip install --force-reinstall {' '.join(_PACKAGES[language])},"
            " or do without it: keyword.tokenizer = default",
        ) from error


@cache
def _load(language: str) -> _Chinese | _Japanese | _Korean:
    if language == "japanese":
        return _Japanese()
    return _Korean() if language == "korean" else _Chinese()


# In each: with `characters`, the Chinese characters of a run one by one, too; with `common`, words
# too common to tell texts apart, too.


class _Chinese:
    """jieba's dictionary: long words before the shorter ones inside them."""

    def __init__(self) -> None:
        import rjieba  # noqa: PLC0415  (0.1 s and 33 MB that only Chinese text needs)

        self._tokenizer = rjieba.Jieba()

    def words(self, run: str, characters: bool, common: bool) -> Iterator[str]:  # noqa: ARG002
        spans = {(start, -end) for _, start, end in self._tokenizer.tokenize(run, "search")}
        if characters:
            spans |= {(place, -place - 1) for place in range(len(run))}
        return (run[start:-end] for start, end in sorted(spans))


class _Japanese:
    """Sudachi's short units in their normal form, so that サーバ and サーバー are one word."""

    def __init__(self) -> None:
        import sudachipy  # noqa: PLC0415  (45 MB that only Japanese text needs)

        self._tokenizer = sudachipy.Dictionary(dict="small").tokenizer(sudachipy.SplitMode.A)
        self._turn = Lock()

    def words(self, run: str, characters: bool, common: bool) -> Iterator[str]:
        with self._turn:
            found = [
                (morpheme.normalized_form().casefold(), morpheme.surface())
                for morpheme in self._tokenizer.tokenize(run)
                if morpheme.part_of_speech()[0] not in _JAPANESE_GRAMMAR
            ]
        for word, written in found:
            if common or word not in _JAPANESE_COMMON:
                yield word
                if characters and written != word[:1]:
                    yield from HAN_CHARACTER.findall(written)


class _Korean:
    """Kiwi's morphemes: nouns as they are, verbs in the form of the dictionary."""

    def __init__(self) -> None:
        import kiwipiepy  # noqa: PLC0415  (0.7 s and 250 MB that only Korean text needs)

        # The names and phrases that it can load in addition take as much again, and 3 s.
        self._tokenizer = kiwipiepy.Kiwi(
            num_workers=1, load_default_dict=False, load_typo_dict=False, load_multi_dict=False
        )
        self._turn = Lock()

    def words(self, run: str, characters: bool, common: bool) -> Iterator[str]:  # noqa: ARG002
        with self._turn:
            found = [(token.lemma, token.tag) for token in self._tokenizer.tokenize(run)]
        for word, tag in found:
            if tag.split("-")[0] in _KOREAN_WORDS and (common or word not in _KOREAN_COMMON):
                yield word
                if len(word) > 2:
                    # A compound that no dictionary knows is found by what it is made of.
                    yield from _PAIR.findall(word)
