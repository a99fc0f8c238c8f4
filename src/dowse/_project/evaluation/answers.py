"""How often the first sentences of an answer hold what was asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from dowse._project.engine import Engine
from dowse._project.evaluation.reading import json_lines
from dowse._project.evaluation.records import JudgedQuery
from dowse._search.request import SearchRequest
from dowse.errors import UsageError

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
