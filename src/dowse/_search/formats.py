"""A response as text: fitted into a budget of tokens, as Markdown, as lines of grep.

Which model will read the results is unknown, so tokens are estimated from the kinds of characters.
The estimate is meant to be a little too high rather than too low: a budget is a promise, and what
is left of it is wasted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from msgspec.structs import replace

from dowse._model import Hit, Response, also_at, header_line, place_of
from dowse._model.search import NO_GOOD_MATCH
from dowse._text.scripts import HAN, HANGUL, KANA, WIDE_SIGNS, late_pattern
from dowse._text.sentences import shorten
from dowse._util.messages import counted

_T = TypeVar("_T")

_RUN = late_pattern(
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
    | (?P<signs>[!-/:-@\[-`{{-~]+)
    | (?P<other>.)
    """,
    re.VERBOSE,
)
# Characters per token of each kind, measured with cl100k_base: English Markdown comes out 1.05
# times too long in the median; what comes out too short does so by 5 % at most.
_PER_TOKEN = {
    "capitals": 4.0,
    "digits": 3.0,
    "letters": 1.0,
    "han": 0.8,
    "kana": 1.0,
    "hangul": 0.4,
    "rare": 0.3,
    "signs": 2.0,
    "other": 1.0,
}
_ENGLISH = re.compile(r"\b(?:the|of|and|to|is|in|for|that|with|it|not|or|be|this)\b")
_ONE_IN = 16  # words of an English text is one of these, at least
# Letters per token in words: most of those in English are one token, others are cut into several.
_IN_ENGLISH, _IN_ASCII, _IN_OTHERS = 7.0, 4.0, 3.0
_UNUSED = 0.02  # share of a budget that may be left while more would fit
_TRIES, _STEPS = 12, 3  # to find the room, and how many of them are guesses
_LEFT, _SHARE_LEFT = 40, 0.05  # that a cut at a sentence may leave: characters, share of the room
_LEAST = 12  # tokens; less of a text than this says nothing


def count_tokens(text: str) -> int:
    """Estimate, rather too high, how many tokens a model takes for a text."""
    return sum(cost for _, cost in _costs(text))


def _costs(text: str) -> Iterator[tuple[int, int]]:
    """Find where each run of like characters ends, and how many tokens it takes."""
    letters = _IN_ASCII if text.isascii() else _IN_OTHERS  # ASCII alone is often code
    if len(_ENGLISH.findall(text)) * _ONE_IN >= text.count(" "):
        letters = _IN_ENGLISH
    per_token = _PER_TOKEN | {"word": letters}
    for match in _RUN.finditer(text):
        kind = match.lastgroup or "other"
        if kind == "space":
            # One blank belongs to the next word; line ends and indentation are tokens of their own.
            yield match.end(), 0 if match[0] == " " else 1
        else:
            yield match.end(), -int(-len(match[0]) // per_token[kind])


def fit(texts: Sequence[str], max_tokens: int, around: Sequence[int] = ()) -> list[str | None]:
    """Fit texts into a budget, best first: whole while they fit, then one cut, then None.

    `around` has the tokens of what is around each text, which are counted where it is kept. The
    text that is cut ends at a sentence, a line or at least a word, with `…` after it.
    """
    kept: list[str | None] = []
    room, full = max_tokens, False
    for text, fixed in zip(texts, around or [0] * len(texts), strict=True):
        fitting = None if full else _fitted(text, room - fixed)
        full = fitting != text
        kept.append(fitting)
        room -= fixed + count_tokens(fitting or "")
    return kept


def _fitted(text: str, room: int) -> str | None:
    """Cut a text to so many tokens; return None when too little of it would be left."""
    size = _length_within(text, room)
    if size == len(text):
        return text if room >= 0 else None
    cut = shorten(text, size, _LEFT, _SHARE_LEFT)
    while cut and count_tokens(cut) > room:
        size = min(size - 1, len(cut) - 1)
        cut = shorten(text, size, _LEFT, _SHARE_LEFT)
    return cut if cut and count_tokens(cut) >= min(_LEAST, room) else None


def _length_within(text: str, room: int) -> int:
    """Count the characters of the text that take at most so many tokens."""
    spent = end = 0
    for end_of_run, cost in _costs(text):
        spent += cost
        if spent > room:
            return end
        end = end_of_run
    return len(text)


def tokens_of_texts(response: Response) -> int:
    """Estimate how many tokens a model takes for the texts of the hits."""
    return sum(count_tokens(hit.text) for hit in response.hits)


def within_budget(
    response: Response, max_tokens: int, tokens: Callable[[Response], int]
) -> Response:
    """Keep as much of the results as a budget takes; `tokens` counts what a response takes."""
    if tokens(response) <= max_tokens:
        return response
    bare = tokens(replace(response, hits=()))
    around = [
        tokens(replace(response, hits=(replace(hit, text=""),))) - bare for hit in response.hits
    ]
    return fill(
        lambda room: _cut(response, room, around, max_tokens),
        tokens,
        max_tokens,
        max_tokens - bare,
    )


def fill(make: Callable[[int], _T], tokens: Callable[[_T], int], max_tokens: int, room: int) -> _T:
    """Find the largest that `make` gives for a room and that keeps to a budget.

    What is printed takes more or less than its parts: notices are added, documents are linked once,
    and signs are escaped. So the room for the parts is searched for, from `room` on.
    """
    fitted = make(0)
    low, high = 0, 2 * max_tokens
    for tries in range(_TRIES):
        if high - low <= 1 + _UNUSED * max_tokens:
            break
        tried = make(room)
        spent = tokens(tried)
        if spent <= max_tokens:
            fitted, low = tried, room
        else:
            high = room
        better = room + max_tokens - spent
        # Small steps towards the budget may never reach it: then halves do.
        room = better if tries < _STEPS and low < better < high else (low + high) // 2
    return fitted


def within_texts(response: Response, max_tokens: int | None) -> Response:
    """Keep as much of the texts as a budget takes; what an answer cites stays."""
    if max_tokens is None:
        return response
    fitted = within_budget(response, max_tokens, tokens_of_texts)
    cited = max(response.answer.sources, default=0) if response.answer else 0
    bare = (replace(hit, text="") for hit in response.hits[len(fitted.hits) : cited])
    return replace(fitted, hits=(*fitted.hits, *bare))


def _cut(response: Response, room: int, around: Sequence[int], max_tokens: int) -> Response:
    hits, room = response.hits, max(0, room)
    texts = fit([hit.text for hit in hits], room, around)
    kept = [replace(hit, text=text) for hit, text in zip(hits, texts, strict=True) if text]
    notice = f"{len(kept)} of {counted(len(hits), 'result')} fit into {max_tokens:,} tokens"
    if kept and kept[-1].text != hits[len(kept) - 1].text:
        spent = sum(count_tokens(one.text) for one in kept[:-1]) + sum(around[: len(kept)])
        kept[-1] = _with_match(hits[len(kept) - 1], kept[-1], room - spent)
        notice += ", the last one cut"
    elif len(kept) == len(hits):
        return response
    return replace(response, hits=tuple(kept), notices=(*response.notices, f"{notice}."))


def _with_match(hit: Hit, cut: Hit, room: int) -> Hit:
    """Cut a hit's text; it begins later where the match would be lost otherwise."""
    before, lines = hit.line - hit.first_line, hit.text.split("\n")
    if cut.text.count("\n") >= before or before >= len(lines):
        return cut
    start = before
    while start and count_tokens("\n".join(lines[start - 1 :])) <= room:
        start -= 1
    text = _fitted("\n".join(lines[start:]), room)
    return replace(hit, text=text, first_line=hit.first_line + start) if text else cut


# ── A response as Markdown ──────────────────────────────────────────────────────


_SPECIAL = re.compile(r"([\\`*\[\]<>#|~&]|(?<!\w)_|_(?!\w))")
_BACKTICKS = re.compile(r"`+")


def as_markdown(response: Response) -> str:
    """Write each result as a heading line, then its text in a fence that it cannot break out of."""
    return "\n\n".join(_blocks(response)) + "\n"


def change_hits(response: Response, change: Callable[[Hit], Hit]) -> Response:
    """Change every hit of a response, also those that are only the nearest."""
    return replace(
        response,
        hits=tuple(map(change, response.hits)),
        nearest=tuple(map(change, response.nearest)),
    )


def with_projects(response: Response) -> Response:
    """Let each title name its project, where it is not the one that was searched."""

    def named(hit: Hit) -> Hit:
        if hit.project == response.project:
            return hit
        return replace(hit, title=f"{hit.title or hit.document} — {hit.project}")

    return change_hits(response, named)


def _blocks(response: Response) -> Iterator[str]:
    yield f"# Results for: {_inline(response.query)}"
    yield from (f"> {_inline(notice)}" for notice in response.notices)
    if response.no_good_match:
        yield from _removed(response)
        yield NO_GOOD_MATCH
    yield from _hits(response.hits, response.offset)
    # A budget may have left no room for what was found.
    if not response.hits and not response.counts.get("top_n"):
        yield "Nothing was found."
        yield from _removed(response)
        if response.nearest:
            yield "The nearest results below the threshold:"
            yield from _hits(response.nearest)


def _removed(response: Response) -> Iterator[str]:
    if response.removed:
        yield "\n".join(f"- {coded(one)} kept out {n}" for one, n in response.removed.items())


def _hits(hits: Sequence[Hit], offset: int = 0) -> Iterator[str]:
    for rank, hit in enumerate(hits, offset + 1):
        title = _inline(hit.title or hit.document)
        yield " · ".join((f"## {rank}. {title}", *_particulars(hit)))
        if hit.context:
            yield f"> {_inline(hit.context)}"
        yield fenced(hit.text)


def _particulars(hit: Hit) -> Iterator[str]:
    if hit.headings:
        yield header_line(tuple(map(_inline, hit.headings)))
    yield coded(place_of(hit.document, hit.page, f"{hit.first_line}-{hit.last_line}"))
    yield f"{hit.match} match" + (f" ({hit.reason})" if hit.reason else "")
    if hit.more:
        yield also_at(hit)
    if hit.stale:
        yield "changed since it was indexed"


def _inline(text: str) -> str:
    """Write a text on one line whose characters mean nothing but themselves."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def coded(text: str) -> str:
    """Write a text as a code span on one line, whatever backticks it holds."""
    flat = " ".join(text.split())
    ticks = "`" * _more_than_any(flat, 1)
    gap = " " if "`" in flat else ""
    return f"{ticks}{gap}{flat}{gap}{ticks}"


def fenced(text: str) -> str:
    """Put a text between fences that are longer than any in it, so that it cannot end them."""
    ticks = "`" * _more_than_any(text, 3)
    return f"{ticks}markdown\n{text.strip(chr(10))}\n{ticks}"


def _more_than_any(text: str, least: int) -> int:
    return max(least, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))


# ── A result as one line for editors and pipes: `path:line:column:text`, as grep prints it ───


_MARKED = re.compile(r"(?<!\\)\*\*(.+?)(?<!\\)\*\*")


def grep_line(hit: Hit, path: str) -> str:
    """Write the line of a result where the match is."""
    text, column = _matching_line(hit)
    return f"{path}:{hit.line}:{max(0, column) + 1}:{text.rstrip()}"


def _matching_line(hit: Hit) -> tuple[str, int]:
    """Return the line where the match is, and where in it a word of the query is; -1: nowhere."""
    words = {word.casefold() for word in _MARKED.findall(hit.snippet)}
    lines = hit.text.split("\n")
    text = lines[min(max(0, hit.line - hit.first_line), len(lines) - 1)]
    folded = text.casefold()
    return text, min((folded.find(word) for word in words if word in folded), default=-1)


_LONGEST = 160  # characters of a line of a list
_SAYS_LITTLE = re.compile(r"\s*(?:#|```|~~~|\|[\s:|-]*$|<!--|$)")


def to_one_line(hit: Hit) -> Hit:
    """Make the text of a hit the line that matches, or the part of it that does.

    Where no word of the query is in it, it is the first line from there on that says something,
    after its heading if the match begins with one.
    """
    text, column = _matching_line(hit)
    if column < 0:
        lines = enumerate(hit.text.split("\n")[max(0, hit.line - hit.first_line) :], hit.line)
        telling = ((number, one) for number, one in lines if not _SAYS_LITTLE.match(one))
        number, told = next(telling, (hit.line, ""))
        if text.lstrip().startswith("#"):
            number, told = hit.line, f"{text} {told}"
        return replace(hit, line=number, text=shorten(" ".join(told.split()), _LONGEST))
    text = " ".join(text.split())
    if len(text) > _LONGEST:
        text = _MARKED.sub(r"\1", hit.snippet).replace(r"\*", "*")
    return replace(hit, text=text)
