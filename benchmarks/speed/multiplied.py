"""Very large collections: documents that are parsed once, and stored many times with other words.

Words are replaced by others of the same length, so that what was parsed of a document is true of
its copies too. Everything from the transaction on is done by the store itself.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.speed.material import PARTS, SyntheticEmbedder, in_part, spread, words_of
from msgspec.structs import replace

from dowse._index.chunk import chunk
from dowse._index.markdown.document import parse
from dowse._index.options import ChunkOptions
from dowse._model import Batch, ChunkedDocument, FileState, IndexedDocument, Vector, text_key
from dowse._model.ports import IndexWriter

_BATCH = 2000  # documents of one transaction
_REPLACED = 0.2  # share of the words that a copy has others for
_WORD = re.compile(r"(?<= )[a-z]{4,}(?=[ ,.])")


class Multiplied:
    """Documents of a collection, and after the last of them copies with other words."""

    def __init__(self, files: Sequence[Path], options: ChunkOptions) -> None:
        self._order = spread(files)
        self._options = options
        self._parsed: list[ChunkedDocument] = []
        self._places: list[list[tuple[int, int]]] = []  # by document: words that can be replaced
        self._words: dict[int, list[str]] = {}
        for word in words_of(files):
            self._words.setdefault(len(word), []).append(word.lower())

    def store(
        self,
        writing: IndexWriter,
        embedder: SyntheticEmbedder,
        target: Path,
        first: int,
        chunks: int,
    ) -> tuple[int, int]:
        """Writes and stores documents from a number on, until so many chunks are stored.

        Returns the number of documents and of chunks.
        """
        number, made = first, 0
        while made < chunks:
            batch: list[IndexedDocument] = []
            while made < chunks and len(batch) < _BATCH:
                batch.append(self._written(number, target))
                made += len(batch[-1].chunked.chunks)
                number += 1
            writing.apply(Batch(put=tuple(batch), vectors=_vectors(batch, embedder)))
        return number - first, made

    def _written(self, number: int, target: Path) -> IndexedDocument:
        copy, place = divmod(number, len(self._order))
        path = target / f"copy-{copy}" / f"{number}-{self._order[place].name}"
        document = self._document(place)
        if copy:
            id_ = path.relative_to(target).as_posix()
            document = _renamed(document, id_, self._perturbed(document, place, copy))
        path.parent.mkdir(parents=True, exist_ok=True)
        data = document.document.text.encode()
        path.write_bytes(data)
        stat = path.stat()
        digest = hashlib.sha256(data).hexdigest()
        return IndexedDocument(document, FileState(stat.st_size, stat.st_mtime_ns, digest))

    def _document(self, place: int) -> ChunkedDocument:
        while len(self._parsed) <= place:
            number = len(self._parsed)
            path = self._order[number]
            text = "\n".join(path.read_text("utf-8", "replace").splitlines()) + "\n"
            document = parse(f"copy-0/{number}-{path.name}", in_part(text, number % PARTS))
            self._parsed.append(chunk(document, self._options))
            self._places.append(list(_replaceable(self._parsed[-1])))
        return self._parsed[place]

    def _perturbed(self, chunked: ChunkedDocument, place: int, copy: int) -> str:
        """The same copy is always the same text."""
        rng = random.Random(copy * len(self._order) + place)  # noqa: S311  (no cryptography)
        places = self._places[place]
        text, pieces, done = chunked.document.text, [], 0
        chosen = rng.sample(places, int(_REPLACED * len(places)))
        for start, end in sorted(chosen):
            pieces += [text[done:start], rng.choice(self._words[end - start])]
            done = end
        return "".join([*pieces, text[done:]])


def _replaceable(chunked: ChunkedDocument) -> Iterator[tuple[int, int]]:
    """The words of paragraphs and lists: not of code, headings, tables and frontmatter."""
    for block in chunked.document.blocks:
        if block.kind == "text":
            for match in _WORD.finditer(chunked.document.text, block.start, block.end):
                yield match.span()


def _renamed(chunked: ChunkedDocument, id_: str, text: str) -> ChunkedDocument:
    """A copy with an id, parts and a text of its own."""

    def other(part: str) -> str:
        return hashlib.sha256(f"{id_} {part}".encode()).hexdigest()[:16]

    sections = {one.id: other(one.id) for one in chunked.sections}
    return replace(
        chunked,
        document=replace(chunked.document, id=id_, text=text),
        sections=tuple(replace(one, id=sections[one.id]) for one in chunked.sections),
        chunks=tuple(
            replace(one, id=other(one.id), section=sections[one.section]) for one in chunked.chunks
        ),
    )


def _vectors(batch: Sequence[IndexedDocument], embedder: SyntheticEmbedder) -> dict[bytes, Vector]:
    texts = [one.chunked.embedding_text(part) for one in batch for part in one.chunked.chunks]
    found = embedder.passages(texts)
    return {
        text_key(texts[position]): vector
        for made in found
        for position, vector in zip(made.positions, made.vectors, strict=True)
    }
