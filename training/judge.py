"""Judges encoders on sources that none of them was trained on.

    python -m training.judge CORPUS MODEL OUT --encoders A=PATH …

Writes nDCG@10 of every query, model and source to OUT as JSON.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import torch

from training.corpus import HELD_OUT, Chunk, Query, read_chunks, read_queries
from training.measures import ndcg
from training.mining import ASKED, WIDTH, Hybrid, rows_of
from training.models import embed, open_encoder, read_weights
from training.passages import encoder_text, without_headings, without_part
from training.queries import heading_queries, sentence_queries

MOST = 1500


@dataclass(frozen=True, slots=True)
class Task:
    """Queries over texts, of which each belongs to a unit: a document or a passage."""

    name: str
    texts: list[Chunk]
    units: list[int]
    queries: list[str]
    grades: list[dict[int, int]]


def rule_made(name: str, chunks: list[Chunk], queries: list[Query]) -> Iterator[Task]:
    """Tasks of one source with rule-made queries: by kind, by passage or by document."""
    by_kind = defaultdict(list)
    for one in queries:
        by_kind[one.kind, one.hidden, one.last - one.first > 1, bool(one.cut)].append(one)
    for (kind, hidden, whole, cut), some in by_kind.items():
        some = Random(1).sample(some, min(len(some), MOST))  # noqa: PLW2901
        if len(some) < 40:
            continue
        texts = [without_headings(one) for one in chunks] if hidden else list(chunks)
        for one in some if cut else ():
            texts[one.first] = without_part(texts[one.first], one.cut or (0, 0))
        units = [one.document for one in chunks] if whole else list(range(len(chunks)))
        grades = [{units[one.first]: 1} for one in some]
        label = f"{name}/{kind}{'-hidden' if hidden else ''}"
        yield Task(label, texts, units, [one.text for one in some], grades)


def held_out(corpus: Path) -> Iterator[Task]:
    """Tasks of the sources that were held out of training."""
    everything, queries = (
        read_chunks(corpus / "chunks.jsonl"),
        read_queries(corpus / "queries.jsonl"),
    )
    for source in sorted(HELD_OUT & {one.source for one in everything}):
        numbers = [n for n, one in enumerate(everything) if one.source == source]
        first, chunks = numbers[0], [everything[n] for n in numbers]
        own = [_moved(one, first) for one in queries if one.source == source]
        yield from rule_made(source, chunks, [*own, *sentence_queries(chunks, 7)])


def collections(corpus: Path) -> Iterator[Task]:
    """Tasks of other collections: with judged queries, and with rule-made ones."""
    everything = read_chunks(corpus / "dev_chunks.jsonl")
    judged = [json.loads(line) for line in (corpus / "dev_queries.jsonl").open()]
    for source in sorted({one.source for one in everything}):
        chunks = [one for one in everything if one.source == source]
        yield from rule_made(
            source, chunks, [*heading_queries(chunks, 7), *sentence_queries(chunks, 7)]
        )
        for half in (0, 1):
            some = [one for one in judged if one["source"] == source and one["half"] == half]
            grades = [{int(d): g for d, g in one["grades"].items()} for one in some]
            if some:
                units = [one.document for one in chunks]
                yield Task(
                    f"{source}/judged-{half}", chunks, units, [one["text"] for one in some], grades
                )


def _moved(query: Query, first: int) -> Query:
    kept = {
        name: getattr(query, name) for name in ("kind", "text", "source", "hidden", "cut", "key")
    }
    return Query(first=query.first - first, last=query.last - first, **kept)


class Judge:
    """Measures models on tasks."""

    def __init__(self, model: Path, encoders: dict[str, Path]) -> None:
        self.model = model
        self.encoders = {n: open_encoder(read_weights(p)).eval() for n, p in encoders.items()}

    def measure(self, task: Task) -> dict[str, list[float]]:
        """nDCG@10 of each query by the name of what ranked: vectors, hybrid."""
        texts = rows_of(self.model, [encoder_text(one) for one in task.texts], WIDTH)
        asked = rows_of(self.model, task.queries, ASKED)
        results = {}
        for name, encoder in self.encoders.items():
            own, queries = embed(encoder, texts), embed(encoder, asked)
            results[f"{name} vectors"] = ranked(task, queries @ own.T)
            results[f"{name} hybrid"] = ranked(task, Hybrid(texts, own).scores(asked, queries))
        return results


def ranked(task: Task, scores: torch.Tensor) -> list[float]:
    """nDCG@10 of each query under scores of all texts; a unit is as good as its best text."""
    at = scores.topk(min(200, scores.shape[1]), 1).indices.tolist()
    lists = [list(dict.fromkeys(task.units[n] for n in row)) for row in at]
    return [ndcg(one, grades) for one, grades in zip(lists, task.grades, strict=True)]


def main() -> None:
    """Judges all models on all tasks."""
    parser = argparse.ArgumentParser()
    for name in ("corpus", "model", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--encoders", nargs="+", default=[])
    a = parser.parse_args()
    encoders = {name: Path(path) for name, _, path in (one.partition("=") for one in a.encoders)}
    judge, results = Judge(a.model, encoders), {}
    for task in (*held_out(a.corpus), *collections(a.corpus)):
        results[task.name] = judge.measure(task)
        figures = " ".join(f"{sum(v) / len(v):.3f}" for v in results[task.name].values())
        print(f"{task.name} {len(task.queries)} {len(task.texts)} {figures}", flush=True)
    a.out.write_text(
        json.dumps(
            {t: {n: [round(x, 4) for x in v] for n, v in r.items()} for t, r in results.items()}
        )
    )


if __name__ == "__main__":
    main()
