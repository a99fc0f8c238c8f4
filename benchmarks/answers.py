"""How many questions are answered, and how many of these answers are right.

    python benchmarks/answers.py [--wrong]          the shipped corpus
    python benchmarks/answers.py DATA [--list]      questions about three other collections

DATA has a folder for each collection, with its documents in docs/. The questions, their answers and
the documents that hold them are in benchmarks/questions.jsonl; those without an answer have none in
the collection. A sample of 400 documents of each collection is indexed, which contains them all.
--list prints every answer, to be judged by a reader.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from msgspec import Struct

from dowse._project.engine import Engine
from dowse._project.evaluation import JudgedQuery, json_lines, open_bench, read_collection
from dowse._project.workspace import Workspace
from dowse._search.request import SearchRequest
from dowse.api import Dowse
from dowse.errors import UsageError

CORPUS = Path(__file__).parent / "corpus"
QUESTIONS = Path(__file__).parent / "questions.jsonl"
SAMPLE = 400  # documents of a collection


class Answered(Struct, frozen=True):
    """What an answer to a query was judged to be."""

    query: str  # as it was asked
    sentences: tuple[str, ...]
    right: bool  # whether one of them has what was asked for


def read_answers(path: Path) -> dict[str, tuple[str, ...]]:
    """By query, the texts of which a right sentence has one; raises `UsageError` for a bad line."""
    answers: dict[str, tuple[str, ...]] = {}
    for number, identifier, row in json_lines(path):
        texts = row.get("any")
        if not isinstance(texts, list) or not all(isinstance(one, str) for one in texts):
            raise UsageError(
                f"{path}, line {number} has no list of texts.",
                'A line is: {"_id": "f-06", "any": ["72 hours"]}',
            )
        answers[identifier] = tuple(texts)
    return answers


def judge_answers(
    engine: Engine, queries: Sequence[JudgedQuery], answers: Mapping[str, Sequence[str]]
) -> list[Answered]:
    """Asks every query that has a judgment, and compares the sentences of its answer."""
    judged = []
    for query in queries:
        if query.id in answers:
            asked = SearchRequest(query.text, changes={"recency.bias": 0.0})
            answer = engine.answer(asked).answer
            sentences = tuple(one.text for one in answer.sentences) if answer else ()
            judged.append(Answered(query.text, sentences, _has(sentences, answers[query.id])))
    return judged


def _has(sentences: Sequence[str], texts: Sequence[str]) -> bool:
    return any(_folded(text) in _folded(sentence) for sentence in sentences for text in texts)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


# ── Questions about other collections ────────────────────────────────────────


class Question(Struct, frozen=True):
    """A question, and the answer that the document has; without one, it has none."""

    id: str = msgspec.field(name="_id")
    collection: str
    question: str
    document: str = ""
    answer: str = ""
    any: tuple[str, ...] = ()  # texts of which a right sentence has one

    @property
    def half(self) -> int:
        """The half it belongs to: rules are chosen on 0 and judged on 1."""
        return int(hashlib.sha256(self.id.encode()).hexdigest(), 16) % 2


def read_questions() -> list[Question]:
    """Reads all questions."""
    lines = QUESTIONS.read_text(encoding="utf-8").splitlines()
    return [msgspec.json.decode(one, type=Question) for one in lines]


def ask_all(data: Path, questions: Sequence[Question]) -> Iterator[tuple[Question, Answered]]:
    """Asks each collection its questions."""
    for name in sorted({one.collection for one in questions}):
        mine = [one for one in questions if one.collection == name]
        with TemporaryDirectory() as home:
            folder = Path(home) / name
            _copy_sample(data / name / "docs", folder, {one.document for one in mine})
            with Dowse.open(folder, home=Path(home) / "dowse") as documents:
                documents.index()
                for one in mine:
                    answer = documents.answer(one.question).answer
                    sentences = tuple(s.text for s in answer.sentences) if answer else ()
                    yield one, Answered(one.question, sentences, _has(sentences, one.any))


def _copy_sample(documents: Path, folder: Path, wanted: set[str]) -> None:
    """Copies the wanted documents, and others by the hash of their ids."""
    wanted = wanted - {""}
    ids = {one.relative_to(documents).as_posix() for one in documents.rglob("*.md")} - wanted
    others = sorted(ids, key=lambda one: hashlib.sha256(one.encode()).hexdigest())
    for one in (*wanted, *others[: SAMPLE - len(wanted)]):
        copy = folder / one
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(documents / one, copy)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", type=Path, help="ask the questions of questions.jsonl")
    parser.add_argument("--list", action="store_true", help="print every answer")
    parser.add_argument("--wrong", action="store_true", help="show the answers that are wrong")
    arguments = parser.parse_args()
    if arguments.data:
        asked = list(ask_all(arguments.data, read_questions()))
        for question, one in asked if arguments.list else ():
            if one.sentences:
                print(question.id, one.query, f"wanted: {question.answer or 'none'}", sep="\n  ")
                print(*one.sentences, sep="\n  ")
        for half in (0, 1):
            mine = [pair for pair in asked if pair[0].half == half]
            _print_half(half, mine)
        return
    collection = read_collection(CORPUS)
    with open_bench(Workspace(), collection) as bench:
        answers = read_answers(CORPUS / "answers.jsonl")
        judged = judge_answers(bench.engine, collection.queries, answers)
    given = [one for one in judged if one.sentences]
    print(f"{len(given)} of {len(judged)} answered, {sum(one.right for one in given)} right")
    for one in given if arguments.wrong else ():
        if not one.right:
            print("", one.query, *one.sentences, sep="\n  ")


def _print_half(half: int, asked: Sequence[tuple[Question, Answered]]) -> None:
    known = [one for question, one in asked if question.answer]
    unknown = [one for question, one in asked if not question.answer]
    given = sum(bool(one.sentences) for one in known)
    refused = sum(not one.sentences for one in unknown)
    print(
        f"half {half}: {given} of {len(known)} answered, {sum(one.right for one in known)} right; "
        f"{refused} of {len(unknown)} unanswerable ones refused"
    )


if __name__ == "__main__":
    main()
