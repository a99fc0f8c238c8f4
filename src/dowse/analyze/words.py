"""A text's words, cut so that technical terms survive as written.

`Node.js` becomes node.js and its parts node and js, so that it is found as written before it is
found by a part. Chinese, Japanese and Korean runs become overlapping pairs of characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from dowse.analyze.stopwords import STOPWORDS

_HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_KANA = "\u3040-\u30ff\uff66-\uff9f"
_HANGUL = "\uac00-\ud7af\u1100-\u11ff"
_CJK_RUN = re.compile(f"([{_HAN}{_KANA}{_HANGUL}]+)")
# Brackets, quotes, commas and emphasis end a word; dots, dashes, slashes and colons may not.
_RUN = re.compile(r"[^\s()\[\]{}<>\"`,;|=*“”„«»…、。，；：！？「」『』（）【】《》]+")
_EDGES = re.compile(r"^[!?:'’&^~%+]+|[.!?:'’&^~/\-_]+$|^[_#@$]+(?=\w)|(?<=\w\w)[+#]$")
_PART = re.compile(r"\w+")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\da-zA-Z_]+")
_LONGEST = 64  # characters; what is longer is no word that anyone types


def split_identifier(name: str) -> list[str]:
    """The words inside an identifier, in lower case: `HTTPResponse_v2` gives http response v 2."""
    return [part.lower() for part in _CAMEL.findall(name)]


class WordTerms:
    """Turns running text into terms; remembers words it has seen, since most recur."""

    def __init__(self, stem: Callable[[str], str] | None, stopwords: bool) -> None:
        self._stem = stem
        self._stopwords = STOPWORDS if stopwords else frozenset[str]()
        self._seen: dict[str, tuple[str, ...]] = {}

    def positions(self, text: str) -> Iterator[tuple[str, int]]:
        """The terms of a text with their positions."""
        position = 0
        for run in _RUN.findall(text):
            terms = self._seen.get(run)
            if terms is None:
                terms = self._remember(run)
            for term in terms:
                yield term, position
                position += 1

    def _remember(self, run: str) -> tuple[str, ...]:
        if len(self._seen) > 200_000:  # keeps a long-running process small
            self._seen.clear()
        terms = tuple(self._terms(run))
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
        if not whole or len(whole) > _LONGEST:
            yield from self._plain_parts(word)
        elif whole.isalnum():
            parts = split_identifier(word)
            if len(parts) > 1 and not word[1:].islower():
                yield whole
                yield from self._plain(parts)
            else:
                yield from self._plain([whole])
        elif any(character.isalnum() for character in whole):
            yield whole
            yield from self._plain_parts(word)

    def _plain_parts(self, word: str) -> Iterator[str]:
        for part in _PART.findall(word):
            yield from self._plain(split_identifier(part[: 4 * _LONGEST]))

    def _plain(self, words: list[str]) -> Iterator[str]:
        for word in words:
            if len(word) >= 2 and word not in self._stopwords:
                yield self._stem(word) if self._stem else word


def _pairs(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for start in range(len(run) - 1):
        yield run[start : start + 2]
