import time

import pytest

from dowse._index.source.rules import Rules, parse


def verdict(rules: str, path: str) -> bool | None:
    is_folder = path.endswith("/")
    return Rules(parse(rules.encode())).verdict(path.rstrip("/").encode(), is_folder)


@pytest.mark.parametrize(
    ("rules", "path", "ignored"),
    [
        ("*.log", "a/b/x.log", True),
        ("/x.md", "a/x.md", None),
        ("a/x.md", "b/a/x.md", None),
        ("build/", "build/", True),
        ("build/", "build", None),
        ("a/**", "a/", None),  # so that what is below can be kept again
        ("a/**", "a/b/c.md", True),
        ("a/**/c.md", "a/c.md", True),
        ("**/c.md", "c.md", True),
        ("**", "any/where.md", True),
        ("a*b", "a/b", None),
        ("*.md\n!keep.md", "keep.md", False),
        ("!keep.md\n*.md", "keep.md", True),
        ("\\!x", "!x", True),
        ("\\#x", "#x", True),
        ("#x", "#x", None),
        ("x   ", "x", True),
        ("x\\ ", "x ", True),
        ("x\\", "x\\", None),
        ("[[:upper:]].md", "B.md", True),
        ("[[:upper:]].md", "b.md", None),
        ("[!a-c].md", "d.md", True),
        ("[a", "[a", None),
        ("a?c", "a/c", None),
        ("?.md", "é.md", None),  # git counts bytes
        ("foo**/bar", "foo/x/bar", True),  # and cuts off "foo" before it looks at the stars
        ("x\r\ny\r\n", "y", True),
        ("/\n!\n//", "x", None),
        ("name\n", "name\n", None),
    ],
)
def test_patterns_mean_what_they_mean_to_git(rules: str, path: str, ignored: bool | None) -> None:
    assert verdict(rules, path) is ignored


def test_a_file_may_start_with_a_byte_order_mark() -> None:
    assert verdict("\ufeffx.md", "x.md") is True


@pytest.mark.parametrize(
    ("rules", "path"),
    [
        ("*a" * 60 + "*b", "a" * 250),
        ("**/a/" * 30 + "b", "a/" * 300 + "c"),
        ("x/" + "**/*a*a*a*a/" * 12 + "b", "x/" + "aaaaaaaa/" * 300 + "c"),
        ("q/" + "**\\/a" * 30, "q/" + "/a" * 300 + "c"),
    ],
)
def test_hostile_patterns_do_not_stall(rules: str, path: str) -> None:
    began = time.perf_counter()
    assert verdict(rules, path) is None
    assert time.perf_counter() - began < 5
