"""What a search understands, finds and hands out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Struct, field

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


Match = Literal["strong", "likely", "weak"]
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


class Passage(Struct, frozen=True):
    """A document, or some lines of it."""

    document: str
    title: str
    first_line: int
    last_line: int
    total_lines: int
    text: str


class OtherPassage(Struct, frozen=True):
    """Another place of a document that matches the query: a passage, or several in a row."""

    id: str  # of the best chunk in it
    header_path: tuple[str, ...]  # the headings above all of it
    first_line: int
    last_line: int
    score: float  # of the best chunk in it, 0 to 1


class Hit(Struct, frozen=True):
    """One result: a document by its best passage, or a passage."""

    id: str  # of the best chunk, or of its section when parents are on
    section: str  # the id of its section
    document: str
    title: str
    header_path: tuple[str, ...]  # the headings above `line`
    line: int  # where the match is
    first_line: int  # of the text: the best passage with those next to it that match as well
    last_line: int
    score: float  # 0 to 1
    text: str
    snippet: str  # the part of the text that answers best, matched words between ** and **
    modified: float
    tags: tuple[str, ...]
    links_out: tuple[str, ...]  # ids of the documents that its document links to
    links_in: tuple[str, ...]  # and of those that link to it
    stale: bool  # the file has changed since it was indexed
    trace: Trace
    more: tuple[OtherPassage, ...] = ()  # other places of the document that match, best first
    match: Match = "weak"  # how well it fits the query
    reason: str = ""  # why, in plain words: "exact title", "only 1 of 3 words found"
    project: str = ""  # that it is from, when all projects were searched

    def __repr__(self) -> str:
        return f"<Hit {_hit_line(self)}>"

    @property
    def headings(self) -> tuple[str, ...]:
        """Return the headings above it, without those that only say the title or the page again."""
        shown = self.header_path[self.header_path[:1] == (self.title,) :]
        page = self.page
        return shown if page is None else tuple(one for one in shown if one != f"Page {page}")

    @property
    def page(self) -> int | None:
        """Return the page of a PDF where the match is, from 1; None for other files."""
        return page_of(self.document, self.header_path)

    @property
    def place(self) -> str:
        """Return where the match is: `guides/restore.md:12`, `manual.pdf p. 12`."""
        return place_of(self.document, self.page, f"{self.line}")


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


class Response(Struct, frozen=True):
    """The answer to a query: a collection of hits, best first, which a notebook can show."""

    query: str
    hits: tuple[Hit, ...]
    counts: Mapping[str, int]  # candidates left after each stage, in order
    merged: int  # clusters of similar results that semantic dedup made one
    seconds: Mapping[str, float]  # time each stage took that ran
    notices: tuple[str, ...]  # what could not be done, and how to change that
    calibration: str = ""  # what the scores are, in a few words
    nearest: tuple[Hit, ...] = ()  # when nothing was found: the best below the threshold
    # By condition what it kept out: when nothing was found, or a good match is among it.
    removed: Mapping[str, int] = field(default_factory=dict)
    answer: Answer | None = None  # when one was asked for and the results hold one
    no_good_match: bool = False  # even the best of the hits hardly fits the query
    total: int = 0  # results in the whole list; at least so many where it is not exact
    total_is_exact: bool = True
    offset: int = 0  # how many results before `hits` were passed over

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


# ── Confidence ───────────────────────────────────────────────────────────────


class ModelFit(Struct, frozen=True):
    """How the cosines of a model become those that the confidence was fitted with."""

    model: str  # its name, without revision and dimensions
    scale: float = 1.0
    shift: float = 0.0

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


def fit_of(hit: Hit) -> str:
    """Return how well a hit fits its query, with the reason: `likely, 2 of 3 words found`."""
    return ", ".join(filter(None, (hit.match, hit.reason)))


def also_at(hit: Hit) -> str:
    """Return where else the document of a hit matches, in words: `2 more: lines 30–41, 60–66`."""
    pages = [page_of(hit.document, one.header_path) for one in hit.more]
    if hit.more and None not in pages:
        places, unit = [f"{page}" for page in dict.fromkeys(pages)], "p."
    else:
        places, unit = [f"{one.first_line}–{one.last_line}" for one in hit.more], "lines"
    rest = ["…"] if len(places) > _MOST_NAMED else []
    listed = ", ".join([*places[:_MOST_NAMED], *rest])
    return f"{len(hit.more)} more: {unit} {listed}" if hit.more else ""


def _html(response: Response) -> Iterator[str]:
    """Return a response as HTML, in which text of documents is only text."""
    import html  # noqa: PLC0415  only notebooks ask for it

    yield f"<p>{counted(len(response.hits), 'hit')} for <b>{html.escape(response.query)}</b></p>"
    if response.no_good_match:
        yield f"<p><i>{NO_GOOD_MATCH}</i></p>"
    if response.answer:
        yield f"<blockquote>{html.escape(response.answer.text)}</blockquote>"
    yield "<ol>"
    for hit in response.hits:
        place = html.escape(hit.place)
        snippet = _MARKED.sub(r"<mark>\1</mark>", html.escape(hit.snippet))
        yield f"<li><b>{html.escape(_name(hit))}</b> <code>{place}</code> {fit_of(hit)}"
        yield f"<br>{snippet}{f'<br><i>{also_at(hit)}</i>' if hit.more else ''}</li>"
    yield "</ol>"
    yield from (f"<p><i>{html.escape(notice)}</i></p>" for notice in response.notices)


def _name(hit: Hit) -> str:
    return " › ".join((hit.title, *hit.headings))


def _printable(text: str) -> str:
    """Return the text without characters that could change what a terminal shows."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)
