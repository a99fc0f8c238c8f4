"""How many passages of other documentation have a word, which tells foreign queries from one's own.

    python -m training.familiar CHUNKS src/dowse/_search/background.json

CHUNKS is a file of chunks (corpus.py). The passages are drawn from all sources in turn, like those
of elsewhere.py. Words that few of them have are left out: they are as good as unknown.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from dowse._search.confidence import BackgroundTerms
from dowse._text.analyzer import TextAnalyzer
from dowse._text.options import KeywordOptions
from training.corpus import Chunk, read_chunks
from training.elsewhere import drawn

PASSAGES = 50_000
LEAST = 10  # passages that have a word
WORD = re.compile(r"\w[\w.'’+-]*")  # addresses and anchors are left out, too
SETTINGS = ("version", "language", "stemming", "stopwords")  # that the terms of English depend on


def main() -> None:
    """Makes the file of words."""
    chunks, target = map(Path, sys.argv[1:])
    counted = count(drawn(read_chunks(chunks), PASSAGES), LEAST)
    target.write_bytes(msgspec.json.encode(counted) + b"\n")


def count(chunks: Sequence[Chunk], least: int) -> BackgroundTerms:
    """In how many chunks each word occurs, title and headings included."""
    analyzer = TextAnalyzer(KeywordOptions())
    terms = Counter[str]()
    for one in chunks:
        terms.update(set(analyzer.query_terms("\n".join((one.title, *one.path, one.text)))))
    length = sum(len(one.text) for one in chunks) / len(chunks)
    stamp = analyzer.stamp
    often = {one: n for one, n in sorted(terms.items()) if n >= least and WORD.fullmatch(one)}
    return BackgroundTerms(len(chunks), round(length), {key: stamp[key] for key in SETTINGS}, often)


if __name__ == "__main__":
    main()
