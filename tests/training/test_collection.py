from pathlib import Path

from training.collection import MOST, write_collection
from training.corpus import Chunk, Query

from dowse._project.evaluation import read_collection

CHUNKS = [
    Chunk("other", 1, "Other", [], "Not of this source."),
    Chunk("faq", 2, 'A "quoted" title', ["Part"], "## Part\n\nThe first passage."),
    Chunk("faq", 2, 'A "quoted" title', ["Part"], "The second passage."),
    Chunk("faq", 3, "Another", [], "An answer."),
]


def test_a_source_becomes_a_collection_that_can_be_read(tmp_path: Path) -> None:
    queries = [
        Query("faq", "what is in both passages", "faq", 1, 3),
        Query("faq", "why", "faq", 3, 4),
        Query("faq", "not of this source", "other", 0, 1),
    ]
    write_collection(tmp_path / "faq", "faq", CHUNKS, queries)
    collection = read_collection(tmp_path / "faq")
    assert [(one.text, set(one.relevant)) for one in collection.queries] == [
        ("what is in both passages", {"2.md"}),
        ("why", {"3.md"}),
    ]
    text = (tmp_path / "faq/docs/2.md").read_text("utf-8")
    assert text.startswith('---\ntitle: "A \\"quoted\\" title"\n---\n\n## Part')
    assert text.endswith("The second passage.\n")
    assert sorted(path.name for path in (tmp_path / "faq/docs").iterdir()) == ["2.md", "3.md"]


def test_of_queries_made_by_rule_some_that_a_person_could_ask_are_taken(tmp_path: Path) -> None:
    asked = [Query("title-asked", f"how does it work {n}", "faq", 3, 4) for n in range(2 * MOST)]
    others = [Query("words", "some rare words", "faq", 3, 4), Query("title", "one", "faq", 3, 4)]
    for name in ("once", "again"):
        write_collection(tmp_path / name, "faq", CHUNKS, [*others, *asked])
    once, again = (read_collection(tmp_path / name).queries for name in ("once", "again"))
    assert len(once) == MOST
    assert {one.type for one in once} == {"title-asked"}
    assert [one.text for one in once] == [one.text for one in again]
