"""The processes of the crash test: one that writes until it is killed, one that reads meanwhile.

Every batch writes its number into all documents, so that half a batch cannot go unseen.
"""

from __future__ import annotations

import os
import sys
from itertools import count
from pathlib import Path

from documents import STAMP, PlainAnalyzer, batch, link, make_document, vector_of
from dowse._model import Batch
from dowse._model.ports import IndexReader
from dowse._store.store import EmbeddedStore

DOCUMENTS = 6


def numbered(number: int) -> Batch:
    """A batch of documents that all carry its number; one more comes and goes."""
    texts = [f"number{number} of {name}\n\n```\ncode{number}\n```" for name in range(DOCUMENTS)]
    documents = [
        make_document(f"{name}.md", text, links=[link("extra")]) for name, text in enumerate(texts)
    ]
    if number % 2:
        return batch(*documents, gone=["extra.md"])
    return batch(*documents, make_document("extra.md", f"number{number} extra"))


def number_in(reading: IndexReader) -> int | None:
    """The number that documents, both searches, links and words agree on; None before the first."""
    entries = reading.catalogue.documents()
    texts = {
        entry.id: document.text
        for entry in entries
        if (document := reading.catalogue.document(entry.id))
    }
    numbers = {text.split()[0] for text in texts.values()}
    if not numbers:
        return None
    assert len(numbers) == 1, numbers
    (word,) = numbers
    number = int(word.removeprefix("number"))
    even = number % 2 == 0
    assert len(entries) == DOCUMENTS + even
    assert len(reading.keyword.search("body", [word], 100)) == DOCUMENTS + even
    assert len(reading.keyword.search("body", ["of"], 100)) == DOCUMENTS
    assert len(reading.keyword.search("body", ["extra"], 100)) == even
    assert len(reading.keyword.search("code", [f"code{number}"], 100)) == DOCUMENTS
    nearest = reading.catalogue.chunks(
        [key for key, _ in reading.vectors.nearest(vector_of("x"), 100)]
    )
    assert len(nearest) == reading.catalogue.counts().chunks == 2 * DOCUMENTS + even
    assert all(word in chunk.text or f"code{number}" in chunk.text for chunk in nearest)
    assert {edge.target for edge in reading.links.all()} == {"extra.md" if even else None}
    assert reading.vocabulary.most_frequent(1) == ["```"]
    assert [one for one in reading.vocabulary.most_frequent(99) if one.startswith("number")] == [
        word
    ]
    return number


def write_until_killed(folder: Path) -> None:
    """Writes batch after batch, saying the number of each that is done."""
    store = EmbeddedStore(folder, PlainAnalyzer())
    with store.write(wait=60) as writing:
        if writing.catalogue.stamp() is None:
            writing.start(STAMP)
        with store.read() as reading:
            before = number_in(reading)
        for number in count(0 if before is None else before + 1):
            writing.apply(numbered(number))
            print(number, flush=True)


def fork_writers(folder: Path) -> None:
    """Becomes a writer for every line that comes in: forking spares each the time to start."""
    for _ in sys.stdin:
        writer = os.fork()
        if not writer:
            write_until_killed(folder)
        print("pid", writer, flush=True)
        os.waitpid(writer, 0)
        print("killed", flush=True)


def read_until_enough(folder: Path) -> None:
    """Reads generation after generation until a file says that it is enough.

    Another file says that it has read several: on a slow machine that takes its time.
    """
    seen: list[int] = []
    while not (folder.parent / "enough").exists():
        store = EmbeddedStore(folder, PlainAnalyzer())  # now and then as a new process would
        for _ in range(10):
            with store.read() as reading:
                number = number_in(reading)
            seen += [] if number is None else [number]
        store.close()
        if len(set(seen)) > 1:
            (folder.parent / f"read-{os.getpid()}").touch()
    assert seen == sorted(seen)
    print(len(set(seen)))


if __name__ == "__main__":
    {"write": fork_writers, "read": read_until_enough}[sys.argv[1]](Path(sys.argv[2]))
