"""A text's words, cut so that technical terms survive as written; and the words of code.

`Node.js` becomes node.js and its parts node and js, so that it is found as written before it is
found by a part. What is written without spaces is cut by the rules of its language.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain

from dowse._text.cjk import CjkTerms
from dowse._text.scripts import CJK_RUN, one_width

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
            False: _Remembered(partial(self._run_terms, japanese=False)),
            True: _Remembered(partial(self._run_terms, japanese=True)),
        }

    def terms(self, text: str, japanese: bool | None = None) -> list[str]:
        """Return the terms of a text, in their order; if None, the text says if it is Japanese."""
        if not text.isascii():
            japanese = self._cjk.is_japanese(text) if japanese is None else japanese
            text = unicodedata.normalize("NFC", text)
        pattern = _RUN_WITH_SIGNS if _SIGNS.search(text) else _RUN
        known = self._of_run[bool(japanese)]
        return list(chain.from_iterable(map(known.__getitem__, pattern.findall(text))))

    def _run_terms(self, run: str, japanese: bool) -> Iterable[str]:
        """Cut what has no blanks: between scripts, then each piece by the rules of its script."""
        if run.isascii():
            return self._western(run)
        usual = one_width(run)
        if usual != run:
            return self.terms(usual, japanese)
        terms: list[str] = []
        for index, piece in enumerate(CJK_RUN.split(run)):
            if index % 2:
                terms.extend(self._cjk.terms(piece, japanese))
            elif piece:
                terms.extend(self._western(piece))
        return terms

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
            is_name = part[-1] in "+#"  # C++, C#
            words = [part.casefold()] if is_name else split_identifier(part[: 4 * LONGEST])
            parts += words if is_name else self._plain(words)
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
        if len(piece) <= (LONGEST if piece.isascii() else _LONGEST_KEPT):
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


def split_identifier(name: str) -> list[str]:
    """Split an identifier into words, in lower case: `HTTPResponse_v2` is http response v 2."""
    shape = name if name.isascii() else "".join(map(_shape, name))
    return [name[match.start() : match.end()].casefold() for match in _CAMEL.finditer(shape)]


def joined(name: str) -> list[str]:
    """Return `get_user` as a whole in the style of `getUser`, so that one finds the other."""
    return [name.replace("_", "")] if "_" in name and _SNAKE.fullmatch(name) else []


def _shape(character: str) -> str:
    """Return an ASCII character that is cut alike; "?" for letters without case."""
    if character.isupper() or character.istitle():
        return "A"
    if character.islower():
        return "a"
    if character.isdecimal():
        return "0"
    return "?" if character.isalnum() else "_"


def code_terms(text: str) -> Iterator[str]:
    """Return the terms of a piece of code, in their order: never stemmed, and with their parts."""
    names = _IDENTIFIER.findall(unicodedata.normalize("NFC", text))
    return chain.from_iterable(map(_OF_NAME.__getitem__, names))


def _name_terms(name: str) -> Iterable[str]:
    whole = name.casefold()
    if name[-1] in "+#":
        return (whole,)
    parts = split_identifier(name)
    wholes = (whole, *joined(whole)) if [whole] != parts and len(whole) <= LONGEST else ()
    return (*wholes, *(part for part in parts if len(part) <= LONGEST))


_OF_NAME = _Remembered(_name_terms)
