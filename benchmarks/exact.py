"""How often a title or a heading, asked as a query, finds its document and its passage first.

    python benchmarks/exact.py DATA --sets k8s-en,tldr --each 100 --chosen chosen.json

Titles and headings are drawn at random from the documents of each collection: titles that one
document has, and headings of level 2 to 6 that are in one place and are no title. A document
without any text under its frontmatter is left out. Each is asked with the stage `exact` off and on,
with the settings that fusion.py has chosen without this collection.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dowse._index.markdown.document import parse
from dowse._model import Document
from dowse._project.evaluation import Bench, compare, open_bench, read_collection
from dowse._project.workspace import Workspace
from dowse._search.request import SearchRequest
from dowse._text.matching import fold_name

SETS = "dendron-vault,k8s-en,github-docs,k8s-zh,tldr"


@dataclass(frozen=True, slots=True)
class Asked:
    """A name that is in one place."""

    query: str
    document: str
    line: int  # 0 for a title


class Placed(NamedTuple):
    """Whether a name found its document and its passage first, and its document in the first 3."""

    document: float
    passage: float
    three: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", default=SETS, help="comma separated names of folders")
    parser.add_argument("--each", type=int, default=100, help="titles, and headings, per set")
    parser.add_argument("--chosen", type=Path, help="settings chosen without each collection")
    arguments = parser.parse_args()
    chosen = json.loads(arguments.chosen.read_text()) if arguments.chosen else {}
    print("| collection | asked | document first: exact off | on | difference, 95 % | p", end="")
    print(" | passage first: off | on | document in 3: off | on |")
    print("|---" * 10 + "|")
    for name in arguments.sets.split(","):
        with open_bench(Workspace(), read_collection(arguments.data / name)) as bench:
            titles, headings = _draw(_documents(bench), arguments.each)
            for kind, asked in (("titles", titles), ("headings", headings)):
                if asked:
                    row = _row(bench, asked, chosen.get(name, {}))
                    print(f"| {name} | {len(asked)} {kind} | {row} |", flush=True)


def _documents(bench: Bench) -> list[Document]:
    engine = bench.engine
    paths = {one.id: engine.path_of(one.id) for one in engine.documents() if one.chunks}
    return [parse(name, path.read_text("utf-8", "replace")) for name, path in paths.items()]


def _draw(documents: Sequence[Document], each: int) -> tuple[list[Asked], list[Asked]]:
    titles = Counter(fold_name(one.fields.title) for one in documents)
    headings = Counter(fold_name(h.text) for one in documents for h in one.headings)
    titled = [
        Asked(one.fields.title, one.id, 0)
        for one in documents
        if titles[fold_name(one.fields.title)] == 1
    ]
    headed = [
        Asked(heading.text, one.id, one.text.count("\n", 0, heading.start) + 1)
        for one in documents
        for heading in one.headings
        if heading.level > 1
        and headings[fold_name(heading.text)] == 1
        and fold_name(heading.text) not in titles
    ]
    chance = random.Random(12)  # noqa: S311  the same draw every time
    return (
        chance.sample(titled, min(each, len(titled))),
        chance.sample(headed, min(each, len(headed))),
    )


def _row(bench: Bench, asked: Sequence[Asked], changes: Mapping[str, Any]) -> str:
    off, on = (
        [_place(bench, one, {**changes, "exact.enabled": enabled}) for one in asked]
        for enabled in (False, True)
    )
    told = compare(*({str(n): one.document for n, one in enumerate(way)} for way in (off, on)))
    interval = f"{told.difference:+.2f} ({told.low:+.2f} to {told.high:+.2f}) | {told.p:.4f}"
    passages = [_share(one.passage for one in way) if asked[0].line else "" for way in (off, on)]
    cells = [
        _share(one.document for one in off),
        _share(one.document for one in on),
        interval,
        *passages,
        _share(one.three for one in off),
        _share(one.three for one in on),
    ]
    return " | ".join(cells)


def _share(found: Iterable[float]) -> str:
    every = list(found)
    return f"{sum(every) / len(every):.2f}"


def _place(bench: Bench, one: Asked, changes: Mapping[str, Any]) -> Placed:
    hits = bench.engine.search(SearchRequest(one.query, changes=changes)).hits
    found = bool(hits) and hits[0].document == one.document
    return Placed(
        float(found),
        float(found and hits[0].first_line <= one.line <= hits[0].last_line),
        float(one.document in {hit.document for hit in hits[:3]}),
    )


if __name__ == "__main__":
    main()
