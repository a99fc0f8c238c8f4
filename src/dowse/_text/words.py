"""A text's words, cut so that technical terms survive as written.

`Node.js` becomes node.js and its parts node and js, so that it is found as written before it is
found by a part. What is written without spaces is cut by the rules of its language.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from itertools import chain

from dowse._text.cjk import CjkTerms
from dowse._text.scripts import CJK_RUN, one_width

# ── The words inside an identifier, in whatever style it is written ───────


_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|\?+")
_SNAKE = re.compile(r"[^\W\d_][^\W_]*(?:_+[^\W\d_][^\W_]*)+")


def split_identifier(name: str) -> list[str]:
    """The words inside an identifier, in lower case: `HTTPResponse_v2` gives http response v 2."""
    shape = name if name.isascii() else "".join(map(_shape, name))
    return [name[match.start() : match.end()].casefold() for match in _CAMEL.finditer(shape)]


def joined(name: str) -> list[str]:
    """What `get_user` is as a whole in the style of `getUser`, so that one finds the other."""
    return [name.replace("_", "")] if "_" in name and _SNAKE.fullmatch(name) else []


def _shape(character: str) -> str:
    """An ASCII character that is cut alike; "?" for letters that are neither large nor small."""
    if character.isupper() or character.istitle():
        return "A"
    if character.islower():
        return "a"
    if character.isdecimal():
        return "0"
    return "?" if character.isalnum() else "_"


# ── Words too common to tell documents apart ──────────────────────────────


_WORDS = """
    a about above after again all also although am among an and another any are as at be
    because been before being below between both but by can cannot could did do does doing
    done down during each either else ever every few for from further get gets had has have
    having he her here hers herself him himself his how however i if in into is it its
    itself just let like may me might more most much must my myself neither no nor not now
    of off on once only or other our ours ourselves out over own per quite rather same shall
    she should since so some such than that the their theirs them themselves then there
    these they this those though through thus to too under until up upon us very via was we
    were what when where whether which while who whom whose why will with within without
    would yet you your yours yourself yourselves
"""

STOPWORDS = frozenset(_WORDS.split())
"""The English words that keyword analysis and the vocabulary leave out."""

LONGEST = 64
"""Characters of the longest term; what is longer is no word that anyone types."""

_LONGEST_KEPT = 24  # characters of a run in another script; longer ones seldom come again
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

    def __init__(self, stem: Callable[[str], str] | None, stopwords: bool, cjk: CjkTerms) -> None:
        self._stem = stem
        self._stopwords = STOPWORDS if stopwords else frozenset[str]()
        self._cjk = cjk
        self._of_run = {
            False: _Remembered(partial(self._terms, japanese=False)),
            True: _Remembered(partial(self._terms, japanese=True)),
        }
        self._of_part = _Remembered(self._part)

    def terms(self, text: str) -> list[str]:
        """The terms of a text, in their order."""
        if text.isascii():
            return self._terms_of(text, japanese=False)
        return self._terms_of(unicodedata.normalize("NFC", text), self._cjk.is_japanese(text))

    def _terms_of(self, text: str, japanese: bool) -> list[str]:
        pattern = _RUN_WITH_SIGNS if _SIGNS.search(text) else _RUN
        return self._of_run[japanese].all(pattern.findall(text))

    def _terms(self, run: str, japanese: bool) -> Iterable[str]:
        if run.isascii():
            return self._western(run)
        return self._mixed(run, japanese)

    def _mixed(self, run: str, japanese: bool) -> Iterator[str]:
        usual = one_width(run)
        if usual != run:
            yield from self._terms_of(usual, japanese)
            return
        for index, piece in enumerate(CJK_RUN.split(run)):
            if index % 2:
                yield from self._cjk.terms(piece, japanese)
            elif piece:
                yield from self._western(piece)

    def _western(self, piece: str) -> list[str]:
        word = piece if piece.isalnum() else _bare(piece)
        whole = word.casefold()
        if not whole or len(whole) > LONGEST:
            return self._parts(word)
        if whole.isalnum():
            return self._alphanumeric(word, whole)
        if decorated := _DECORATED.fullmatch(word):
            return [whole, *self._western(decorated[1] or decorated[2])]
        return self._compound(word, whole)

    def _compound(self, word: str, whole: str) -> list[str]:
        if not any(map(str.isalnum, whole)):
            return []
        parts = [part for part in self._parts(word) if part != whole]
        return [whole, *self._plain(joined(whole)), *parts]

    def _alphanumeric(self, word: str, whole: str) -> list[str]:
        # The whole is stemmed as if it were written in small letters, so that either finds it.
        plain = self._plain([whole])
        if word[1:].islower():
            return plain
        parts = split_identifier(word)
        return plain + self._plain(parts) if len(parts) > 1 else plain

    def _parts(self, word: str) -> list[str]:
        return self._of_part.all(_PART.findall(word))

    def _part(self, part: str) -> list[str]:
        if part[-1] in "+#":
            return [part.casefold()]
        return self._plain(split_identifier(part[: 4 * LONGEST]))

    def _plain(self, words: list[str]) -> list[str]:
        kept = [word for word in words if len(word) >= 2 and word not in self._stopwords]
        return [self._stem(word) for word in kept] if self._stem else kept


class _Remembered(dict[str, tuple[str, ...]]):
    """The terms of pieces of text; those of most pieces are kept."""

    def __init__(self, make: Callable[[str], Iterable[str]]) -> None:
        super().__init__()
        self._make = make

    def all(self, pieces: list[str]) -> list[str]:
        """The terms of several pieces, in their order."""
        return list(chain.from_iterable(map(self.__getitem__, pieces)))

    def __missing__(self, piece: str) -> tuple[str, ...]:
        # A dictionary of Chinese, Japanese or Korean may know words with a blank in them.
        terms = tuple(" ".join(self._make(piece)).split())
        if len(self) > 50_000:  # keeps a long-running process small
            self.clear()
        if len(piece) <= (LONGEST if piece.isascii() else _LONGEST_KEPT):
            self[piece] = terms
        return terms


def _bare(piece: str) -> str:
    """A piece of text without the signs before and after its word: up to two at each end."""
    once = _trimmed(piece)
    return once if once == piece or once.isalnum() else _trimmed(once)


def _trimmed(piece: str) -> str:
    """A piece of text without the signs before and after its word: one at each end."""
    leading = _LEADING.match(piece)
    word = piece[leading.end() :] if leading else piece
    bare = word.rstrip(_TRAILING)  # a pattern that ends with $ would try again at every sign
    if bare != word:
        return bare
    if word[-1:] in {"s", "S"} and word[-2:-1] in {"'", "’"}:
        return word[:-2]
    return word[:-1] if word and _AFTER_A_WORD.fullmatch(piece[-3:]) else word


# ── The terms of code: identifiers as written and their parts, never stemmed ───


_IDENTIFIER = re.compile(r"(?<!\w)[A-Za-z](?:\+\+|#)(?!\w)|\w+(?:(?:::|\.|->)\w+)*")


def code_terms(text: str) -> Iterator[str]:
    """The terms of a piece of code, in their order."""
    names = _IDENTIFIER.findall(unicodedata.normalize("NFC", text))
    return chain.from_iterable(map(_terms_of, names))


def _terms_of(name: str) -> tuple[str, ...]:
    return _remembered(name) if len(name) <= LONGEST else _terms(name)


def _terms(name: str) -> tuple[str, ...]:
    whole = name.casefold()
    if name[-1] in "+#":
        return (whole,)
    parts = split_identifier(name)
    wholes = (whole, *joined(whole)) if [whole] != parts and len(whole) <= LONGEST else ()
    return (*wholes, *(part for part in parts if len(part) <= LONGEST))


_remembered = lru_cache(20_000)(_terms)  # most names recur
