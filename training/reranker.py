"""Trains the reranker, from wrong answers and optionally from a larger one.

python -m training.reranker MINED MODEL OUT --layers 0,2,5 --teacher WEIGHTS --seconds 200
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch.nn import functional

from training.batches import (
    Clock,
    Mined,
    groups,
    orders,
    pairs,
    read_mined,
    with_strangers,
    without_shared,
)
from training.models import logits, open_reranker, read_weights, weights_of, write_weights
from training.packing import keep_layers

SIZE = 12


def batch_of(mined: Mined, some: torch.Tensor, most: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The pairs of a batch of groups: token numbers and types."""
    rows = with_strangers(mined, some, groups(mined, some, SIZE))
    queries = mined["queries"][some].long()
    texts = without_shared(mined["reranker"][rows].long(), queries)
    return pairs(queries.repeat_interleave(SIZE, 0), texts.flatten(0, 1), most)


def loss_of(scores: torch.Tensor, taught: torch.Tensor | None) -> torch.Tensor:
    """The answer first, and near 1 where it is one; with a teacher mostly what it says."""
    first = torch.zeros(len(scores), dtype=torch.long, device=scores.device)
    labels = functional.one_hot(first, SIZE).float()
    rank = functional.cross_entropy(scores, first, label_smoothing=0.02)
    soft, weight = labels * 0.98 + 0.01, 1 + 3 * labels
    sure = functional.binary_cross_entropy_with_logits(scores, soft, weight=weight)
    if taught is None:
        return rank + sure
    agree = functional.kl_div(scores.log_softmax(-1), taught.softmax(-1), reduction="batchmean")
    return 0.3 * (rank + sure) + agree + 0.1 * functional.mse_loss(scores, taught)


def train(
    mined: Mined, model: torch.nn.Module, teacher: torch.nn.Module | None, a: argparse.Namespace
) -> None:
    """Trains until the time is over."""
    optimizer = torch.optim.AdamW(
        model.parameters(), weight_decay=0.01, betas=(0.9, 0.98), fused=True
    )
    clock = Clock(a.seconds, a.rate, warm=200)
    model.train()
    for some in orders(len(mined["queries"]), a.batch, mined["source"], together=0.0):
        if not clock.tick(optimizer):
            break
        ids, types = batch_of(mined, some, (256, 256, 192, 128)[clock.step % 4])
        taught = None
        if teacher is not None:
            with torch.no_grad():
                taught = logits(teacher, ids, types).view(-1, SIZE)
        scores = logits(model, ids, types).view(-1, SIZE)
        loss = loss_of(scores, taught)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if clock.step % 200 == 1:
            right = (scores.argmax(1) == 0).float().mean().item()
            print(f"step {clock.step} loss {loss.item():.3f} right {right:.3f}", flush=True)


def main() -> None:
    """Trains one model and writes its weights."""
    parser = argparse.ArgumentParser()
    for name in ("mined", "model", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--layers", default="0,1,2,3,4,5")
    parser.add_argument("--teacher", type=Path)
    parser.add_argument("--seconds", type=float, default=200)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--batch", type=int, default=48)
    a = parser.parse_args()
    torch.manual_seed(0)
    weights = keep_layers(read_weights(a.model), [int(n) for n in a.layers.split(",")])
    model = open_reranker(weights)
    teacher = open_reranker(read_weights(a.teacher)).eval() if a.teacher else None
    train(read_mined(a.mined), model, teacher, a)
    write_weights(a.out, weights_of(model))


if __name__ == "__main__":
    main()
