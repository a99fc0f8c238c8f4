import json
from pathlib import Path

from training.translations import write_asked, write_pages, write_twin

from dowse._project.evaluation import read_collection

PAGES = [
    {
        "l": "de",
        "p": "a.md",
        "t": ["Backups", "Sicherungen"],
        "s": [
            [0, "", "", [["Every night.", "Jede Nacht."]]],
            [2, "Restore a dump", "Einen Abzug einspielen", [["Stop it.", "Anhalten."]]],
            [2, "See also", "Siehe auch", [["More.", "Mehr."]]],
        ],
    },
    {
        "l": "de",
        "p": "b.md",
        "t": ["Masts", "Masten"],
        "s": [[2, "See also", "Siehe auch", [["More.", "Mehr."]]]],
    },
]


def test_a_heading_asks_for_the_page_from_which_it_was_taken(tmp_path: Path) -> None:
    write_pages(tmp_path, "de", PAGES)
    for name, asked in (("de", "Einen Abzug einspielen"), ("de-en", "Restore a dump")):
        collection = read_collection(tmp_path / f"react-{name}")
        assert [(one.text, set(one.relevant)) for one in collection.queries] == [(asked, {"0.md"})]
    text = (tmp_path / "react-de/docs/0.md").read_text("utf-8")
    assert text.startswith('---\n{"title": "Sicherungen"}\n---\n\nJede Nacht.')
    assert "Einen Abzug" not in text
    assert "## Siehe auch" in text


def test_a_twin_is_asked_what_its_pages_answer(tmp_path: Path) -> None:
    english, other = tmp_path / "en", tmp_path / "zh"
    for folder, names in ((english, ("a.md", "b.md")), (other, ("a.md",))):
        for name in names:
            (folder / "docs").mkdir(parents=True, exist_ok=True)
            (folder / "docs" / name).write_text("text")
    queries = [{"_id": "1", "text": "first"}, {"_id": "2", "text": "second"}]
    (english / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (english / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\ta.md\t1\n2\tb.md\t1\n")
    write_twin(english, other, tmp_path / "twin")
    collection = read_collection(tmp_path / "twin")
    assert [(one.text, set(one.relevant)) for one in collection.queries] == [("first", {"a.md"})]


def test_questions_find_whole_pages(tmp_path: Path) -> None:
    questions = tmp_path / "de.jsonl"
    line = {"_id": "de-01", "text": "Wie spiele ich eine Sicherung ein?", "pages": ["a.md"]}
    questions.write_text(json.dumps(line) + "\n", "utf-8")
    write_asked(tmp_path / "asked", PAGES, questions)
    collection = read_collection(tmp_path / "asked")
    assert [(one.text, set(one.relevant)) for one in collection.queries] == [
        (line["text"], {"0.md"})
    ]
    assert "Einen Abzug" in (tmp_path / "asked/docs/0.md").read_text("utf-8")
