from __future__ import annotations

import pytest

from dowse._index.markdown.document import parse
from dowse._model import Document

LEVELS = range(1, 30)
BILLION_LAUGHS = "\n".join(
    ["l0: &l0 [lol, lol]", *(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in LEVELS)]
)
KEYS = ["title", "tags", "keywords", "author", "date", "related", "unknown"]


def with_front(front: str, body: str = "Body #tag\n") -> Document:
    return parse("notes/a.md", f"---\n{front}\n---\n{body}")


def reasons(document: Document) -> list[str]:
    return [problem.reason for problem in document.problems]


@pytest.mark.parametrize(
    "key", ["title", "tags", "keywords", "author", "date", "related", "unknown"]
)
def test_aliases_that_stand_for_billions_of_values_do_no_harm(key: str) -> None:
    document = with_front(f"{BILLION_LAUGHS}\n{key}: *l29")

    assert document.text[document.body :] == "Body #tag\n"
    assert len(document.fields.tags) <= 2001
    assert len(document.links) <= 2000


def test_merged_mappings_that_double_each_time_do_no_harm() -> None:
    lines = ["m0: &m0 {k: v}"]
    lines += [f"m{n}: &m{n} {{<<: [*m{n - 1}, *m{n - 1}]}}" for n in range(1, 40)]

    assert with_front("\n".join([*lines, "title: T"])).fields.title == "T"


def test_a_value_that_contains_itself_is_survived() -> None:
    assert with_front("tags: &a [one, *a]\ntitle: T").fields.title == "T"


@pytest.mark.parametrize("front", ["a: " + "[" * 5000, "a: " + "{x: " * 5000, "- " * 5000])
def test_deep_nesting_is_reported(front: str) -> None:
    document = with_front(front)

    assert document.fields.tags == ("tag",)
    assert len(document.problems) == 1


def test_huge_frontmatter_is_ignored_and_reported_and_the_body_is_read() -> None:
    document = with_front("title: x\n" + "a: b\n" * 50_000)

    assert document.fields.title == "a"
    assert document.fields.tags == ("tag",)
    assert "65,536 characters" in reasons(document)[0]


@pytest.mark.parametrize(
    "prose", ["Some prose.\n" * 20_000, "It says: this: and that.\nAnd so on.\n", "Just: [this\n"]
)
def test_prose_between_rules_is_not_lost(prose: str) -> None:
    document = parse("a.md", f"---\n\nWords first.\n{prose}\n---\nMore.\n")

    assert document.body == 0
    assert "taken for text" in reasons(document)[0]


def test_a_problem_names_the_document_the_line_and_that_the_rest_is_indexed() -> None:
    document = with_front("title: fine\nkey: [1, 2\nother: x")

    (problem,) = document.problems
    assert problem.id == "notes/a.md"
    assert not problem.whole
    assert problem.reason.startswith("Line 4: the frontmatter is not valid YAML")
    assert document.fields.title == "fine"


@pytest.mark.parametrize("character", ["\x00", "\x07", "\x1b", "\ufffe"])
def test_characters_that_yaml_forbids_are_reported(character: str) -> None:
    document = with_front(f"title: a{character}b\ncategory: guide")

    assert len(document.problems) == 1
    assert document.fields.category == "guide"


@pytest.mark.parametrize("front", ["? [a, b]\n: c", "? {a: b}\n: c", "1: one\ntrue: two", ": x"])
def test_odd_keys_are_survived(front: str) -> None:
    assert with_front(f"{front}\ntitle: T").fields.title == "T"


def test_python_tags_make_nothing() -> None:
    document = with_front('title: !!python/object/apply:os.system ["echo no"]')

    assert document.fields.title == "echo no"


@pytest.mark.parametrize("end", ["---", "--- ", "...", "---\t"])
def test_the_closing_mark_may_be_the_end_of_the_file(end: str) -> None:
    document = parse("a.md", f"---\ntitle: T\n{end}")

    assert document.fields.title == "T"
    assert document.body == len(document.text)
    assert document.blocks == ()


@pytest.mark.parametrize("text", ["", "---", "---\n", "----\na: b\n----\n", " ---\na: b\n---\n"])
def test_what_is_no_frontmatter_is_text(text: str) -> None:
    document = parse("a.md", text)

    assert document.body == 0
    assert document.problems == ()


def test_a_rule_right_after_the_frontmatter_belongs_to_the_body() -> None:
    document = parse("a.md", "---\ntitle: T\n---\n---\ntext: x\n---\n")

    assert document.text[document.body :] == "---\ntext: x\n---\n"
    assert document.fields.title == "T"


def test_values_of_many_lines_become_one_line() -> None:
    document = with_front("description: >\n  one\n  two\n\n  three\ntitle: |\n  a\n  b")

    assert document.fields.description == "one two three"
    assert document.fields.title == "a b"


def test_toml_dates_and_numbers() -> None:
    document = parse("a.md", "+++\ntitle = 1.5\nkeywords = [1, true]\ndate = 1979-05-27\n+++\n")

    assert document.fields.title == "1.5"
    assert document.fields.keywords == ("1", "true")
    assert document.fields.created == 296_611_200.0


def test_deep_toml_is_reported() -> None:
    document = parse("a.md", "+++\na = " + "[" * 60 + "]" * 60 + "\ntitle = 'T'\n+++\n")
    too_deep = parse("a.md", "+++\na = " + "[" * 5000 + "\n+++\nText")

    assert document.fields.title == "T"
    assert len(too_deep.problems) == 1
