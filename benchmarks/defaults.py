"""What every default is worth: each setting another way, on all queries of judged collections.

    python benchmarks/defaults.py DATA --sets k8s-en,tldr --results FOLDER

The queries of each collection fall into two halves. A default is chosen on the one half; the other
says whether the choice holds. With --results, what was measured is kept there and not measured
again: begin with an empty folder when dowse has changed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from dowse._project.evaluation import (
    Bench,
    Collection,
    Run,
    compare,
    evaluation_folder,
    measure_queries,
    open_bench,
    read_collection,
    sample,
)
from dowse._project.workspace import Workspace
from dowse._search.request import SearchRequest
from dowse._search.strategies import StrategyWeights
from dowse._text.options import BOOSTED, KeywordOptions

SETS = "dendron-vault,k8s-en,github-docs,k8s-zh,tldr"
USUAL = "as set"
SEMANTIC = StrategyWeights().semantic
AGED = "recency ages at random, off"  # what recency is compared with
DEEP = {
    "search.top_n": 100,  # chunks, so that ten documents and more come of them
    "search.top_k": 50,
    "threshold.min_confidence": 0.0,
    "recency.bias": 0.0,  # files of a checkout are all new
}
_DAY = 86_400
ByQuery = Mapping[str, float]
"""nDCG@10 of each query."""


@dataclass(frozen=True)
class Way:
    """A way of searching that differs from the defaults in one point."""

    group: str
    name: str
    search: Mapping[str, Any] = field(default_factory=dict)  # settings of the search
    index: Mapping[str, Any] = field(default_factory=dict)  # settings of the index
    aged: bool = False  # whether files have ages that have nothing to do with the queries


def _each(group: str, setting: str, values: Sequence[Any], label: str = "{}") -> list[Way]:
    return [Way(group, label.format(value), {setting: value}) for value in values]


def _boosts(factor: float) -> dict[str, float]:
    """The weights of the fields that weigh more than the text, times a factor."""
    usual = KeywordOptions()
    raised = {name: boost for name in BOOSTED if (boost := getattr(usual, name)) > 1}
    return {f"keyword.{name}": factor * boost for name, boost in raised.items()}


def _rrf(k: float) -> Way:
    return Way("fusion", f"RRF k = {k:g}", {"fuse.method": "rrf", "fuse.rrf_k": k})


WAYS = [
    Way("", USUAL),
    *map(_rrf, (10.0, 20.0, 60.0, 100.0)),
    *_each("fusion", "fuse.normalise", ("minmax", "zscore")),
    *_each("weights", "fuse.keyword", (0.5, 0.7, 1.4, 2.0), f"keyword {{}} : semantic {SEMANTIC}"),
    *_each("candidates", "search.top_k", (10, 20, 30, 100, 200), "{} per strategy"),
    *_each("gather", "gather.share", (0.0, 0.25, 0.75, 1.0), "share {}"),
    Way("readable", "off", {"readable.enabled": False}),
    Way("classify", "on", {"classify.enabled": True}),
    Way("expand", "on", {"expand.enabled": True}, {"vocabulary.size": 10_000}),
    Way("code", "on", {"code.enabled": True}),
    Way("graph", "on, weight 0.1", {"graph.enabled": True, "fuse.graph": 0.1}),
    Way("graph", "on, weight 0.5", {"graph.enabled": True}),
    Way("community", "on", {"community.enabled": True}),
    Way("dynamic weights", "on", {"dynamic_weights.enabled": True}),
    Way("exact dedup", "off", {"exact_dedup.enabled": False}),
    Way("near dedup", "off", {"near_dedup.enabled": False}),
    *_each("near dedup", "near_dedup.similarity", (0.5, 0.7), "from {}"),
    Way("semantic dedup", "on", {"semantic_dedup.enabled": True}),
    Way("stemming", "off", index={"keyword.stemming": False}),
    Way("stopwords", "kept", index={"keyword.stopwords": False}),
    Way("field boosts", "none", index=dict.fromkeys(_boosts(1), 1.0)),
    *[Way("field boosts", f"× {factor:g}", index=_boosts(factor)) for factor in (0.25, 0.5, 1.5)],
    Way("recency", "ages at random, off", aged=True),
    *[
        Way("recency", f"ages at random, {bias}", {"recency.bias": bias}, aged=True)
        for bias in (0.1, 0.2, 0.5, 1.0)
    ],
    Way("embedded", "headings, no title", index={"chunk.context": "headings"}),
    Way("embedded", "the text alone", index={"chunk.context": "none"}),
    *[Way("chunks", f"of {size}", index={"chunk.chunk_goal": size}) for size in (500, 1000)],
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", default=SETS, help="comma separated names of folders")
    parser.add_argument("--queries", type=int, default=0, help="ask so many per set; 0: all")
    parser.add_argument("--groups", default="", help="measure these settings only")
    parser.add_argument("--results", type=Path, help="keep what was measured in this folder")
    arguments = parser.parse_args()
    chosen = arguments.groups.split(",") if arguments.groups else []
    ways = [way for way in WAYS if not way.group or not chosen or way.group in chosen]
    measured: dict[str, dict[str, ByQuery]] = {}
    for name in arguments.sets.split(","):
        collection = read_collection(arguments.data / name)
        collection = sample(collection, arguments.queries) if arguments.queries else collection
        kept = arguments.results / name if arguments.results else None
        measured[name] = {_key(way): _measure(collection, way, kept) for way in ways}
    _print_table(ways, measured)


def _key(way: Way) -> str:
    return f"{way.group} {way.name}".strip()


def _measure(collection: Collection, way: Way, kept: Path | None) -> ByQuery:
    file = kept / f"{_key(way).replace(' ', '-')}.json" if kept else None
    if file and file.exists():
        by_query: dict[str, float] = json.loads(file.read_text())
        return by_query
    began = time.perf_counter()
    with _opened(collection, way) as bench:
        by_query = _ndcg(bench, {**DEEP, **way.search})
    print(f"{collection.name}: {_key(way)}, {time.perf_counter() - began:.0f} s", flush=True)
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(by_query))
    return by_query


@contextmanager
def _opened(collection: Collection, way: Way) -> Iterator[Bench]:
    workspace = Workspace()
    documents = here = collection.documents or Path()
    usual = evaluation_folder(workspace, documents, {})
    if way.aged:
        here = _aged(documents, usual.with_suffix(".aged"))
    _copy_index(usual, evaluation_folder(workspace, here, way.index))
    collection = replace(collection, documents=here)
    with open_bench(workspace, collection, way.index) as bench:
        yield bench


def _copy_index(usual: Path, other: Path) -> None:
    """Another index begins with the vectors of the usual one: most texts are the same."""
    if usual.is_dir() and not other.is_dir():
        shutil.copytree(usual, other)


def _aged(documents: Path, folder: Path) -> Path:
    """A copy of the documents: of 20 files one is three days old, two are 20, the others 400."""
    if not folder.is_dir():
        shutil.copytree(documents, folder)
    for file in folder.rglob("*.*"):
        place = zlib.crc32(str(file.relative_to(folder)).encode()) % 20
        days = 3 if place == 0 else 20 if place < 3 else 400
        os.utime(file, (time.time() - days * _DAY,) * 2)
    return folder


def _ndcg(bench: Bench, changes: Mapping[str, Any]) -> dict[str, float]:
    found = {}
    for query in bench.collection.queries:
        ranking = bench.engine.rank(SearchRequest(query.text, changes=changes))[:100]
        found[query.id] = ranking
    measured = measure_queries(Run("", found), bench.collection.answerable)
    return {query: one.ndcg_10 for query, one in measured.items()}


def _print_table(ways: Sequence[Way], measured: Mapping[str, Mapping[str, ByQuery]]) -> None:
    print(f"\n| setting | | {' | '.join(measured)} | mean: chosen on | held out | p |")
    print("|---" * (len(measured) + 5) + "|")
    for way in ways:
        usual = AGED if way.aged else USUAL
        if _key(way) == usual:
            figures = [f"{value:.3f}" for value in _means(measured, usual)]
            told = ""
        else:
            pairs = zip(_means(measured, usual), _means(measured, _key(way)), strict=True)
            figures = [f"{other - base:+.3f}" for base, other in pairs]
            held_out = (_pooled(measured, key, held_out=True) for key in (usual, _key(way)))
            told = f"{compare(*held_out).p:.3f}"
        print(f"| {way.group} | {way.name} | {' | '.join(figures)} | {told} |")


def _means(measured: Mapping[str, Mapping[str, ByQuery]], key: str) -> list[float]:
    """Of each set on the half that is held out, then of all sets on the one half and the other."""
    return [
        *(_mean(_half(ways[key], held_out=True).values()) for ways in measured.values()),
        *(_mean(_pooled(measured, key, held_out=half).values()) for half in (False, True)),
    ]


def _pooled(
    measured: Mapping[str, Mapping[str, ByQuery]], key: str, *, held_out: bool
) -> dict[str, float]:
    """The queries of all sets, weighted so that their mean is the mean of the sets' means."""
    halves = {name: _half(ways[key], held_out=held_out) for name, ways in measured.items()}
    queries = sum(map(len, halves.values()))
    return {
        f"{name} {query}": value * queries / (len(halves) * len(half))
        for name, half in halves.items()
        for query, value in half.items()
    }


def _half(by_query: ByQuery, *, held_out: bool) -> ByQuery:
    return {q: value for q, value in by_query.items() if zlib.crc32(q.encode()) % 2 == held_out}


def _mean(values: Iterable[float]) -> float:
    every = list(values)
    return sum(every) / len(every)


if __name__ == "__main__":
    main()
