"""Hard negatives: what a hybrid search finds in the same source and is not the answer.

    python -m training.mining CORPUS MODEL OUT

CORPUS has chunks.jsonl and queries.jsonl, MODEL an encoder, and OUT becomes one file of tensors.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from random import Random

import torch

from training.choosing import WRONG, Candidate, wrong_answers
from training.corpus import Chunk, Query, may_train, read_chunks, read_queries
from training.models import DEVICE, embed, open_encoder, read_weights
from training.passages import (
    encoder_text,
    header_line,
    token_rows,
    without_headings,
    without_part,
)
from training.queries import HEADING, more_queries

VOCABULARY, WIDTH, ASKED = 50265, 256, 64
HALF = torch.float16 if DEVICE == "cuda" else torch.float32


class Hybrid:
    """Searches a set of rows by cosine and by BM25 over word pieces, each with half of the say."""

    def __init__(self, rows: torch.Tensor, vectors: torch.Tensor) -> None:
        self.vectors = vectors.to(HALF)
        counts = torch.zeros(len(rows), VOCABULARY, device=rows.device)
        counts.scatter_add_(1, rows.long(), torch.ones_like(rows, dtype=torch.float))
        counts[:, :1000] = 0  # padding and marks
        length = counts.sum(1, keepdim=True)
        norm = 1.2 * (0.25 + 0.75 * length / length.mean().clamp_min(1))
        held = (counts > 0).sum(0)
        self.idf = torch.log(1 + (len(rows) - held + 0.5) / (held + 0.5))
        self.weights = (counts * 2.2 / (counts + norm)).to(HALF)

    def scores(self, rows: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
        """The score of every text for every query."""
        asked = torch.zeros(len(rows), VOCABULARY, device=rows.device)
        asked.scatter_(1, rows.long(), 1.0)
        asked[:, :1000] = 0
        asked = asked * self.idf
        lexical = (asked.to(HALF) @ self.weights.T).float() / (
            2.2 * asked.sum(1, keepdim=True) + 1e-6
        )
        return 0.5 * (vectors.to(HALF) @ self.vectors.T).float() + 0.5 * lexical


def rows_of(folder: Path, texts: Sequence[str], most: int) -> torch.Tensor:
    """Texts as rows of tokens on the device."""
    return torch.from_numpy(token_rows(folder, texts, most).astype("int32")).to(DEVICE)


class Miner:
    """Everything that mining needs of a corpus."""

    def __init__(self, chunks: list[Chunk], queries: list[Query], model: Path) -> None:
        self.chunks, self.queries = chunks, queries
        self.headings = [f"{header_line(c)} | {HEADING.findall(c.text)}".lower() for c in chunks]
        self.rows = rows_of(model, [encoder_text(one) for one in chunks], WIDTH)
        self.asked = rows_of(model, [one.text for one in queries], ASKED)
        encoder = open_encoder(read_weights(model / "model.safetensors"))
        self.vectors = embed(encoder, self.rows)
        self.asked_vectors = embed(encoder, self.asked, 8192)
        self.answer = torch.tensor([one.first for one in queries])
        self.wrong = torch.full((len(queries), WRONG), -1)
        self.rng = Random(3)

    def mine(self) -> None:
        """Finds the wrong answers of each query."""
        own: dict[str, list[int]] = defaultdict(list)
        mine: dict[str, list[int]] = defaultdict(list)
        for n, one in enumerate(self.chunks):
            if may_train(one.source):
                own[one.source].append(n)
        for n, query in enumerate(self.queries):
            mine[query.source].append(n)
        for source, numbers in own.items():
            self._source(torch.tensor(numbers, device=DEVICE), mine[source])

    def _source(self, own: torch.Tensor, queries: list[int]) -> None:
        hybrid = Hybrid(self.rows[own], self.vectors[own])
        for start in range(0, len(queries), 2048):
            self._batch(hybrid, own, queries[start : start + 2048])

    def _batch(self, hybrid: Hybrid, own: torch.Tensor, some: list[int]) -> None:
        scores = hybrid.scores(self.asked[some], self.asked_vectors[some])
        at = scores.topk(min(60, len(own)), 1).indices
        # The chunks of two sources may alternate, so numbers are looked up among the source's own.
        for row, n in enumerate(some):
            query = self.queries[n]
            if query.last - query.first > 1:
                span = torch.tensor([query.first, query.last], device=own.device)
                begin, end = torch.searchsorted(own, span).tolist()
                self.answer[n] = own[begin + int(scores[row, begin:end].argmax())]
        near = (self.vectors[self.answer[some].to(DEVICE)][:, None] * self.vectors[own[at]]).sum(-1)
        best = scores.gather(1, at).tolist()
        places = torch.searchsorted(own, self.answer[some].to(DEVICE))
        right = scores.gather(1, places[:, None])[:, 0].tolist()
        for row, (n, numbers) in enumerate(zip(some, own[at].tolist(), strict=True)):
            found = [
                Candidate(*one) for one in zip(numbers, best[row], near[row].tolist(), strict=True)
            ]
            answer = Candidate(int(self.answer[n]), right[row], 1.0)
            chosen = wrong_answers(
                self.queries[n],
                answer,
                found,
                chunks=self.chunks,
                headings=self.headings,
                rng=self.rng,
            )
            self.wrong[n, : len(chosen)] = torch.tensor(chosen, dtype=torch.long)

    def save(self, model: Path, out: Path) -> None:
        """Writes the queries that have wrong answers, with all texts as tokens.

        The rows of texts are: each chunk, each without its headings, then each without the
        sentence that a query was made of.
        """
        kept = [n for n in range(len(self.queries)) if self.wrong[n, 4] >= 0]
        cuts = [n for n in kept if self.queries[n].cut]
        texts = [*self.chunks, *map(without_headings, self.chunks)]
        texts += [
            without_part(self.chunks[self.queries[n].first], self.queries[n].cut or (0, 0))
            for n in cuts
        ]
        place = {n: 2 * len(self.chunks) + k for k, n in enumerate(cuts)}
        usable = [n for n, one in enumerate(self.chunks) if may_train(one.source)]
        hidden = torch.tensor([self.queries[n].hidden for n in kept])
        rows = [int(self.answer[n]) + len(self.chunks) * self.queries[n].hidden for n in kept]
        torch.save({
            "encoder": rows_of(model, [encoder_text(one) for one in texts], WIDTH).cpu(),
            "queries": self.asked[kept].cpu(),
            "answer": torch.tensor([place.get(n, row) for n, row in zip(kept, rows, strict=True)]),
            "document": torch.tensor([self.chunks[int(self.answer[n])].document for n in kept]),
            "documents": torch.tensor([one.document for one in texts]),
            "wrong": self.wrong[kept], "hidden": hidden,
            "source": _numbers([self.queries[n].source for n in kept]),
            "usable": torch.tensor(usable),
            "chunks": len(self.chunks),
        }, out)  # fmt: skip
        print("kept", len(kept), "of", len(self.queries), flush=True)


def _numbers(names: Sequence[str]) -> torch.Tensor:
    known = {name: n for n, name in enumerate(sorted(set(names)))}
    return torch.tensor([known[name] for name in names])


def main(corpus: Path, model: Path, out: Path) -> None:
    """Mines a corpus."""
    chunks, queries = read_chunks(corpus / "chunks.jsonl"), read_queries(corpus / "queries.jsonl")
    queries = [one for one in queries if may_train(one.source)]
    queries += more_queries(chunks, queries, seed=5)
    miner = Miner(chunks, queries, model)
    miner.mine()
    miner.save(model, out)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
