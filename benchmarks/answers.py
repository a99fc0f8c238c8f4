"""How often the answers on the shipped corpus hold what was asked for.

    python benchmarks/answers.py [--wrong] [--halves]

The judgments are in benchmarks/corpus/answers.jsonl. With --halves, the weights of words and of
passages are chosen on one half of the queries and judged on the other, both ways round.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import fmean
from unittest.mock import patch

from msgspec import Struct
from msgspec.structs import replace

from dowse._model import EmbeddedBatch, Model, Vector
from dowse._model.ports import Embedder
from dowse._project.engine import Engine
from dowse._project.evaluation import JudgedQuery, json_lines, open_bench, read_collection
from dowse._project.workspace import Workspace
from dowse._search import answer as extract
from dowse._search.request import SearchRequest
from dowse.errors import UsageError

CORPUS = Path(__file__).parent / "corpus"
WORDS = (0.1, 0.2, 0.3, 0.4)
PASSAGES = (0.0, 0.13, 0.26, 0.4)


FIRST = 3
"""Sentences of an answer that are judged."""


class Answered(Struct, frozen=True):
    """What an answer to a query was judged to be."""

    query: str  # as it was asked
    sentences: tuple[str, ...]  # the first of the answer
    right: bool  # whether one of them holds what was asked for


def read_answers(path: Path) -> dict[str, tuple[str, ...]]:
    """By query, the texts of which a right sentence has one; raises `UsageError` for a bad line."""
    answers: dict[str, tuple[str, ...]] = {}
    for number, identifier, row in json_lines(path):
        texts = row.get("any")
        if not isinstance(texts, list) or not all(isinstance(one, str) for one in texts):
            raise UsageError(
                f"{path}, line {number} has no list of texts.",
                'A line is: {"_id": "f-06", "any": ["72 hours"]}',
            )
        answers[identifier] = tuple(map(_folded, texts))
    return answers


def judge_answers(
    engine: Engine, queries: Sequence[JudgedQuery], answers: Mapping[str, Sequence[str]]
) -> list[Answered]:
    """Asks every query that has a judgment, and compares the first sentences of its answer."""
    judged = [query for query in queries if query.id in answers]
    return [_judged(engine, query.text, answers[query.id]) for query in judged]


def _judged(engine: Engine, query: str, texts: Sequence[str]) -> Answered:
    answer = engine.answer(SearchRequest(query, changes={"recency.bias": 0.0})).answer
    found = tuple(one.text for one in answer.sentences[:FIRST]) if answer else ()
    right = any(text in _folded(sentence) for sentence in found for text in texts)
    return Answered(query, found, right)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


class Remembering:
    """An embedder that embeds no text twice."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Vector] = {}

    @property
    def model(self) -> Model:
        return self._embedder.model

    def query(self, text: str) -> Vector:
        return self._embedder.query(text)

    def passages(self, texts: Sequence[str]) -> Iterator[EmbeddedBatch]:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        for batch in self._embedder.passages(new):
            placed = zip(batch.positions, batch.vectors, strict=True)
            self._known |= {new[place]: vector for place, vector in placed}
        for place, text in enumerate(texts):
            yield EmbeddedBatch((place,), self._known[text][None])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wrong", action="store_true", help="show the answers that are wrong")
    parser.add_argument("--halves", action="store_true", help="choose weights on half the queries")
    arguments = parser.parse_args()
    collection = read_collection(CORPUS)
    answers = read_answers(CORPUS / "answers.jsonl")
    with open_bench(Workspace(), collection) as bench:
        judged = judge_answers(bench.engine, collection.queries, answers)
        share = fmean(one.right for one in judged)
        print(f"{share:.3f} of {len(judged)} answers hold what was asked for")
        for one in judged if arguments.wrong else ():
            if not one.right:
                print("", one.query, *one.sentences, sep="\n  ")
        if arguments.halves:
            _print_halves(list(_trials(bench.engine, collection.queries, answers)))


def _trials(
    engine: Engine, queries: Sequence[JudgedQuery], answers: Mapping[str, Sequence[str]]
) -> Iterator[set[str]]:
    """For each pair of weights, the queries with a right answer."""
    ids = [query.id for query in queries if query.id in answers]
    known = engine.parts.embedder
    remembering = replace(engine.parts, embedder=Remembering(known) if known else None)
    engine = Engine(engine.project, engine.settings, remembering)
    for words, passage in product(WORDS, PASSAGES):
        with patch.multiple(extract, _WORDS=words, _PASSAGE=passage):
            judged = judge_answers(engine, queries, answers)
        yield {one for one, found in zip(ids, judged, strict=True) if found.right}
        print(f"words {words:g}, passage {passage:g}: {sum(found.right for found in judged)} right")


def _print_halves(trials: Sequence[set[str]]) -> None:
    """What weights chosen on each half of the queries reach on the other one."""
    ids = sorted(read_answers(CORPUS / "answers.jsonl"), key=_hashed)
    halves = set(ids[: len(ids) // 2]), set(ids[len(ids) // 2 :])
    for chosen, judged in (halves, halves[::-1]):
        most = max(len(right & chosen) for right in trials)
        best = [len(right & judged) for right in trials if len(right & chosen) == most]
        print(f"chosen on {len(chosen)}: {most} right, with {len(best)} of {len(trials)} weights")
        print(f"  the other {len(judged)}: {fmean(best):.1f} ({min(best)} to {max(best)})")


def _hashed(identifier: str) -> str:
    return hashlib.sha256(identifier.encode()).hexdigest()


if __name__ == "__main__":
    main()
