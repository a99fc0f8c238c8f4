"""An answer in the documents' own words: the sentences of the results that answer best."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from dowse._model import Answer, Hit, Sentence, embedding_text
from dowse._text.markdown import (
    Piece,
    heading_path,
    pieces,
    reveal,
    strip_marks,
    under_headings,
    without_images,
)
from dowse._text.matching import Wanted
from dowse._text.sentences import is_finished, split_sentences
from dowse._util.bounds import ALWAYS, NAME, Options, check_key_variable, check_web_address
from dowse.errors import BadSettings

# ── Markdown → sentences that read as prose ───────────────────────────────


# Numbers in brackets would be taken for citations of the answer.
_REFERENCE = re.compile(r"\s?(?<!\w)\[\d{1,3}(?:\s?[,–-]\s?\d{1,3})*\]")
_LONGEST_COMMAND = 160  # characters
_PROMPT = re.compile(r"^[$>%]\s+")


def sentences(text: str) -> list[str]:
    """Read the sentences of a text; a list item or a table row without a full stop counts as one.

    Headings and code are none, but one line of code right after a colon belongs to what leads to
    it: "Build it again with: dowse index --rebuild".
    """
    return [sentence for paragraph in paragraphs(text) for sentence in paragraph.sentences]


class Paragraph(Struct, frozen=True):
    """A paragraph, a list item or a row of a table."""

    headings: tuple[str, ...]  # in the text, that it is under
    sentences: list[str]
    cells: str = ""  # of a row: what it says without the names of its columns


def paragraphs(text: str) -> list[Paragraph]:
    """Read the paragraphs of a text, as `sentences` does."""
    found: list[Paragraph] = []
    leads_in = False
    for piece, headings in under_headings(pieces(text)):
        if piece.kind in {"prose", "row"}:
            markup = _REFERENCE.sub("", strip_marks(without_images(piece.labelled or piece.markup)))
            parts = (" ".join(reveal(part).split()) for part in split_sentences(markup))
            read = list(filter(None, parts))
            found.append(Paragraph(headings, read, piece.markup if piece.labelled else ""))
        elif piece.kind == "code" and leads_in and (command := _command(piece)):
            last = found[-1].sentences
            last[-1:] = [f"{line} {command}" for line in last[-1:]]
        leads_in = piece.kind == "prose" and piece.markup.rstrip().endswith((":", "："))
    return found


def _command(code: Piece) -> str:
    """Take the code on one line, if that is all there is of it."""
    lines = [line.strip() for line in code.markup.split("\n") if line.strip()]
    whole = _PROMPT.sub("", lines[0]) if len(lines) == 1 else ""
    return whole if len(whole) <= _LONGEST_COMMAND else ""


# ── What a user can choose about answers ──────────────────────────────────


OF_THE_WRITER = frozenset(
    f"answer.{name}" for name in ("endpoint_url", "endpoint_model", "api_key_env", "timeout")
)
"""Settings of the model that writes answers.

A call to an open project cannot change them: a client that may ask a server could otherwise have it
send documents and keys anywhere.
"""


class AnswerOptions(Options, frozen=True):
    """How an answer is put together, and which language model writes it, if any."""

    sentences: Annotated[
        int,
        Meta(ge=1, le=20),
        ALWAYS,
        "Most sentences of an answer without a language model, 1 to 20.",
    ] = 3
    max_chars: Annotated[
        int,
        Meta(ge=50, le=100_000),
        ALWAYS,
        "Most characters of an answer without a language model, from 50.",
    ] = 800
    candidates: Annotated[
        int,
        Meta(ge=0, le=1000),
        ALWAYS,
        "Most sentences compared with the question by meaning, about 5 ms each; 0 to 1000.",
    ] = 60
    endpoint_url: Annotated[
        str,
        NAME,
        ALWAYS,
        "Address that /chat/completions is appended to, such as http://localhost:11434/v1; "
        "empty means that answers consist of the documents' own sentences.",
    ] = ""
    endpoint_model: Annotated[
        str, NAME, ALWAYS, "Name of the model that the endpoint is asked for."
    ] = ""
    api_key_env: Annotated[
        str,
        NAME,
        ALWAYS,
        "Name of the environment variable that holds the endpoint's key; never the key itself.",
    ] = ""
    timeout: Annotated[
        float, Meta(ge=0.1, le=3600), ALWAYS, "Seconds that the endpoint may take, 0.1 to 3600."
    ] = 60.0
    context_chars: Annotated[
        int,
        Meta(ge=200, le=10_000_000),
        ALWAYS,
        "Most characters of the results that the endpoint is shown, from 200.",
    ] = 8000

    def __post_init__(self) -> None:
        """Reject what no answer could be made with."""
        super().__post_init__()
        check_key_variable("answer.api_key_env", self.api_key_env)
        if self.endpoint_url:
            check_web_address("answer.endpoint_url", self.endpoint_url)
        if self.endpoint_url and not self.endpoint_model:
            raise BadSettings(
                "answer.endpoint_url needs answer.endpoint_model.",
                "Set that first with: dowse config set answer.endpoint_model NAME",
            )


TermsOf = Callable[[str], Collection[str]]
"""The analyzer's terms of a text."""

Similarity = Callable[[Sequence[str]], Sequence[float]]
"""The cosine of each text to the query."""

Rarity = Mapping[str, float]
"""How much each term of the query says about a text that has it."""

# What the words of a sentence weigh, its meaning, that of the passage around it, and the score of
# its result. Chosen on the shipped corpus, where a broad range around them is as good: see
# benchmarks/results/answers.md.
_WORDS, _MEANING, _PASSAGE, _RESULT = 0.2, 0.5, 0.13, 0.04
_WHOLE = 100  # characters below which a sentence takes along what follows it in its paragraph
_HEADING = 0.5  # what a term weighs that is only in the headings above a sentence
_LEAD_IN = 0.5  # what is left of the score of "There are three ways:"
_FRAGMENT = 0.8  # and of a list item without a full stop; cells and commands have a colon
_RELATED = 0.4  # cosine from which a sentence touches a query with which it shares no word
_WORTH = 0.5  # share of the best score below which a sentence would only dilute the answer
_ALIKE = 0.7  # share of common words from which two sentences say the same
_MOST_READ = 20_000  # characters of one result


class Read(Struct, frozen=True):
    """A passage that is read for an answer."""

    text: str
    hit: int  # place of its result, from 1
    title: str
    header_path: tuple[str, ...]
    score: float  # of its result
    near: float = 0.0  # its cosine to the query


def read_of(hits: Sequence[Hit]) -> list[Read]:
    """Return the texts of some results."""
    return [
        Read(hit.text, rank, hit.title, hit.header_path, hit.score)
        for rank, hit in enumerate(hits, 1)
    ]


class _Candidate(Struct, frozen=True):
    """A sentence that may become part of the answer, with what follows it when it is short."""

    text: str
    sentences: tuple[str, ...]  # that it is made of
    read: Read
    place: int  # among all sentences, in the order of results and text
    met: frozenset[str]  # terms of the query in the sentence
    above: frozenset[str]  # those only in the title and headings above it
    share: float  # score of its result as a share of the best result's

    @property
    def hit(self) -> int:
        """Place of its result, from 1."""
        return self.read.hit

    @property
    def in_context(self) -> str:
        """It with the headings above it, as passages are embedded."""
        return embedding_text(self.read.title, self.read.header_path, self.text)

    @property
    def length(self) -> int:
        """Characters that it takes in the answer, its citation included."""
        return len(f"{self.text} [{self.hit}]")

    @property
    def finished(self) -> float:
        """How much of its score it keeps: little of a lead-in, most of a mere fragment."""
        if self.text.endswith((":", "：")):
            return _LEAD_IN
        whole = is_finished(self.text) or ": " in self.text
        return 1.0 if whole else _FRAGMENT


def extract_answer(
    passages: Sequence[Read],
    terms: Collection[str],
    terms_of: TermsOf,
    similarity: Similarity | None,
    options: AnswerOptions,
    *,
    rarity: Rarity | None = None,
) -> Answer | None:
    """Choose the sentences that answer best, in the order of the results, each with its citation.

    None when no sentence shares a word with the query or comes near it in meaning. Without the
    `rarity` of the terms in the index, that in the passages counts.
    """
    candidates = _touching(passages, Wanted(terms), terms_of)
    rarity = rarity or _rarity(candidates)
    total = sum(rarity.values()) or 1.0
    coverage = [  # the share of the query in each, 0 to 1; rare terms are the larger part
        (_sum(rarity, one.met) + _HEADING * _sum(rarity, one.above)) / total for one in candidates
    ]
    by_words = [
        one.finished * ((1 - _RESULT) * coverage[one.place] + _RESULT * one.share)
        for one in candidates
    ]
    if similarity is None or not options.candidates:
        scored = [(by_words[one.place], one) for one in candidates if one.met or one.above]
    else:
        promise = [by_words[one.place] + one.read.near for one in candidates]
        order = sorted(candidates, key=lambda one: (-promise[one.place], one.place))
        scored = _scored_by_meaning(order[: options.candidates], coverage, similarity)
    # Of two that are as good, the shorter begins with what was asked for.
    scored.sort(key=lambda pair: (-pair[0], len(pair[1].text), pair[1].place))
    picked = sorted(_pick(scored, options), key=lambda one: one.place)
    return answer_of([Sentence(one.text, one.hit) for one in picked])


def _touching(passages: Sequence[Read], wanted: Wanted, terms_of: TermsOf) -> list[_Candidate]:
    """Read all sentences with the terms they hold; a term met nowhere may begin a longer word."""
    found = _candidates(passages, wanted, terms_of)
    missing = wanted.terms.difference(*(one.met | one.above for one in found))
    return _candidates(passages, wanted.loosened(missing), terms_of) if missing else found


def _candidates(passages: Sequence[Read], wanted: Wanted, terms_of: TermsOf) -> list[_Candidate]:
    best = max((one.score for one in passages), default=0.0) or 1.0
    found: dict[str, _Candidate] = {}
    for read in passages:
        for paragraph in paragraphs(read.text[:_MOST_READ]):
            placed = replace(read, header_path=heading_path(read.header_path, paragraph.headings))
            above = wanted.among(terms_of("\n".join((read.title, *placed.header_path))))
            for parts in _units(paragraph.sentences):
                text = " ".join(parts)
                if (key := _essence(text)) and key not in found:
                    named = wanted.among(terms_of(text))
                    met = wanted.among(terms_of(paragraph.cells)) if paragraph.cells else named
                    rest, share = (above | named) - met, read.score / best
                    found[key] = _Candidate(
                        text,
                        tuple(parts),
                        placed,
                        len(found),
                        frozenset(met),
                        frozenset(rest),
                        share,
                    )
    return list(found.values())


def _units(sentences: Sequence[str]) -> Iterator[Sequence[str]]:
    """Take each sentence of a paragraph; a short one with those that follow, which explain it."""
    for start in range(len(sentences)):
        end = start + 1
        while end < len(sentences) and len(" ".join(sentences[start:end])) < _WHOLE:
            end += 1
        yield sentences[start:end]


def _essence(text: str) -> str:
    """Fold what two sentences share that say the same; "" for what says nothing."""
    words = re.findall(r"\w+", text.casefold())
    essence = " ".join(words)
    return essence if len(words) > 1 or len(essence.encode("utf-8", "replace")) >= 8 else ""


# ── Scores ───────────────────────────────────────────────────────────────────


def _scored_by_meaning(
    chosen: Sequence[_Candidate], coverage: Sequence[float], similarity: Similarity
) -> list[tuple[float, _Candidate]]:
    """Candidates with scores that cosines are a part of."""
    cosines = similarity([one.in_context for one in chosen]) if chosen else []

    def score(one: _Candidate, near: float) -> float:
        meaning = _MEANING * near + _PASSAGE * one.read.near
        return one.finished * (_WORDS * coverage[one.place] + meaning + _RESULT * one.share)

    return [
        (score(one, near), one)
        for one, near in zip(chosen, (max(0.0, float(cosine)) for cosine in cosines), strict=True)
        if one.met or one.above or near >= _RELATED
    ]


def _rarity(candidates: Sequence[_Candidate]) -> dict[str, float]:
    often = Counter(term for one in candidates for term in one.met)
    often.update({term for one in candidates for term in one.above})
    return {term: math.log(1 + len(candidates) / count) for term, count in sorted(often.items())}


def _sum(rarity: Rarity, terms: Collection[str]) -> float:
    # In a fixed order: sums of floating point numbers depend on it in the last bit.
    return sum(rarity.get(term, 1.0) for term in sorted(terms))


# ── Choice ───────────────────────────────────────────────────────────────────


def _pick(scored: Sequence[tuple[float, _Candidate]], options: AnswerOptions) -> list[_Candidate]:
    picked: list[_Candidate] = []
    room = options.max_chars
    for score, one in scored:
        if len(picked) == options.sentences or score < _WORTH * scored[0][0]:
            break
        fitting = one if picked else _cut_to(one, room)
        needed = fitting.length + bool(picked)
        if needed <= room and not any(_repeats(one, other) for other in picked):
            picked.append(fitting)
            room -= needed
    return picked


def _cut_to(one: _Candidate, room: int) -> _Candidate:
    if one.length <= room:
        return one
    start = one.text[: room - (one.length - len(one.text)) - 2]
    whole_words = start.rpartition(" ")[0]
    kept = whole_words if len(whole_words) > len(start) // 2 else start
    return replace(one, text=f"{kept} …")


def _repeats(one: _Candidate, other: _Candidate) -> bool:
    first, second = (set(each.text.casefold().split()) for each in (one, other))
    alike = len(first & second) >= _ALIKE * len(first | second)
    return alike or not set(one.sentences).isdisjoint(other.sentences)


def answer_of(chosen: Sequence[Sentence]) -> Answer | None:
    """Make an answer of sentences; None of no sentence."""
    if not chosen:
        return None
    return Answer(
        text=" ".join(f"{sentence.text} [{sentence.hit}]" for sentence in chosen),
        sentences=tuple(chosen),
        sources=tuple(dict.fromkeys(sentence.hit for sentence in chosen)),
        written_by="",
    )
