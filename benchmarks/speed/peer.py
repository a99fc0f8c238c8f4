"""One peer: it indexes the chunks that it is given, and answers queries.

    PYTHON peer.py NAME MATERIAL [PACKAGE ...]

Run by peers.py, with the Python of the peer's own environment. MATERIAL is a folder with the
chunks, the queries and the vectors of both. Prints figures as JSON. A peer is a generator: it stops
once after its imports, which are not timed, and then gives what answers a query.
"""

from __future__ import annotations

import json
import re
import resource
import sqlite3
import statistics
import sys
import time
from functools import cached_property
from importlib import metadata
from pathlib import Path

RESULTS, CANDIDATES, WARM = 5, 30, 5


class Material:
    """What every peer gets: the same texts and the same vectors."""

    def __init__(self, folder):
        self.folder = folder
        given = json.loads((folder / "texts.json").read_text("utf-8"))
        self.texts, self.queries, self.weights = given["texts"], given["queries"], given["weights"]

    @cached_property
    def vectors(self):
        import numpy as np

        return np.load(self.folder / "texts.npy"), np.load(self.folder / "queries.npy")


def words(query):
    return re.findall(r"\w+", query)


def fused(*rankings):
    """Reciprocal rank fusion, as most people write it."""
    scores = {}
    for ranking in rankings:
        for place, key in enumerate(ranking):
            scores[key] = scores.get(key, 0) + 1 / (60 + place)
    return sorted(scores, key=lambda key: -scores[key])[:RESULTS]


def fts5(given, place):
    yield
    database = sqlite3.connect(place / "fts5.db")
    database.execute("CREATE VIRTUAL TABLE t USING fts5(text, tokenize='porter unicode61')")
    with database:
        database.executemany("INSERT INTO t VALUES (?)", [(text,) for text in given.texts])
    line = "SELECT rowid, text FROM t WHERE t MATCH ? ORDER BY rank LIMIT ?"

    def ask(number):
        match = " OR ".join(f'"{word}"' for word in words(given.queries[number]))
        return database.execute(line, (match, RESULTS)).fetchall()

    yield ask


def plain(given, place):
    yield from _plain(given, place, *given.vectors)


def _plain(given, place, vectors, asked):
    import faiss
    from whoosh import index
    from whoosh.analysis import StemmingAnalyzer
    from whoosh.fields import ID, TEXT, Schema
    from whoosh.qparser import OrGroup, QueryParser

    yield
    if callable(vectors):
        vectors = vectors()
    schema = Schema(key=ID(stored=True), text=TEXT(analyzer=StemmingAnalyzer(), stored=True))
    (place / "whoosh").mkdir()
    keyword = index.create_in(place / "whoosh", schema)
    writer = keyword.writer(limitmb=256)
    for key, text in enumerate(given.texts):
        writer.add_document(key=str(key), text=text)
    writer.commit()
    flat = faiss.IndexFlatIP(vectors.shape[1])
    flat.add(vectors)
    faiss.write_index(flat, str(place / "plain.faiss"))
    searcher = keyword.searcher()
    parser = QueryParser("text", schema, group=OrGroup)

    def ask(number):
        query = parser.parse(" ".join(words(given.queries[number])))
        by_words = [int(hit["key"]) for hit in searcher.search(query, limit=CANDIDATES)]
        vector = asked(given.queries[number]) if callable(asked) else asked[number]
        _, near = flat.search(vector.reshape(1, -1), CANDIDATES)
        return [given.texts[key] for key in fused(by_words, near[0].tolist())]

    yield ask


def plain_embedding(given, place):
    """The same, with sentence-transformers for the vectors of texts and queries."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(given.weights, device="cpu")

    def embed_all():
        return model.encode(given.texts, batch_size=64, normalize_embeddings=True)

    def embed(query):
        return model.encode(query, normalize_embeddings=True)

    yield from _plain(given, place, embed_all, embed)


def lancedb(given, place):
    import lancedb as lance

    yield
    vectors, asked = given.vectors
    database = lance.connect(str(place / "lance"))
    rows = [
        {"key": key, "text": text, "vector": vector}
        for key, (text, vector) in enumerate(zip(given.texts, vectors.tolist(), strict=True))
    ]
    table = database.create_table("t", rows)
    table.create_fts_index("text")

    def ask(number):
        text = " ".join(words(given.queries[number]))
        search = table.search(query_type="hybrid").vector(asked[number].tolist()).text(text)
        return search.limit(RESULTS).to_list()

    yield ask


def chroma(given, place):
    import chromadb

    yield
    vectors, asked = given.vectors
    client = chromadb.PersistentClient(str(place / "chroma"))
    made = client.create_collection("chunks", metadata={"hnsw:space": "cosine"})
    for start in range(0, len(given.texts), 2000):
        some = slice(start, start + 2000)
        made.add(
            ids=[str(key) for key in range(len(given.texts))[some]],
            documents=given.texts[some],
            embeddings=vectors[some].tolist(),
        )
    yield lambda number: made.query(query_embeddings=[asked[number].tolist()], n_results=RESULTS)


def txtai(given, place):
    import numpy as np
    from txtai import Embeddings

    yield
    vectors, asked = given.vectors
    known = dict(zip(given.texts + given.queries, [*vectors, *asked], strict=True))

    def transform(texts):
        return np.stack([known[text] for text in texts])

    made = Embeddings(method="external", transform=transform, hybrid=True, content=True)
    made.index(given.texts)
    made.save(str(place / "txtai"))
    yield lambda number: made.search(given.queries[number], RESULTS)


def version(*packages):
    return ", ".join(metadata.version(package) for package in packages)


PEERS = {one.__name__: one for one in (fts5, plain, plain_embedding, lancedb, chroma, txtai)}


def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measure(name, folder):
    given = Material(folder)
    place = folder / name
    place.mkdir()
    steps = PEERS[name](given, place)
    next(steps)
    began, cpu_began = time.perf_counter(), cpu()
    ask = next(steps)
    indexed = time.perf_counter() - began, cpu() - cpu_began
    times = []
    for number in range(len(given.queries)):
        began, cpu_began = time.perf_counter(), cpu()
        found = ask(number)
        times.append((time.perf_counter() - began, cpu() - cpu_began))
    if not found:
        raise SystemExit("It found nothing.")
    elapsed, used = zip(*times[WARM:], strict=True)
    return {
        "index": indexed[0],
        "index CPU": indexed[1],
        "query": 1000 * statistics.median(elapsed),
        "query CPU": 1000 * statistics.median(used),
    }


if __name__ == "__main__":
    found = version(*sys.argv[3:]) or sqlite3.sqlite_version
    figures = measure(sys.argv[1], Path(sys.argv[2])) | {"version": found}
    print("\n" + json.dumps(figures))
