"""What the two models read of a chunk, as text and as token numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.corpus import Chunk
from training.queries import HEADING

CLS, SEP, PAD = 101, 102, 0
Tokens = NDArray[np.uint16]

_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_LINK = re.compile(r"\[+([^\[\]]*)\]+(?:\([^)]*\))?")
_TAG = re.compile(r"<!--.*?-->|</?[A-Za-z][^<>]{0,300}>|\{[{%<].*?[>%}]\}|\{[#:][^}]*\}", re.DOTALL)
_RULE = re.compile(r"[-=_*|:~`#>+]{3,}|\*\*|\|")


def header_line(chunk: Chunk) -> str:
    """Title and headings as `A > B > C`, the title once."""
    title, path = chunk.title.strip(), [part for part in chunk.path if part]
    repeated = path and path[0].strip().lower() == title.lower()
    return " > ".join(path if repeated or not title else [title, *path])


def encoder_text(chunk: Chunk) -> str:
    """What the encoder reads, which is the embedding text of dowse."""
    line = header_line(chunk)
    return f"{line}\n\n{chunk.text}" if line else chunk.text


def reranker_text(chunk: Chunk) -> str:
    """What the reranker reads: header line and text, without addresses, tags and rules."""
    text = _RULE.sub(" ", _TAG.sub(" ", _LINK.sub(r"\1", _IMAGE.sub(" ", chunk.text))))
    return f"{header_line(chunk)} > {' '.join(text.split())}"


def without_headings(chunk: Chunk) -> Chunk:
    """A chunk that its own headings do not give away, nor its title where it is the only one."""
    title = "" if len(chunk.path) <= 1 else chunk.title
    return chunk._replace(title=title, path=chunk.path[:-1], text=HEADING.sub(" ", chunk.text))


def without_part(chunk: Chunk, cut: tuple[int, int]) -> Chunk:
    """A chunk without the sentence that a query was made of."""
    return chunk._replace(text=chunk.text[: cut[0]] + " " + chunk.text[cut[1] :])


def token_rows(folder: Path, texts: Sequence[str], most: int) -> Tokens:
    """Texts as rows of token numbers between CLS and SEP, cut and padded to one width."""
    from tokenizers import Tokenizer  # noqa: PLC0415  (only training itself tokenizes)

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    rows = np.zeros((len(texts), most), np.uint16)
    for start in range(0, len(texts), 20000):
        some = [text[: most * 12] for text in texts[start : start + 20000]]
        for n, one in enumerate(tokenizer.encode_batch_fast(some, add_special_tokens=False), start):
            ids = one.ids[: most - 2]
            rows[n, : len(ids) + 2] = [CLS, *ids, SEP]
    return rows
