"""Judged collections in more languages, for the benchmarks.

    python -m training.translations pages HELD FOLDER
    python -m training.translations twin ENGLISH OTHER FOLDER
    python -m training.translations asked HELD QUESTIONS FOLDER

`pages` makes two collections of the held-out translations of each language: a heading that was
taken out of a page is asked in its language, and in English. `twin` asks the queries of an English
collection in its translation, whose pages have the same paths. `asked` makes a collection of the
questions that were written about the pages of a language; the name of their file is the language.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

Page = dict[str, Any]
"""Language `l`, path `p`, title `t`, and sections `s`: level, headings and blocks, each twice."""

WORDS = 2  # that the English of a heading has at least
LEAST = 25  # pages of a language


def main() -> None:
    """Makes the collections."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("pages", "twin", "asked"))
    parser.add_argument("paths", nargs="+", type=Path)
    a = parser.parse_args()
    if a.what == "twin":
        write_twin(*a.paths)
        return
    held, *questions, folder = a.paths
    languages: defaultdict[str, list[Page]] = defaultdict(list)
    for line in held.read_text("utf-8").splitlines():
        languages[json.loads(line)["l"]].append(json.loads(line))
    if questions:
        write_asked(folder, languages[questions[0].stem], questions[0])
        return
    for language, pages in sorted(languages.items()):
        if len(pages) >= LEAST:
            write_pages(folder, language, pages)


def write_pages(folder: Path, language: str, pages: Sequence[Page]) -> None:
    """Writes the pages of a language, each without the heading that asks for it."""
    often = Counter(heading for page in pages for _, heading, _, _ in page["s"])
    for number, page in enumerate(pages):
        asked = [
            place
            for place, (_, english, _, blocks) in enumerate(page["s"])
            if often[english] == 1 and len(english.split()) >= WORDS and blocks
        ]
        taken = Random(number).choice(asked) if asked else None
        for name, side in ((language, 2), (f"{language}-en", 1)):
            _write_page(folder / f"react-{name}", number, page, taken)
            if taken is not None:
                query = page["s"][taken][side]
                _add(folder / f"react-{name}", str(number), query, f"{number}.md")


def write_asked(folder: Path, pages: Sequence[Page], questions: Path) -> None:
    """Writes whole pages, and the questions that were written about them."""
    numbers = {page["p"]: number for number, page in enumerate(pages)}
    for number, page in enumerate(pages):
        _write_page(folder, number, page)
    for one in map(json.loads, _lines(questions)):
        for path in one["pages"]:
            _add(folder, one["_id"], one["text"], f"{numbers[path]}.md")


def _write_page(folder: Path, number: int, page: Page, taken: int | None = None) -> None:
    text = [json.dumps({"title": page["t"][1]}, ensure_ascii=False).join(("---\n", "\n---"))]
    for place, (level, _, heading, blocks) in enumerate(page["s"]):
        if place != taken and heading:
            text.append(f"{'#' * max(level, 1)} {heading}")
        text += [block for _, block in blocks]
    target = folder / "docs" / f"{number}.md"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n\n".join(text) + "\n", "utf-8")


def write_twin(english: Path, other: Path, folder: Path) -> None:
    """Writes the documents of one collection with the queries of another that they answer."""
    shutil.copytree(other / "docs", folder / "docs")
    texts = {one["_id"]: one["text"] for one in map(json.loads, _lines(english / "queries.jsonl"))}
    answers: defaultdict[str, list[str]] = defaultdict(list)
    for line in _lines(english / "qrels.tsv")[1:]:
        query, document, _ = line.split("\t")
        answers[query].append(document)
    for query, documents in answers.items():
        if all((folder / "docs" / one).is_file() for one in documents):
            for document in documents:
                _add(folder, query, texts[query], document)


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


def _add(folder: Path, query: str, text: str, document: str) -> None:
    """Adds a judgment, and the query unless it is there."""
    folder.mkdir(parents=True, exist_ok=True)
    judged, asked = folder / "qrels.tsv", folder / "queries.jsonl"
    if not judged.exists():
        judged.write_text("query-id\tcorpus-id\tscore\n", "utf-8")
    known: Iterable[str] = _lines(asked) if asked.exists() else ()
    line = json.dumps({"_id": query, "text": text}, ensure_ascii=False)
    if line not in known:
        with asked.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
    with judged.open("a", encoding="utf-8") as file:
        file.write(f"{query}\t{document}\t1\n")


if __name__ == "__main__":
    main()
