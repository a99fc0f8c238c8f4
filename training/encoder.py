"""Trains the encoder, from the batch, from wrong answers, and from a reranker.

python -m training.encoder MINED MODEL OUT --teacher WEIGHTS --seconds 200
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch.nn import functional

from training.batches import Clock, Mined, groups, orders, pairs, read_mined, without_shared
from training.models import (
    logits,
    open_encoder,
    open_reranker,
    read_weights,
    vectors,
    weights_of,
    write_weights,
)

SIZE = 4
SHARP = 20.0
"""What cosines are multiplied with before the softmax."""


def contrast(q: torch.Tensor, t: torch.Tensor, documents: torch.Tensor) -> torch.Tensor:
    """Each query finds its answer among all texts of the batch, and each answer its query.

    Other chunks of the answer's document are no wrong answers.
    """
    goal = torch.arange(len(q), device=q.device) * SIZE
    own = documents[goal]
    forth = (q @ t.T * SHARP).masked_fill(_others(own, documents, goal), -1e4)
    back = (t[goal] @ q.T * SHARP).masked_fill(_others(own, own, goal // SIZE), -1e4)
    loss: torch.Tensor = functional.cross_entropy(forth, goal)
    return loss + 0.3 * functional.cross_entropy(back, goal // SIZE)


def _others(own: torch.Tensor, documents: torch.Tensor, goal: torch.Tensor) -> torch.Tensor:
    same = own[:, None] == documents[None]
    same[torch.arange(len(own), device=own.device), goal] = False
    return same


def agreement(q: torch.Tensor, t: torch.Tensor, taught: torch.Tensor) -> torch.Tensor:
    """How far the order within each group is from that of the teacher."""
    mine = torch.einsum("qd,qgd->qg", q, t.view(len(q), SIZE, -1)) * SHARP
    return functional.kl_div(mine.log_softmax(-1), taught.softmax(-1), reduction="batchmean")


def train(
    mined: Mined, model: torch.nn.Module, teacher: torch.nn.Module, a: argparse.Namespace
) -> None:
    """Trains until the time is over."""
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.01, fused=True)
    clock = Clock(a.seconds, a.rate, warm=50)
    model.train()
    for some in orders(len(mined["queries"]), a.batch, mined["source"], a.together):
        if not clock.tick(optimizer):
            break
        most = (256, 192, 192, 128)[clock.step % 4]
        rows = groups(mined, some, SIZE)
        queries = mined["queries"][some].long()
        asked = queries.repeat_interleave(SIZE, 0)
        with torch.no_grad():
            taught = logits(
                teacher, *pairs(asked, mined["reranker"][rows].long().flatten(0, 1), 160)
            )
        texts = without_shared(mined["encoder"][rows][..., :most].long(), queries).flatten(0, 1)
        q, t = vectors(model, queries), vectors(model, texts)
        loss = 0.5 * contrast(q, t, mined["documents"][rows].flatten())
        loss = loss + agreement(q, t, taught.view(-1, SIZE))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if clock.step % 50 == 1:
            print(f"step {clock.step} loss {loss.item():.3f}", flush=True)


def main() -> None:
    """Trains one model and writes its weights."""
    parser = argparse.ArgumentParser()
    for name in ("mined", "model", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--teacher", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=200)
    parser.add_argument("--rate", type=float, default=3e-5)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--together", type=float, default=0.0)
    a = parser.parse_args()
    torch.manual_seed(0)
    model, teacher = (
        open_encoder(read_weights(a.model)),
        open_reranker(read_weights(a.teacher)).eval(),
    )
    train(read_mined(a.mined), model, teacher, a)
    write_weights(a.out, weights_of(model))


if __name__ == "__main__":
    main()
