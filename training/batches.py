"""Batches of queries with an answer and wrong answers, put together on the device."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from training.models import DEVICE
from training.passages import BEGIN, END, PADDING

Mined = dict[str, Any]
"""What mining has written: rows of tokens, and numbers of rows for each query."""

WITHOUT_SHARED = 0.2
"""Share of the groups whose passages lose words of the query, so that meaning has to do."""


def read_mined(path: Path) -> Mined:
    """What mining has written, on the device."""
    mined = torch.load(path)
    return {n: one.to(DEVICE) if torch.is_tensor(one) else one for n, one in mined.items()}


def orders(count: int, batch: int, source: torch.Tensor, together: float) -> Iterator[torch.Tensor]:
    """Endless batches of query numbers; a share of them has queries of one source only."""
    while True:
        for some in torch.randperm(count, device=DEVICE).split(batch):
            if torch.rand(1).item() < together:
                own = (source == source[some[0]]).nonzero()[:, 0]
                some = own[torch.randperm(len(own), device=DEVICE)[:batch]]  # noqa: PLW2901
            if len(some) > batch // 4:
                yield some


def groups(mined: Mined, some: torch.Tensor, size: int) -> torch.Tensor:
    """Numbers of rows for each query: the answer, then wrong answers drawn without order.

    Queries that have fewer wrong answers get any chunks in their places.
    """
    wrong = mined["wrong"][some]
    order = (torch.rand(wrong.shape, device=DEVICE) + (wrong < 0) * 2).argsort(1)
    wrong = wrong.gather(1, order[:, : size - 1])
    usable = mined["usable"]
    others = usable[torch.randint(len(usable), wrong.shape, device=DEVICE)]
    rows = torch.where(wrong >= 0, wrong, others) + mined["chunks"] * mined["hidden"][some, None]
    return torch.cat([mined["answer"][some, None], rows], 1)


def without_shared(texts: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
    """Texts (groups × size × width) of which some groups lose most words of their query."""
    lost = torch.rand(queries.shape, device=queries.device) < 0.7
    lost &= torch.rand(len(queries), 1, device=queries.device) < WITHOUT_SHARED
    lost &= (queries != BEGIN) & (queries != END) & (queries != PADDING)
    gone = torch.where(lost, queries, -1)
    shared = (texts[..., None] == gone[:, None, None, :]).any(-1)
    return torch.where(shared, PADDING, texts)


class Clock:
    """A learning rate that rises, then falls to nothing when the time is over."""

    def __init__(self, seconds: float, rate: float, warm: int) -> None:
        self.seconds, self.rate, self.warm = seconds, rate, warm
        self.start, self.step = time.monotonic(), 0

    def tick(self, optimizer: torch.optim.Optimizer) -> bool:
        """Sets the rate of the next step; false when the time is over."""
        part = (time.monotonic() - self.start) / self.seconds
        self.step += 1
        for group in optimizer.param_groups:
            group["lr"] = self.rate * min(1.0, self.step / self.warm) * max(0.02, 1 - part)
        return part < 1
