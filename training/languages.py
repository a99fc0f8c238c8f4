"""Teaches the shipped encoder more languages, without changing what it does with English.

    python -m training.languages CORPUS ENGLISH MODEL OUT --seconds 3000

CORPUS and the tokenizer in OUT are those of vocabulary.py. Only rows of the word table are added
and trained; every weight that reads English stays as it is. A translation learns the vector that
the encoder gives to the English text, so a query in one language finds a page in another (Artetxe
et al., On the cross-lingual transferability of monolingual representations, 2020).
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer
from torch.nn import functional

from training.models import DEVICE, Weights, open_encoder, read_weights, vectors
from training.packing import SCALE, pack
from training.passages import BEGIN, END, PADDING
from training.vocabulary import read_pages, texts_of

SHARP = 20.0
WORDS = "embeddings.word_embeddings.weight"


# ── Texts as tokens ──────────────────────────────────────────────────────────


class Texts:
    """Many texts as one row of tokens."""

    def __init__(self, tokenizer: Tokenizer, texts: list[str], most: int) -> None:
        """Tokenize the texts, each up to a number of tokens."""
        rows: list[NDArray[np.int32]] = []
        for start in range(0, len(texts), 20_000):
            some = [text[: most * 8] for text in texts[start : start + 20_000]]
            made = tokenizer.encode_batch_fast(some, add_special_tokens=False)
            rows.extend(np.array(e.ids[:most], np.int32) for e in made)
        self.length = np.array([len(row) for row in rows])
        self.start = np.cumsum(self.length) - self.length
        self.flat = np.concatenate(rows)

    def __getitem__(self, n: int) -> NDArray[np.int32]:
        """Return the tokens of a text."""
        return self.flat[self.start[n] : self.start[n] + self.length[n]]


def batch(rows: list[NDArray[np.int32]], most: int) -> torch.Tensor:
    """Pad rows of tokens, with a mark at both ends."""
    width = min(most, max(map(len, rows)) + 2)
    out = torch.full((len(rows), width), PADDING)
    for n, row in enumerate(rows):
        cut = torch.from_numpy(row[: width - 2].astype(np.int64))
        out[n, 0], out[n, 1 : len(cut) + 1], out[n, len(cut) + 1] = BEGIN, cut, END
    return out.to(DEVICE)


# ── Model ────────────────────────────────────────────────────────────────────


class Extended(torch.nn.Module):  # type: ignore[misc]  # torch is not installed here
    """An encoder that does not change, with rows of words that do."""

    def __init__(self, weights: Weights, rows: torch.Tensor) -> None:
        """Take the weights of the encoder, and the first values of the new rows."""
        super().__init__()
        self.encoder = open_encoder(weights)
        self.encoder.requires_grad_(requires_grad=False)
        self.old = len(weights[WORDS])
        self.rows = torch.nn.Parameter(rows.to(DEVICE))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the vector of each text."""
        table = self.encoder.embeddings.word_embeddings.weight
        new = self.rows[(ids - self.old).clamp_min(0)]
        words = torch.where((ids < self.old)[..., None], table[ids.clamp_max(self.old - 1)], new)
        return vectors(self.encoder, ids, words)


def first_rows(
    foreign: Texts, english: Texts, pairs: NDArray[np.int64], table: NDArray[np.float32], count: int
) -> torch.Tensor:
    """Begin each new row as the mean of the English rows that translate it (IBM model 1)."""
    old, rng = len(table), np.random.default_rng(0)
    chosen = pairs[(foreign.length[pairs[:, 0]] <= 40) & (english.length[pairs[:, 1]] <= 40)]
    chosen = chosen[rng.permutation(len(chosen))[:250_000]]
    usual = np.bincount(english.flat, minlength=old)[:old]
    words: list[NDArray[np.int64]] = []
    targets: list[NDArray[np.int64]] = []
    for n, (x, e) in enumerate(chosen):
        new = np.unique(foreign[x])
        new = new[new >= old] - old
        known = np.unique(english[e])
        known = known[(known > END) & (known < old) & ~np.isin(known, foreign[x])]
        words.append(np.repeat(new, len(known)))
        place = np.full(len(new) * len(known), n, np.int64)
        targets.append(np.stack([np.tile(known, len(new)), place]))
    word, (target, place) = np.concatenate(words), np.concatenate(targets, 1)
    keys, key = np.unique(word.astype(np.int64) * old + target, return_inverse=True)
    sentence = np.unique(place * old + target, return_inverse=True)[1]
    share = np.ones(len(keys)) / np.maximum(usual[keys % old], 1) ** 0.3
    for _ in range(5):
        weight = share[key]
        weight /= np.bincount(sentence, weight)[sentence] + 1e-9
        count_of = np.bincount(key, weight, len(keys))
        share = count_of / np.maximum(np.bincount(keys // old, count_of, count)[keys // old], 1e-9)
    good = share > 0.05
    row, column, weight = keys[good] // old, keys[good] % old, share[good]
    weight /= np.maximum(np.bincount(row, weight, count), 1e-9)[row]
    rows = np.zeros((count, table.shape[1]), np.float32)
    np.add.at(rows, row, weight[:, None].astype(np.float32) * table[column])
    mean, spread = table[1000:20_000].mean(0), np.linalg.norm(table[1000:20_000], axis=1).mean()
    known_rows = np.abs(rows).sum(1) > 0
    print("rows that translations begin", int(known_rows.sum()), "of", count, flush=True)
    norm = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = np.where(known_rows[:, None], rows / np.maximum(norm, 1e-6) * spread * 0.9, mean)
    return torch.from_numpy(rows.astype(np.float32) + rng.normal(0, 0.002, rows.shape).astype("f4"))


# ── Training ─────────────────────────────────────────────────────────────────


class Material:
    """Texts in many languages with their English lines, drawn by language and length."""

    def __init__(self, corpus: Path, english: Path, tokenizer: Tokenizer) -> None:
        """Read a corpus."""
        numbers: dict[tuple[int, str], int] = {}
        language: list[str] = []
        for page in read_pages(corpus):
            for one in texts_of(page):
                if one not in numbers:
                    numbers[one] = len(numbers)
                    language.append(page[0])
        self.line = np.array([line for line, _ in numbers])
        self.groups = passages_of(read_pages(corpus), numbers)
        self.foreign = Texts(tokenizer, [text for _, text in numbers], 128)
        self.english = Texts(tokenizer, english.read_text("utf-8").split("\n"), 128)
        which = np.unique(language, return_inverse=True)[1]
        # Languages with little text come more often than their share, short texts less often.
        share = (np.bincount(which) ** 0.6 / np.bincount(which))[which]
        short = np.where(self.foreign.length < 4, 0.3, 1.0)
        usable = (self.foreign.length >= 2) & (self.english.length[self.line] >= 2)
        self.chance = _to_one(share * usable * short)
        self.group_chance = _to_one(share[[group[-1] for group in self.groups]])
        self.rng = np.random.default_rng(0)
        self._drawn: list[NDArray[np.int64]] = []

    def texts(self, count: int) -> tuple[torch.Tensor, torch.Tensor, NDArray[np.int64]]:
        """Draw texts of about one length, so that little is padded: foreign, English, lines."""
        if not self._drawn:
            some = self.rng.choice(len(self.line), count * 8, p=self.chance)
            self._drawn = np.array_split(some[np.argsort(self.foreign.length[some])], 8)
            self.rng.shuffle(self._drawn)
        some = self._drawn.pop()
        lines = self.line[some]
        foreign = batch([self.foreign[n] for n in some.tolist()], 64)
        return foreign, batch([self.english[n] for n in lines.tolist()], 64), lines

    def passages(self, count: int) -> tuple[torch.Tensor, torch.Tensor, NDArray[np.int64]]:
        """Draw passages: foreign, English, numbers."""
        some = self.rng.choice(len(self.groups), count, p=self.group_chance)
        groups = [self.groups[n] for n in some]
        foreign = [np.concatenate([self.foreign[n] for n in group]) for group in groups]
        english = [
            np.concatenate([self.english[int(self.line[n])] for n in group]) for group in groups
        ]
        return batch(foreign, 128), batch(english, 128), some


def _to_one(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return weights / weights.sum()


def passages_of(pages: Iterable[list[Any]], numbers: dict[tuple[int, str], int]) -> list[list[int]]:
    """Group neighbouring texts of a page: title, heading, and what follows."""
    groups = []
    for page in pages:
        title = numbers.get((page[3][0], page[3][1]))
        for _, heading, blocks in page[5]:
            items = [numbers[n, text] for n, text in (heading, *blocks) if n >= 0 and text]
            for start in range(0, len(items), 5):
                some = items[start : start + 5]
                if len(some) > 1:
                    groups.append([title, *some] if title is not None else some)
    return groups


def train(material: Material, model: Extended, a: argparse.Namespace) -> None:
    """Train the new rows until the time is over."""
    optimizer = torch.optim.AdamW([model.rows], betas=(0.9, 0.98), weight_decay=0.0)
    begun, step, told = time.monotonic(), 0, np.zeros(3)
    while (part := (time.monotonic() - begun) / a.seconds) < 1:
        step += 1
        for group in optimizer.param_groups:
            group["lr"] = a.rate * min(1, step / 20) * max(0.02, 0.5 * (1 + np.cos(np.pi * part)))
        near, found = near_and_found(model, *material.texts(a.batch))
        near_passages, found_passages = near_and_found(model, *material.passages(a.batch // 24))
        loss = 2 * near + 2 * near_passages + 0.3 * found + 0.3 * found_passages
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        told += (near.item(), near_passages.item(), found.item())
        if step % 10 == 0:
            print(f"{time.monotonic() - begun:.0f} s step {step} {told / 10}", flush=True)
            told[:] = 0


def near_and_found(
    model: Extended, foreign: torch.Tensor, english: torch.Tensor, same: NDArray[np.int64]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return how far vectors are from the English ones, and how hard each finds its own."""
    made = model(foreign)
    with torch.no_grad():
        goal = model(english)
    labels = torch.arange(len(made), device=made.device)
    equal = torch.from_numpy(same[:, None] == same[None]).to(made.device)
    equal[labels, labels] = False
    logits = (made @ goal.T * SHARP).masked_fill(equal, -1e4)
    return 1 - (made * goal).sum(-1).mean(), functional.cross_entropy(logits, labels)


def write(model: Extended, weights: Weights, folder: Path, out: Path) -> None:
    """Write the model as a folder; the old weights stay as they are packed."""
    packed: dict[str, Any] = dict(load_file(folder / "model.safetensors"))
    new = pack({WORDS: model.rows.detach().numpy()})
    torch.save(model.rows.detach(), out / "rows.pt")
    before = pack({WORDS: weights[WORDS]}) if WORDS + SCALE not in packed else packed
    for name in (WORDS, WORDS + SCALE):
        packed[name] = np.concatenate([before[name], new[name]])
    save_file(packed, out / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    config["vocab_size"] = len(packed[WORDS])
    (out / "config.json").write_text(json.dumps(config, indent=1))
    for name in ("modules.json", "sentence_bert_config.json"):
        if (folder / name).exists():
            shutil.copy(folder / name, out / name)
    if (folder / "1_Pooling").exists():
        shutil.copytree(folder / "1_Pooling", out / "1_Pooling", dirs_exist_ok=True)
    print("written", flush=True)


def main() -> None:
    """Train, and write the model."""
    parser = argparse.ArgumentParser()
    for name in ("corpus", "english", "model", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--seconds", type=float, default=2600)
    parser.add_argument("--rate", type=float, default=1e-2)
    parser.add_argument("--batch", type=int, default=512)
    a = parser.parse_args()
    torch.manual_seed(0)
    tokenizer = Tokenizer.from_file(str(a.out / "tokenizer.json"))
    weights = read_weights(a.model / "model.safetensors")
    material = Material(a.corpus, a.english, tokenizer)
    count = tokenizer.get_vocab_size() - len(weights[WORDS])
    pairs = np.stack([np.arange(len(material.line)), material.line], 1)
    rows = first_rows(material.foreign, material.english, pairs, weights[WORDS], count)
    model = Extended(weights, rows)
    train(material, model, a)
    write(model, weights, a.model, a.out)


if __name__ == "__main__":
    main()
