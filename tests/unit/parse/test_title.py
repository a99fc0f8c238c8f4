from __future__ import annotations

from dowse._index.markdown.document import parse
from rows import check_rows


def test_the_name_of_the_file_is_the_last_resort() -> None:
    def check(row: tuple[str, str]) -> None:
        document_id, title = row
        assert parse(document_id, "text").fields.title == title

    rows: list[tuple[str, str]] = [
        ("a.md", "a"),
        ("docs/some note.md", "some note"),
        ("dendron.topic.note.md", "dendron.topic.note"),
        ("guide/index.md", "guide"),
        ("guide/_index.md", "guide"),
        ("guide/README.md", "guide"),
        ("guide/Readme.MD", "guide"),
        ("@work/README.md", "work"),
        ("README.md", "README"),
        ("plain.txt", "plain"),
        ("no ending", "no ending"),
        (".md", ".md"),
        ("", ""),
    ]
    check_rows(rows, check)


def test_the_first_heading_of_the_first_level_that_says_something() -> None:
    assert parse("a.md", "## No\n#\n# Yes\n# No\n").fields.title == "Yes"


def test_the_frontmatter_goes_first() -> None:
    assert parse("a.md", "---\ntitle: Front\n---\n# Heading\n").fields.title == "Front"


def test_plain_text_has_no_headings() -> None:
    assert parse("a.txt", "# Heading\n").fields.title == "a"
