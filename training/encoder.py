"""Trains the encoder for documentation, from the batch, from wrong answers, and near its base.

    python -m training.encoder MINED BASE OUT --seconds 180

BASE and OUT are folders; OUT gets the mean of the base and of what was trained. Between the two, a
model keeps what the base knew and has most of what was learned (Wortsman et al., Robust fine-tuning
of zero-shot models, 2022).
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import torch
from torch.nn import functional
from transformers import RobertaModel

from training.batches import Clock, Mined, groups, orders, read_mined, without_shared
from training.models import open_encoder, read_weights, vectors, weights_of, write_weights
from training.packing import mean

SIZE = 2
"""Passages of each query: its answer and a wrong one."""

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


def train(mined: Mined, model: RobertaModel, base: RobertaModel, a: argparse.Namespace) -> None:
    """Trains until the time is over."""
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.01)
    clock = Clock(a.seconds, a.rate, warm=50)
    model.train()
    for some in orders(len(mined["queries"]), a.batch, mined["source"], a.together):
        if not clock.tick(optimizer):
            break
        most = (256, 192, 192, 128)[clock.step % 4]
        rows = groups(mined, some, SIZE)
        queries = mined["queries"][some].long()
        texts = without_shared(mined["encoder"][rows][..., :most].long(), queries).flatten(0, 1)
        q, t = vectors(model, queries), vectors(model, texts)
        with torch.no_grad():
            before = vectors(base, queries), vectors(base, texts)
        moved = 2 - (q * before[0]).sum(-1).mean() - (t * before[1]).sum(-1).mean()
        loss = contrast(q, t, mined["documents"][rows].flatten()) + a.near * moved
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if clock.step % 50 == 1:
            print(f"step {clock.step} loss {loss.item():.3f} moved {moved.item():.3f}", flush=True)


def main() -> None:
    """Trains one model and writes its folder."""
    parser = argparse.ArgumentParser()
    for name in ("mined", "base", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--rate", type=float, default=3e-5)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--near", type=float, default=1.0, help="weight of staying near the base")
    parser.add_argument("--share", type=float, default=0.5, help="of what was trained, in the mean")
    parser.add_argument("--together", type=float, default=0.0, help="batches of one source alone")
    a = parser.parse_args()
    torch.manual_seed(0)
    weights = read_weights(a.base / "model.safetensors")
    model = open_encoder(weights, dropout=0.05)
    train(read_mined(a.mined), model, open_encoder(weights).eval(), a)
    shutil.copytree(a.base, a.out, dirs_exist_ok=True)
    write_weights(a.out / "model.safetensors", mean(weights, weights_of(model), a.share))


if __name__ == "__main__":
    main()
