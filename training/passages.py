"""What the encoder reads of a chunk, as text and as token numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.corpus import Chunk
from training.queries import HEADING

BEGIN, PADDING, END = 0, 1, 2
"""Tokens of the RoBERTa family around texts and after them."""

Tokens = NDArray[np.uint16]


def header_line(chunk: Chunk) -> str:
    """Title and headings as `A > B > C`, the title once."""
    title, path = chunk.title.strip(), [part for part in chunk.path if part]
    repeated = path and path[0].strip().lower() == title.lower()
    return " > ".join(path if repeated or not title else [title, *path])


def encoder_text(chunk: Chunk) -> str:
    """What the encoder reads, which is the embedding text of dowse."""
    from dowse._text.markdown import shown  # noqa: PLC0415  (it is read once, before training)

    line, text = header_line(chunk), shown(chunk.text)
    return f"{line}\n\n{text}" if line else text


def without_headings(chunk: Chunk) -> Chunk:
    """A chunk that its own headings do not give away, nor its title where it is the only one."""
    title = "" if len(chunk.path) <= 1 else chunk.title
    return chunk._replace(title=title, path=chunk.path[:-1], text=HEADING.sub(" ", chunk.text))


def without_part(chunk: Chunk, cut: tuple[int, int]) -> Chunk:
    """A chunk without the sentence that a query was made of."""
    return chunk._replace(text=chunk.text[: cut[0]] + " " + chunk.text[cut[1] :])


def token_rows(folder: Path, texts: Sequence[str], most: int) -> Tokens:
    """Texts as rows of token numbers between marks, cut and padded to one width."""
    from tokenizers import Tokenizer  # noqa: PLC0415  (only training itself tokenizes)

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    rows = np.full((len(texts), most), PADDING, np.uint16)
    for start in range(0, len(texts), 20000):
        some = [text[: most * 12] for text in texts[start : start + 20000]]
        for n, one in enumerate(tokenizer.encode_batch_fast(some, add_special_tokens=False), start):
            ids = one.ids[: most - 2]
            rows[n, : len(ids) + 2] = [BEGIN, *ids, END]
    return rows
