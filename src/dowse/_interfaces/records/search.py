"""What --json prints of a search: what was found, why, and what the documents say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, TypeAlias

from msgspec import Struct

from dowse._model import Answer, Hit, Match, OtherPassage, Place, Response, Sentence, Step
from dowse._search.explain import ChunkOutcome, Explanation, StrategyRank
from dowse._text.dates import iso

if TYPE_CHECKING:
    from dowse._project.all_projects import AllProjects
    from dowse._project.engine import Engine

Searched: TypeAlias = "Engine | AllProjects"
"""What was searched: one project, or all of them."""


class HitShape(Struct, frozen=True):
    """A result of `dowse search`."""

    rank: Annotated[int, "From 1."]
    match: Annotated[Match, "How well it fits the query."]
    reason: Annotated[str, "Why, in plain words."]
    score: Annotated[float, "The confidence behind `match`, 0 to 1."]
    id: Annotated[str, "Of the best chunk, or section; `dowse get` takes its first digits too."]
    section: Annotated[str, "Id of its section."]
    document: Annotated[str, "Id of the document."]
    project: Annotated[str, "Name of its project."]
    path: Annotated[str, "Where the file is, absolute."]
    title: Annotated[str, "Title of the document."]
    header_path: Annotated[tuple[str, ...], "The headings above `line`."]
    line: Annotated[int, "Where the match is, from 1."]
    page: Annotated[int | None, "Page of a PDF where the match is, from 1; null for others."]
    place: Annotated[str, "Where the match is, for people: `a.md:12`, `manual.pdf p. 12`."]
    first_line: Annotated[int, "Of `text`, from 1."]
    last_line: Annotated[int, "The last line of `text`."]
    modified: Annotated[str, "Of the document."]
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
    ]
    places: Annotated[tuple[Place, ...], "Where each strategy put it, and what that gave it."]
    steps: Annotated[tuple[Step, ...], "What each stage did to its score."]

    @classmethod
    def of(cls, rank: int, hit: Hit, searched: Searched) -> HitShape:
        """The shape of a hit."""
        same = {name: getattr(hit, name) for name in cls.__struct_fields__ if hasattr(hit, name)}
        engine = searched.of(hit.project)
        changed = {
            "project": engine.project.name,
            "path": str(engine.path_of(hit.document)),
            "modified": iso(hit.modified),
            "places": hit.trace.places,
            "steps": hit.trace.steps,
        }
        return cls(rank=rank, **same | changed)


class AnswerShape(Struct, frozen=True):
    """What the results say to a question."""

    text: Annotated[str, "With [1], [2] after what comes from which result."]
    sentences: Annotated[tuple[Sentence, ...], "Of the documents; empty when a model wrote it."]
    sources: Annotated[tuple[int, ...], "Ranks of the results that it cites, as first mentioned."]
    written_by: Annotated[str, "The model that wrote it; empty: the documents' own sentences."]

    @classmethod
    def of(cls, answer: Answer) -> AnswerShape:
        """The shape of an answer."""
        return cls(answer.text, answer.sentences, answer.sources, answer.written_by)


class ResponseShape(Struct, frozen=True):
    """What `dowse search` and `dowse answer` found."""

    project: Annotated[str, "Name of the project; `all` when all were searched."]
    query: Annotated[str, "As it was asked."]
    no_good_match: Annotated[bool, "Even the best of the hits hardly fits the query."]
    hits: Annotated[tuple[HitShape, ...], "Best first."]
    offset: Annotated[int, "How many results before `hits` were passed over."]
    total: Annotated[
        int, "Documents (or passages) in the whole list; at least so many where it is not exact."
    ]
    total_is_exact: Annotated[
        bool, "Whether `total` counts all. A ranking by meaning never ends: it is not counted."
    ]
    answer: Annotated[AnswerShape | None, "Of `dowse answer`, when there is a good match."]
    nearest: Annotated[
        tuple[HitShape, ...], "When nothing was found: the best below the threshold, as `hits`."
    ]
    removed: Annotated[
        Mapping[str, int],
        "When nothing was found, or a good match is among them: chunks that each condition kept"
        " out.",
    ]
    merged: Annotated[int, "Results that replace others with the same meaning."]
    counts: Annotated[Mapping[str, int], "Candidates left after each stage, in order."]
    seconds: Annotated[Mapping[str, float], "Time by stage."]
    calibration: Annotated[str, "What the scores are, in a few words."]
    notices: Annotated[tuple[str, ...], "What could not be done, and how to change that."]

    @classmethod
    def of(cls, response: Response, engine: Searched) -> ResponseShape:
        """The shape of a response."""
        names = [name for name in cls.__struct_fields__ if name != "project"]
        same = {name: getattr(response, name) for name in names}
        changed = {
            "hits": hit_shapes(response.hits, engine, response.offset),
            "nearest": hit_shapes(response.nearest, engine),
            "answer": AnswerShape.of(response.answer) if response.answer else None,
        }
        return cls(engine.project.name, **same | changed)


def hit_shapes(hits: tuple[Hit, ...], engine: Searched, offset: int = 0) -> tuple[HitShape, ...]:
    """The shapes of some hits, ranked from 1, or from the first after `offset`."""
    return tuple(HitShape.of(rank, hit, engine) for rank, hit in enumerate(hits, offset + 1))


class ChunkOutcomeShape(Struct, frozen=True):
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
    places: Annotated[tuple[Place, ...], "Where each strategy put it, and what that gave it."]
    steps: Annotated[tuple[Step, ...], "What each stage did to it; `dropped` says why it went."]

    @classmethod
    def of(cls, outcome: ChunkOutcome) -> ChunkOutcomeShape:
        """The shape of a outcome."""
        names = [name for name in cls.__struct_fields__ if hasattr(outcome, name)]
        same = {name: getattr(outcome, name) for name in names}
        return cls(places=outcome.trace.places, steps=outcome.trace.steps, **same)


class ExplanationShape(Struct, frozen=True):
    """What `dowse explain` says."""

    project: Annotated[str, "Name of the project."]
    query: Annotated[str, "As it was asked."]
    document: Annotated[str, "Id of the document."]
    path: Annotated[str, "Where the file is, absolute."]
    title: Annotated[str, "Title of the document."]
    found: Annotated[bool, "Whether it is among the results."]
    why: Annotated[str, "The reason, in a sentence."]
    top_k: Annotated[int, "Candidates that each strategy hands over."]
    top_n: Annotated[int, "Results at most."]
    failed: Annotated[tuple[str, ...], "Conditions, as written, that no chunk of it fulfils."]
    chunks: Annotated[tuple[ChunkOutcomeShape, ...], "All of it, the one that came furthest first."]
    notices: Annotated[tuple[str, ...], "What could not be done, and how to change that."]

    @classmethod
    def of(cls, explanation: Explanation, why: str, engine: Engine) -> ExplanationShape:
        """The shape of an explanation."""
        best = explanation.best
        same = {
            name: getattr(explanation, name)
            for name in cls.__struct_fields__
            if name != "chunks" and hasattr(explanation, name)
        }
        return cls(
            project=engine.project.name,
            path=str(engine.path_of(explanation.document)),
            found=best is not None and best.rank is not None,
            why=why,
            chunks=tuple(ChunkOutcomeShape.of(outcome) for outcome in explanation.chunks),
            **same,
        )
