"""Documents, vectors and queries for benchmarks of any size."""

from __future__ import annotations

import hashlib
import random
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from dowse._embed.open import open_embedder
from dowse._embed.options import EmbedOptions
from dowse._model import EmbeddedBatch, Matrix, Model, Vector, text_key
from dowse._model.ports import Embedder
from dowse._util.files import locations

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = (ROOT / "benchmarks" / "corpus" / "docs", ROOT / "examples" / "vault")
"""The documents that are used when no others are named."""

PARTS = 100
"""Every document says in its frontmatter to which of so many parts it belongs."""

CHARACTERS = 760
"""Of a chunk, about; tables say how many chunks were made."""

_REPLACED = 0.2  # share of the words of a copy that are other words of the collection
_WORD = re.compile(r"[A-Za-z]{4,}")
_FENCE = re.compile(r"^\s*(```|~~~)")
_TITLE = re.compile(r"^(title: *)([\"']?)(.*?)\2 *$")
_READ = 500  # files whose words are used for copies


def markdown_files(folders: Sequence[Path]) -> list[Path]:
    """All Markdown files of these folders."""
    return [path for folder in folders for path in sorted(folder.rglob("*.md")) if path.is_file()]


def write_copies(files: Sequence[Path], characters: int, target: Path) -> int:
    """Writes files until there are so many characters, and then perturbed copies of them.

    A small collection is copied many times; of a large one, evenly spread files are taken.
    Returns the number of files.
    """
    written = number = 0
    order, words = spread(files), words_of(files)
    while written < characters:
        copy, place = divmod(number, len(files))
        text = order[place].read_text("utf-8", "replace")
        text = in_part(perturbed(text, copy, words) if copy else text, number % PARTS)
        path = target / f"copy-{copy}" / f"{number}-{order[place].name}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        written += len(text)
        number += 1
    return number


def write_files(files: Sequence[Path], count: int, target: Path) -> None:
    """Writes so many files, perturbed copies where there are too few."""
    order, words = spread(files), words_of(files)
    target.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        copy, place = divmod(number, len(files))
        text = order[place].read_text("utf-8", "replace")
        text = perturbed(text, copy, words) if copy else text
        (target / f"{number}-{order[place].name}").write_text(text, "utf-8")


def spread(files: Sequence[Path]) -> list[Path]:
    """The files in an order of which every beginning is a sample of all; always the same."""
    order = list(files)
    random.Random(1).shuffle(order)  # noqa: S311  (no cryptography)
    return order


def words_of(files: Sequence[Path]) -> list[str]:
    """The words of some files, each as often as it is written, so that copies read alike."""
    texts = (path.read_text("utf-8", "replace") for path in spread(files)[:_READ])
    return [word for text in texts for word in _WORD.findall(text)]


def perturbed(text: str, copy: int, words: Sequence[str]) -> str:
    """A text with some of its words replaced, and with a title of its own.

    Frontmatter keeps its form, and code stays as it is. The same copy is always the same text.
    """
    digest = hashlib.sha256(f"{copy}\n{text}".encode("utf-8", "surrogatepass")).digest()
    rng = random.Random(digest)  # noqa: S311  (no cryptography)

    def other(match: re.Match[str]) -> str:
        return rng.choice(words) if rng.random() < _REPLACED else match[0]

    lines, protected = text.split("\n"), _protected(text.split("\n"))
    for place, line in enumerate(lines):
        if place not in protected:
            lines[place] = _WORD.sub(other, line) + (f" {copy}" if line.startswith("# ") else "")
        elif title := _TITLE.match(line):
            lines[place] = f"{title[1]}{title[2]}{title[3]} {copy}{title[2]}"
    return "\n".join(lines)


def _protected(lines: Sequence[str]) -> set[int]:
    """The lines of the frontmatter and of code."""
    found, in_code, start = set[int](), False, 0
    if lines[0] == "---" and "---" in lines[1:]:
        start = lines.index("---", 1) + 1
        found |= set(range(start))
    for place in range(start, len(lines)):
        if fence := bool(_FENCE.match(lines[place])):
            in_code = not in_code
        if fence or in_code:
            found.add(place)
    return found


def in_part(text: str, part: int) -> str:
    """A document whose frontmatter has the field `part`."""
    has_frontmatter = text.startswith("---\n") and "\n---" in text[3:]
    return (
        f"---\npart: {part}\n{text[4:]}" if has_frontmatter else f"---\npart: {part}\n---\n{text}"
    )


def questions(files: Sequence[Path], count: int, words: int = 7) -> list[str]:
    """The first words of the longest line of some files."""
    asked = []
    for path in spread(files):
        line = max(path.read_text("utf-8", "replace").splitlines() or [""], key=len)
        found = _WORD.findall(line)[:words]
        asked += [" ".join(found)] if len(found) == words else []
        if len(asked) == count:
            break
    return asked


def real_embedder(model: str = "") -> Embedder:
    """The embedder that ships, or another local one."""
    options = EmbedOptions(model=model) if model else EmbedOptions()
    return open_embedder(options, locations().cache, fetch=False)


class SyntheticEmbedder:
    """Gives passages random vectors of unit length by a hash; queries are embedded by a model.

    The seconds that each query takes are added to `times`.
    """

    def __init__(self, real: Embedder, times: list[float] | None = None) -> None:
        self._real = real
        self._times = [] if times is None else times

    @property
    def model(self) -> Model:
        return self._real.model

    def passages(self, texts: Sequence[str]) -> Iterator[EmbeddedBatch]:
        for start in range(0, len(texts), 256):
            some = texts[start : start + 256]
            vectors: Matrix = np.stack([unit_vector(text, self.model.dimensions) for text in some])
            yield EmbeddedBatch(tuple(range(start, start + len(some))), vectors)

    def query(self, text: str) -> Vector:
        began = time.perf_counter()
        vector = self._real.query(text)
        self._times.append(time.perf_counter() - began)
        return vector


def unit_vector(text: str, dimensions: int) -> Vector:
    """A random direction, the same for the same text."""
    rng = np.random.default_rng(int.from_bytes(text_key(text)[:8], "big"))
    vector = rng.standard_normal(dimensions, dtype=np.float32)
    return np.asarray(vector / np.linalg.norm(vector), np.float32)
