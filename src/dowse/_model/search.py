"""What a search understands, finds and hands out."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Struct, field
from msgspec.structs import force_setattr

from dowse._model.index import Scores
from dowse._text.matching import Sign
from dowse._util.messages import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Keys = NDArray[np.int64]
else:
    Keys = Any
    """Chunk keys, ascending, each once."""

ConditionKind = Literal[
    "category",
    "author",
    "tag",
    "title",
    "path",
    "file",
    "under",
    "source",
    "language",
    "after",
    "before",
    "phrase",
    "field",
    "any",
    "all",
    "line",
]
"""What a condition looks at; `any`, `all` and `line` are made of other conditions."""


Match = Literal["strong", "possible", "weak"]
"""How well a result fits its query, in a word; the same scale in every mode."""


class Condition(Struct, frozen=True):
    """What must hold of a chunk, or must not, for any strategy to find it.

    One of `values` is enough; how each is compared depends on the kind, case never matters:
    `category` is the whole category; `author`, `title` and `path` (the document's id) hold the
    value somewhere; `tag` is the value or below it (`a` covers `a/b`); `under` means that the
    document's id begins with it; `file` is a part of the file's name; `source` is the file's ending
    without the dot; `language` is that of a code block in the chunk. `after` (at or after) and
    `before` compare the date of the document with `bound`. The values of a `phrase` are terms that
    follow each other, all of them. A `field` of the frontmatter compares by `text.values`.

    Stores are asked about all of these. `any`, `all` and `line` (all in one line) are made of
    `parts`, and only `dowse._search.request` knows them.
    """

    kind: ConditionKind
    values: tuple[str, ...] = ()
    bound: float = 0.0  # for `after` and `before`
    negated: bool = False
    written: str = ""  # as the user wrote it, for messages: `tag:draft`, `-word`, `--after 2024`
    name: str = ""  # of a `field`
    sign: Sign = "="  # of a `field`
    parts: tuple[Condition, ...] = ()  # of `any`, `all` and `line`


class Query(Struct, frozen=True):
    """A query as it was understood."""

    written: str  # as it was asked
    text: str  # what is embedded: the words without signs such as `tag:x`, `-word` or quotes
    terms: tuple[str, ...]  # distinct, for the keyword ranking
    code_terms: tuple[str, ...]  # distinct, for the code ranking
    conditions: tuple[Condition, ...] = ()
    notices: tuple[str, ...] = ()  # what was taken differently than written, for people
    prefixes: tuple[str, ...] = ()  # of `auth*`, without the star; rewriting turns them into terms
    alternatives: tuple[tuple[str, ...], ...] = ()  # terms of which one is as good as all
    put_in: frozenset[str] = frozenset()  # terms that nobody wrote: for misspelt words, for `auth*`


class Ranking(Struct, frozen=True):
    """What one strategy found, best first."""

    strategy: str  # its name in `dowse._search.strategies`
    scores: Scores
    ceiling: float = 0.0  # the most that a score could be for this query; 0 when nobody knows
    others: Scores = field(default_factory=list)  # of chunks that only other strategies handed over
    cut: bool = False  # it found more than it handed over


class Place(Struct, frozen=True):
    """Where one strategy put a candidate, and what that gave it."""

    strategy: str
    rank: int | None  # from 1; None when the chunk is not among what the strategy handed over
    score: float  # raw: a cosine, a BM25 score
    contribution: float  # to the fused score


class Step(Struct, frozen=True):
    """What one stage did to a candidate."""

    stage: str
    before: float  # its score before the stage
    after: float  # and after it
    dropped: str = ""  # why the stage dropped it; empty when it kept it


class Trace(Struct, frozen=True):
    """What happened to one candidate on its way."""

    places: tuple[Place, ...]
    steps: tuple[Step, ...]


class StrategyRank(Struct, frozen=True):
    """Where a strategy ranks a chunk among all that it finds."""

    strategy: str
    rank: int  # from 1
    score: float  # raw: a cosine, a BM25 score


class Passage(Struct, frozen=True, kw_only=True):
    """A document, or some lines of it."""

    document: Annotated[str, "Id of the document."]
    path: Annotated[str, "Where the file is, absolute."] = ""  # interfaces find it for their JSON
    title: Annotated[str, "Title of the document."]
    first_line: Annotated[int, "From 1."]
    last_line: Annotated[int, "The last line of the passage."]
    total_lines: Annotated[int, "Of the document."]
    text: Annotated[str, "As the index has it."]


class OtherPassage(Struct, frozen=True):
    """Another place of a document that matches the query: a passage, or several in a row."""

    id: str  # of the best chunk in it
    header_path: tuple[str, ...]  # the headings above all of it
    first_line: int
    last_line: int
    score: float  # of the best chunk in it, 0 to 1


class Hit(Struct, frozen=True, kw_only=True):
    """A result of `dowse search`."""

    rank: Annotated[int, "From 1."] = 1
    match: Annotated[Match, "How well it fits the query."] = "weak"
    reason: Annotated[str, "Why, in plain words."] = ""
    without: Annotated[tuple[str, ...], "Key words of the query that are not in it."] = ()
    score: Annotated[float, "The confidence behind `match`, 0 to 1."]
    id: Annotated[str, "Of the best chunk, or section; `dowse get` takes its first digits too."]
    section: Annotated[str, "Id of its section."]
    document: Annotated[str, "Id of the document."]
    project: Annotated[str, "Name of its project."] = ""
    path: Annotated[str, "Where the file is, absolute."] = ""  # interfaces find it for their JSON
    title: Annotated[str, "Title of the document."]
    context: Annotated[str, "What the user says of the folders that it is below."] = ""
    header_path: Annotated[tuple[str, ...], "The headings above `line`."]
    line: Annotated[int, "Where the match is, from 1."]
    page: Annotated[int | None, "Page of a PDF where the match is, from 1; null for others."] = None
    place: Annotated[str, "Where the match is, for people: `a.md:12`, `manual.pdf p. 12`."] = ""
    first_line: Annotated[int, "Of `text`, from 1."]
    last_line: Annotated[int, "The last line of `text`."]
    date: Annotated[str, "Of the document."] = field(name="modified")
    stale: Annotated[bool, "The file has changed since it was indexed."]
    tags: Annotated[tuple[str, ...], "Of the document, without `#`."]
    links_out: Annotated[tuple[str, ...], "Ids of the documents that its document links to."]
    links_in: Annotated[tuple[str, ...], "Ids of the documents that link to its document."]
    snippet: Annotated[str, "The part that answers best, matched words between ** and **."]
    text: Annotated[
        str,
        "The best passage with those next to it that match, or the section; with `--max-tokens`,"
        " what fits of it.",
    ]
    more: Annotated[
        tuple[OtherPassage, ...], "Other places of the document that match, best first."
    ] = ()
    places: Annotated[tuple[Place, ...], "Where each strategy put it, and what that gave it."] = ()
    steps: Annotated[tuple[Step, ...], "What each stage did to its score."] = ()

    def __post_init__(self) -> None:
        page = page_of(self.document, self.header_path)
        force_setattr(self, "page", page)
        force_setattr(self, "place", place_of(self.document, page, f"{self.line}"))

    def __repr__(self) -> str:
        return f"<Hit {_hit_line(self)}>"

    @property
    def headings(self) -> tuple[str, ...]:
        """Return the headings above it, without those that only say the title or the page again."""
        shown = self.header_path[self.header_path[:1] == (self.title,) :]
        page = self.page
        return shown if page is None else tuple(one for one in shown if one != f"Page {page}")

    @property
    def modified(self) -> float:
        """Return the date of the document in seconds since 1970."""
        return datetime.fromisoformat(self.date).timestamp()

    @property
    def trace(self) -> Trace:
        """Return what happened to it on its way."""
        return Trace(self.places, self.steps)


class Sentence(Struct, frozen=True):
    """A sentence of an answer, and the result it comes from."""

    text: str
    hit: int  # its place among the results, from 1


class Answer(Struct, frozen=True):
    """What the results say to a question, each sentence with its source."""

    text: Annotated[str, "With [1], [2] after what comes from which result."]
    sentences: Annotated[tuple[Sentence, ...], "Of the documents; empty when a model wrote it."]
    sources: Annotated[tuple[int, ...], "Ranks of the results that it cites, as first mentioned."]
    written_by: Annotated[str, "The model that wrote it; empty: the documents' own sentences."]


class Response(Struct, frozen=True, kw_only=True):
    """What `dowse search` and `dowse answer` found."""

    project: Annotated[str, "Name of the project; `all` when all were searched."] = ""
    query: Annotated[str, "As it was asked."]
    no_good_match: Annotated[bool, "Even the best of the hits hardly fits the query."] = False
    hits: Annotated[tuple[Hit, ...], "Best first."] = ()
    offset: Annotated[int, "How many results before `hits` were skipped."] = 0
    total: Annotated[
        int, "Documents (or passages) in the whole list; at least so many where it is not exact."
    ] = 0
    total_is_exact: Annotated[
        bool, "Whether `total` counts all. A ranking by meaning never ends: it is not counted."
    ] = True
    answer: Annotated[Answer | None, "Of `dowse answer`, when there is a good match."] = None
    nearest: Annotated[
        tuple[Hit, ...], "When nothing was found: the best below the threshold, as `hits`."
    ] = ()
    removed: Annotated[
        Mapping[str, int],
        "When nothing was found, or a good match is among them: chunks that each condition kept"
        " out.",
    ] = field(default_factory=dict)
    merged: Annotated[int, "Results that replace others with the same meaning."] = 0
    counts: Annotated[Mapping[str, int], "Candidates left after each stage, in order."] = field(
        default_factory=dict
    )
    seconds: Annotated[Mapping[str, float], "Time by stage."] = field(default_factory=dict)
    calibration: Annotated[str, "What the scores are, in a few words."] = ""
    notices: Annotated[tuple[str, ...], "What could not be done, and how to change that."] = ()

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __repr__(self) -> str:
        poor = ", no good match" if self.no_good_match else ""
        title = f"<Response to {self.query!r}: {counted(len(self.hits), 'hit')}{poor}>"
        return "\n".join([title, *(f"  {_hit_line(hit)}" for hit in self.hits)])

    def _repr_html_(self) -> str:
        return "\n".join(_html(self))


class ChunkOutcome(Struct, frozen=True):
    """The outcome of a chunk."""

    id: Annotated[str, "Of the chunk."]
    header_path: Annotated[tuple[str, ...], "The headings above it."]
    first_line: Annotated[int, "From 1."]
    last_line: Annotated[int, "The last line of the chunk."]
    rank: Annotated[int | None, "Its place among the results; null when it is not there."]
    score: Annotated[float | None, "The last it had; null when no strategy handed it over."]
    standing: Annotated[
        tuple[StrategyRank, ...],
        "Its rank in each strategy among all chunks, without the conditions.",
    ]
    places: Annotated[tuple[Place, ...], "Where each strategy put it, and what that gave it."] = ()
    steps: Annotated[
        tuple[Step, ...], "What each stage did to it; `dropped` says why it went."
    ] = ()

    @property
    def trace(self) -> Trace:
        """Return what happened to it on its way."""
        return Trace(self.places, self.steps)

    @property
    def lines(self) -> str:
        """Write its lines, for people."""
        first, last = self.first_line, self.last_line
        return f"line {first}" if first == last else f"lines {first}–{last}"


class Explanation(Struct, frozen=True, kw_only=True):
    """What `dowse explain` says."""

    project: Annotated[str, "Name of the project."] = ""
    query: Annotated[str, "As it was asked."]
    document: Annotated[str, "Id of the document."]
    path: Annotated[str, "Where the file is, absolute."] = ""  # interfaces find it for their JSON
    title: Annotated[str, "Title of the document."]
    found: Annotated[bool, "Whether it is among the results."] = False
    why: Annotated[str, "The reason, in a sentence."] = ""
    top_k: Annotated[int, "Candidates that each strategy hands over."]
    top_n: Annotated[int, "Results at most."]
    failed: Annotated[tuple[str, ...], "Conditions, as written, that no chunk of it fulfils."] = ()
    chunks: Annotated[tuple[ChunkOutcome, ...], "All of it, the one that came furthest first."]
    notices: Annotated[tuple[str, ...], "What could not be done, and how to change that."] = ()

    @property
    def best(self) -> ChunkOutcome | None:
        """The first of them; None when the document has no chunks."""
        return self.chunks[0] if self.chunks else None


class Neighbour(Struct, frozen=True, kw_only=True):
    """A document that belongs to another one."""

    id: Annotated[str, "Its id."] = field(name="document")
    path: Annotated[str, "Where the file is, absolute."] = ""  # interfaces find it for their JSON
    title: Annotated[str, "Its title."]
    score: Annotated[float | None, "Cosine of the two, for what is similar."] = None


class Related(Struct, frozen=True, kw_only=True):
    """What `dowse related` finds."""

    project: Annotated[str, "Name of the project."] = ""
    document: Annotated[str, "Id of the document."]
    path: Annotated[str, "Where the file is, absolute."] = ""
    title: Annotated[str, "Title of the document."]
    linked: Annotated[tuple[Neighbour, ...], "It links there, in the order of its text."] = field(
        name="links_to"
    )
    linking: Annotated[tuple[Neighbour, ...], "They link here; fields as in `links_to`."] = field(
        name="linked_from"
    )
    community: Annotated[
        tuple[Neighbour, ...], "In its community, though not linked with it; as in `links_to`."
    ]
    similar: Annotated[tuple[Neighbour, ...], "By meaning, best first; as in `links_to`."]
    dangling: Annotated[tuple[str, ...], "Links that lead nowhere yet, as written."]


# ── Confidence ───────────────────────────────────────────────────────────────


class ModelFit(Struct, frozen=True):
    """How the cosines of a model become those that the confidence was fitted with."""

    model: Annotated[str, "Its name, without revision and dimensions."]
    scale: Annotated[float, "What its cosines are multiplied with."] = 1.0
    shift: Annotated[float, "And what is added to that."] = 0.0

    def mapped(self, cosine: float) -> float:
        """Return what the default model would have said, on average."""
        return self.scale * cosine + self.shift


# ── How results look in a Python console and in a notebook ───────────────────

_MOST_NAMED = 5  # places of one document

NO_GOOD_MATCH = "No good match. Nearest:"
"""What is above results of which even the best hardly fits."""

_PAGE = re.compile(r"Page (\d{1,9})")  # the heading that a converted page is under
_MARKED = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)


def page_of(document: str, header_path: tuple[str, ...]) -> int | None:
    """Return the page of a PDF that some headings are on; None for other files."""
    if not document.lower().endswith(".pdf"):
        return None
    pages = (_PAGE.fullmatch(one) for one in reversed(header_path))
    return next((int(found[1]) for found in pages if found), None)


def place_of(document: str, page: int | None, lines: str) -> str:
    """Return where something is: lines, or the page of a PDF, whose lines nobody can count."""
    return f"{document}:{lines}" if page is None else f"{document} p. {page}"


def _hit_line(hit: Hit) -> str:
    """Return a hit on one line: its label, place and headings, and where else it matches."""
    summary = f"{hit.match}  {_printable(hit.place)}  {_printable(_name(hit))}"
    remarks = "; ".join(filter(None, (hit.reason, also_at(hit))))
    return f"{summary}  ({remarks})" if remarks else summary


def also_at(hit: Hit) -> str:
    """Return where else the document of a hit matches, in words: `2 more: lines 30–41, 60–66`."""
    pages = [page_of(hit.document, one.header_path) for one in hit.more]
    if hit.more and None not in pages:
        places, unit = [f"{page}" for page in dict.fromkeys(pages)], "p."
    else:
        places, unit = [f"{one.first_line}–{one.last_line}" for one in hit.more], "lines"
    named = places if len(places) <= _MOST_NAMED else [*places[:_MOST_NAMED], "…"]
    return f"{len(hit.more)} more: {unit} {', '.join(named)}" if hit.more else ""


def _html(response: Response) -> Iterator[str]:
    """Return a response as HTML, in which text of documents is only text."""
    yield f"<p>{counted(len(response.hits), 'hit')} for <b>{html.escape(response.query)}</b></p>"
    if response.no_good_match:
        yield f"<p><i>{NO_GOOD_MATCH}</i></p>"
    if response.answer:
        yield f"<blockquote>{html.escape(response.answer.text)}</blockquote>"
    yield "<ol>"
    for hit in response.hits:
        snippet = _MARKED.sub(r"<mark>\1</mark>", html.escape(hit.snippet))
        yield (
            f"<li><b>{html.escape(_name(hit))}</b> <code>{html.escape(hit.place)}</code>"
            f" {', '.join(filter(None, (hit.match, hit.reason)))}"
        )
        yield f"<br>{snippet}{f'<br><i>{also_at(hit)}</i>' if hit.more else ''}</li>"
    yield "</ol>"
    yield from (f"<p><i>{html.escape(notice)}</i></p>" for notice in response.notices)


def _name(hit: Hit) -> str:
    return " › ".join((hit.title, *hit.headings))


def _printable(text: str) -> str:
    """Return the text without characters that could change what a terminal shows."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)
