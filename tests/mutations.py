"""Inputs that are nearly right: mutations of a kept corpus, always the same for the same seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

_PIECES = (
    b"\x00",
    b"\xff\xfe",
    b"\r\n\r\n",
    b"%00%ff",
    b"[" * 3_000,
    b'{"a":' * 2_000,
    b"9" * 5_000,
    b"1e400",
    b"-1",
    b"null",
    b'"\\ud800"',
    b"\xf0\x9f\x92\xa9",
    b"A" * 40_000,
    b"..%2f..%2fetc%2fpasswd",
    b"&q=" * 500,
    b"Content-Length: 99999999999999999999\r\n",
    b"Transfer-Encoding: chunked\r\n",
)


def corpus(folder: str) -> list[bytes]:
    """The kept inputs of a kind."""
    files = sorted((Path(__file__).parent / "torture" / "corpus" / folder).iterdir())
    return [file.read_bytes() for file in files]


def mutated(kept: Sequence[bytes], count: int, seed: int) -> Iterator[bytes]:
    """So many inputs: first all kept ones as they are, then mutations of them."""
    rng = random.Random(seed)
    for number in range(count):
        if number < len(kept):
            yield kept[number]
            continue
        data = rng.choice(kept)
        for _ in range(rng.randint(1, 4)):
            data = rng.choice(_WAYS)(data, rng)
        yield data


def _flip(data: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(data) or 1)
    return data[:place] + bytes([rng.randrange(256)]) + data[place + 1 :]


def _drop(data: bytes, rng: random.Random) -> bytes:
    first = rng.randrange(len(data) or 1)
    return data[:first] + data[first + rng.randint(1, 40) :]


def _repeat(data: bytes, rng: random.Random) -> bytes:
    first = rng.randrange(len(data) or 1)
    piece = data[first : first + rng.randint(1, 60)]
    return data[:first] + piece * rng.randint(2, 20) + data[first:]


def _insert(data: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + rng.choice(_PIECES) + data[place:]


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


_WAYS: tuple[Callable[[bytes, random.Random], bytes], ...] = (_flip, _drop, _repeat, _insert, _cut)
