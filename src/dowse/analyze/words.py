"""A text's words, cut so that technical terms survive as written.

`Node.js` becomes node.js and its parts node and js, so that it is found as written before it is
found by a part. Chinese, Japanese and Korean runs become overlapping pairs of characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator

from dowse.analyze.stopwords import STOPWORDS

LONGEST = 64
"""Characters of the longest term; what is longer is no word that anyone types."""

_HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA = "\u3040-\u30ff\uff66-\uff9f"
_HANGUL = "\uac00-\ud7af\u1100-\u11ff"
_CJK_RUN = re.compile(f"([{_HAN}{_KANA}{_HANGUL}]+)")
# Brackets, quotes, commas and emphasis end a word; dots, dashes, slashes and colons may not.
_RUN = re.compile(r"[^\s()\[\]{}<>\"`,;|=*“”„«»…、。，；：！？「」『』（）【】《》]+")
_EDGES = re.compile(r"^[!?:'’&^~%+]+|[.!?:'’&^~/\-_]+$|^[_#@$]+(?=\w)|(?<=\w\w)[+#]$")
_PART = re.compile(r"(?<!\w)[^\W\d_](?:\+\+|#)(?!\w)|\w+")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|\?+")


def split_identifier(name: str) -> list[str]:
    """The words inside an identifier, in lower case: `HTTPResponse_v2` gives http response v 2."""
    shape = name if name.isascii() else "".join(map(_shape, name))
    return [name[match.start() : match.end()].casefold() for match in _CAMEL.finditer(shape)]


def _shape(character: str) -> str:
    """An ASCII character that is cut alike; "?" for letters that are neither large nor small."""
    if character.isupper() or character.istitle():
        return "A"
    if character.islower():
        return "a"
    if character.isdecimal():
        return "0"
    return "?" if character.isalnum() else "_"


class WordTerms:
    """Turns running text into terms; remembers words it has seen, since most recur."""

    def __init__(self, stem: Callable[[str], str] | None, stopwords: bool) -> None:
        self._stem = stem
        self._stopwords = STOPWORDS if stopwords else frozenset[str]()
        self._seen: dict[str, tuple[str, ...]] = {}

    def terms(self, text: str) -> list[str]:
        """The terms of a text, in their order."""
        found: list[str] = []
        for run in _RUN.findall(unicodedata.normalize("NFC", text)):
            known = self._seen.get(run)
            found += self._remember(run) if known is None else known
        return found

    def _remember(self, run: str) -> tuple[str, ...]:
        terms = tuple(self._terms(run))
        if len(self._seen) > 200_000:  # keeps a long-running process small
            self._seen.clear()
        if len(run) <= LONGEST:
            self._seen[run] = terms
        return terms

    def _terms(self, run: str) -> Iterator[str]:
        for index, piece in enumerate(_CJK_RUN.split(run)):
            if index % 2:
                yield from _pairs(piece)
            elif piece:
                yield from self._western(piece)

    def _western(self, piece: str) -> Iterator[str]:
        word = _EDGES.sub("", _EDGES.sub("", piece))
        whole = word.casefold()
        if not whole or len(whole) > LONGEST:
            yield from self._plain_parts(word)
        elif whole.isalnum():
            # The whole is stemmed as if it were written in small letters, so that either finds it.
            yield from self._plain([whole])
            parts = split_identifier(word)
            if len(parts) > 1 and not word[1:].islower():
                yield from self._plain(parts)
        elif any(character.isalnum() for character in whole):
            yield whole
            yield from (part for part in self._plain_parts(word) if part != whole)

    def _plain_parts(self, word: str) -> Iterator[str]:
        for part in _PART.findall(word):
            if part[-1] in "+#":
                yield part.casefold()
            else:
                yield from self._plain(split_identifier(part[: 4 * LONGEST]))

    def _plain(self, words: list[str]) -> Iterator[str]:
        for word in words:
            if len(word) >= 2 and word not in self._stopwords:
                yield self._stem(word) if self._stem else word


def _pairs(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for start in range(len(run) - 1):
        yield run[start : start + 2]
