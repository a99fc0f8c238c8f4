"""How often a title or a heading, asked as a query, finds its document and its passage first.

    python benchmarks/exact.py DATA --sets k8s-en,tldr --each 100

Titles and headings are drawn at random from the documents of each collection: titles that one
document has, and headings of level 2 to 6 that are in one place and are no title. A document
without any text under its frontmatter is left out. Each is asked with the stage `exact` off and on.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dowse.evaluate import Bench, open_bench, read_collection
from dowse.parse import parse
from dowse.projects.workspace import Workspace
from dowse.text.fold import fold_name
from dowse.types import Document

SETS = "dendron-vault,k8s-en,github-docs,k8s-zh,tldr"
WAYS: Mapping[str, bool] = {"off": False, "on": True}


@dataclass(frozen=True, slots=True)
class Asked:
    """A name that is in one place."""

    query: str
    document: str
    line: int  # 0 for a title


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", default=SETS, help="comma separated names of folders")
    parser.add_argument("--each", type=int, default=100, help="titles, and headings, per set")
    arguments = parser.parse_args()
    print("| collection | asked | exact | document first | passage first | document in 3 |")
    print("|---|---|---|---|---|---|")
    for name in arguments.sets.split(","):
        with open_bench(Workspace(), read_collection(arguments.data / name)) as bench:
            titles, headings = _draw(_documents(bench), arguments.each)
            for kind, asked in (("titles", titles), ("headings", headings)):
                for way, enabled in WAYS.items():
                    print(f"| {name} | {len(asked)} {kind} | {way} |{_row(bench, asked, enabled)}")


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


def _row(bench: Bench, asked: Sequence[Asked], enabled: bool) -> str:
    document = passage = three = 0
    for one in asked:
        hits = bench.engine.search(one.query, changes={"exact.enabled": enabled}).hits
        found = bool(hits) and hits[0].document == one.document
        document += found
        passage += found and hits[0].first_line <= one.line <= hits[0].last_line
        three += one.document in {hit.document for hit in hits[:3]}
    shown = f"{passage}" if any(one.line for one in asked) else ""
    return f" {document} | {shown} | {three} |"


if __name__ == "__main__":
    main()
