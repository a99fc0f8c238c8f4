"""How often the answers on the shipped corpus hold what was asked for.

    python benchmarks/answers.py [--wrong]

The judgments are in benchmarks/corpus/answers.jsonl.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from dowse.evaluate import open_bench, read_collection
from dowse.evaluate.answers import judge_answers, read_answers
from dowse.projects.workspace import Workspace

CORPUS = Path(__file__).parent / "corpus"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wrong", action="store_true", help="show the answers that are wrong")
    arguments = parser.parse_args()
    collection = read_collection(CORPUS)
    answers = read_answers(CORPUS / "answers.jsonl")
    with open_bench(Workspace(), collection) as bench:
        judged = judge_answers(bench.engine, collection.queries, answers)
    right = sum(one.right for one in judged)
    print(f"{right} of {len(judged)} answers hold what was asked for: {right / len(judged):.3f}")
    for one in judged if arguments.wrong else ():
        if not one.right:
            print("", one.query, *one.sentences, sep="\n  ")


if __name__ == "__main__":
    main()
