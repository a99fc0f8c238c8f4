"""Fitting results into a token budget, without knowing whose tokens they are.

Which model will read the results is unknown, so tokens are estimated from the kinds of characters.
The estimate is meant to be too high rather than too low: a budget is a promise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from dowse.text.amounts import counted
from dowse.text.scripts import HAN, HANGUL, KANA, WIDE_SIGNS
from dowse.text.shorten import shorten
from dowse.types import Response

_RUN = re.compile(
    rf"""
      (?P<word>[A-Z]?[a-z]+)
    | (?P<capitals>[A-Z]+)
    | (?P<digits>[0-9]+)
    | (?P<space>\s+)
    | (?P<letters>[\u00c0-\u024f]+)
    | (?P<rare>[\U00010000-\U0010ffff\ud800-\udfff\ue000-\uf8ff\u3130-\u318f]+)
    | (?P<kana>[{KANA}]+)
    | (?P<hangul>[{HANGUL}]+)
    | (?P<han>[{HAN}{WIDE_SIGNS}]+)
    | (?P<sign>.)
    """,
    re.VERBOSE,
)
# Characters per token of each kind. Against the tokenizer of the model that ships, passages of
# English, code and Chinese come out 1.2 times too long in the median, and fewer than one in two
# hundred too short; other tokenizers take fewer tokens for most of these kinds.
_PER_TOKEN = {
    "word": 5.0,
    "capitals": 2.0,
    "digits": 1.5,
    "letters": 1.0,
    "han": 0.8,
    "kana": 1.0,
    "hangul": 0.4,
    "rare": 0.3,
    "sign": 1.0,
}
_LEAST = 12  # tokens; less of a text than this says nothing


def count_tokens(text: str) -> int:
    """How many tokens a model takes for a text, by an estimate that is rather too high."""
    return sum(cost for _, cost in _costs(text))


def _costs(text: str) -> Iterator[tuple[int, int]]:
    """Where each run of like characters ends, and how many tokens it takes."""
    for match in _RUN.finditer(text):
        kind = match.lastgroup or "sign"
        size = match.end() - match.start()
        if kind == "space":
            # One blank belongs to the next word; line ends and indentation are tokens of their own.
            yield match.end(), 0 if match[0] == " " else 1
        else:
            yield match.end(), -int(-size // _PER_TOKEN[kind])


def fit(texts: Sequence[str], max_tokens: int, fixed: int = 0) -> list[str | None]:
    """The texts that fit into a budget, best first: whole while they fit, then one cut, then None.

    `fixed` tokens are counted for each text that is kept, for what stands around it. The text that
    is cut ends at a sentence, a line or at least a word, with `…` after it.
    """
    kept: list[str | None] = []
    room, full = max_tokens, False
    for text in texts:
        fitting = None if full else _fitted(text, room - fixed)
        full = fitting != text
        kept.append(fitting)
        room -= fixed + count_tokens(fitting or "")
    return kept


def _fitted(text: str, room: int) -> str | None:
    """The text, or its beginning, in so many tokens; None when too little of it would be left."""
    size = _length_within(text, room)
    if size == len(text):
        return text if room >= 0 else None
    cut = shorten(text, size)
    while cut and count_tokens(cut) > room:
        size = min(size - 1, len(cut) - 1)
        cut = shorten(text, size)
    return cut if cut and count_tokens(cut) >= min(_LEAST, room) else None


def _length_within(text: str, room: int) -> int:
    """How many characters of the text take at most so many tokens."""
    spent = end = 0
    for end_of_run, cost in _costs(text):
        spent += cost
        if spent > room:
            return end
        end = end_of_run
    return len(text)


def tokens_of_texts(response: Response) -> int:
    """How many tokens a model takes for the texts of the hits."""
    return sum(count_tokens(hit.text) for hit in response.hits)


def within_budget(
    response: Response, max_tokens: int, tokens: Callable[[Response], int]
) -> Response:
    """The response with as much of its results as a budget takes; `tokens` counts what it takes."""
    bare = tokens(replace(response, hits=()))
    around = [
        tokens(replace(response, hits=(replace(hit, text=""),))) - bare for hit in response.hits
    ]
    room = max_tokens - bare
    fitted = _cut(response, room, max(around, default=0), max_tokens)
    # What is printed can take more than its parts: the notice of what was left out is one more.
    while fitted.hits and (excess := tokens(fitted) - max_tokens) > 0:
        room -= excess
        fitted = _cut(response, room, max(around), max_tokens)
    return fitted


def within_texts(response: Response, max_tokens: int | None) -> Response:
    """The response with as much of the texts as a budget takes; what an answer cites stays."""
    if max_tokens is None:
        return response
    fitted = within_budget(response, max_tokens, tokens_of_texts)
    cited = max(response.answer.sources, default=0) if response.answer else 0
    bare = (replace(hit, text="") for hit in response.hits[len(fitted.hits) : cited])
    return replace(fitted, hits=(*fitted.hits, *bare))


def _cut(response: Response, room: int, around: int, max_tokens: int) -> Response:
    texts = fit([hit.text for hit in response.hits], max(0, room), around)
    pairs = zip(response.hits, texts, strict=True)
    hits = tuple(replace(hit, text=text) for hit, text in pairs if text is not None)
    if hits == response.hits:
        return response
    found = counted(len(response.hits), "result")
    shortened = hits and hits[-1].text != response.hits[len(hits) - 1].text
    told = f"{len(hits)} of {found} fit into {max_tokens:,} tokens"
    notice = f"{told}, the last one cut." if shortened else f"{told}."
    return replace(response, hits=hits, notices=(*response.notices, notice))
