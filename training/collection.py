"""A source of the corpus as a judged collection, for the benchmarks.

    python -m training.collection CORPUS FOLDER ms-faq laravel+docs

CORPUS has chunks.jsonl and queries.jsonl. Each source gets a folder with docs/, queries.jsonl and
qrels.tsv. If people wrote queries, these are taken; otherwise some of those made by rule that a
person could ask.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from random import Random

from training.corpus import Chunk, Query, read_chunks, read_queries

KINDS = frozenset({"title", "title-asked", "heading-asked", "link"})
MOST = 300  # queries of a source that are made by rule; what people wrote is taken whole
WORDS = 2  # that such a query has at least


def main() -> None:
    """Makes the collections."""
    corpus, folder = map(Path, sys.argv[1:3])
    chunks, queries = read_chunks(corpus / "chunks.jsonl"), read_queries(corpus / "queries.jsonl")
    for source in sys.argv[3:]:
        write_collection(folder / source.replace("+", "-"), source, chunks, queries)


def write_collection(
    folder: Path, source: str, chunks: Sequence[Chunk], queries: Sequence[Query]
) -> None:
    """Writes the documents of a source, the queries for them, and which document answers."""
    documents: defaultdict[int, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        if chunk.source == source:
            documents[chunk.document].append(chunk)
    (folder / "docs").mkdir(parents=True)
    for number, passages in documents.items():
        (folder / "docs" / _name(number)).write_text(_text(passages), encoding="utf-8")
    asked, judged = [], ["query-id\tcorpus-id\tscore"]
    for number, query in enumerate(_drawn(source, queries)):
        asked.append(json.dumps({"_id": f"q{number}", "text": query.text, "type": query.kind}))
        answers = {_name(chunks[one].document) for one in range(query.first, query.last)}
        judged += [f"q{number}\t{document}\t1" for document in sorted(answers)]
    (folder / "queries.jsonl").write_text("\n".join(asked) + "\n", encoding="utf-8")
    (folder / "qrels.tsv").write_text("\n".join(judged) + "\n", encoding="utf-8")


def _name(document: int) -> str:
    return f"{document}.md"


def _text(passages: Sequence[Chunk]) -> str:
    """The text of a document; its passages have the headings that begin them."""
    title = json.dumps(passages[0].title)
    return "\n\n".join((f"---\ntitle: {title}\n---", *(one.text for one in passages))) + "\n"


def _drawn(source: str, queries: Sequence[Query]) -> list[Query]:
    of_people = [one for one in queries if one.source == source and one.kind == "faq"]
    by_rule = [
        one
        for one in queries
        if one.source == source and one.kind in KINDS and len(one.text.split()) >= WORDS
    ]
    return of_people or Random(source).sample(by_rule, min(MOST, len(by_rule)))


if __name__ == "__main__":
    main()
