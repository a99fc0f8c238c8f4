"""Walks over generated trees: equal to git where git decides, and equal to themselves."""

import os
import random
import subprocess
from pathlib import Path

import pytest

from dowse._index.options import ReadOptions
from dowse._index.source.roots import Root, path_of
from dowse._index.source.walk import walk
from gates import find_tool

NAMES = ["a", "b", "ab", "foo", "é", "a b", "[x]", "x-y", "!n", "#h", "a*", "B", "1", ".h"]
ENDS = [".md", ".txt", ".MD"]
PIECES = [
    *NAMES, "/", "/", "*", "*", "**", "**/", "/**", "/**/", "?", "[ab]", "[!a]", "[^b]", "[a-z]",
    "[[:alpha:]]", "[[:digit:]x]", "[]x]", "[a", "[z-a]", "\\a", "\\*", "\\[x\\]", "\\/", "\\",
    " ", "\\ ", "***", ".md", ".txt", "*.md", "[a-]", "[[:no:]]", "[\\]x]", "[b\\-z]", "[[x]",
]  # fmt: skip


def pattern(rng: random.Random) -> str:
    sign = "!" if rng.random() < 0.3 else ""
    return sign + "".join(rng.choices(PIECES, k=rng.choice([1, 1, 2, 2, 3, 4, 6])))


def rules(rng: random.Random) -> bytes:
    lines = [pattern(rng) for _ in range(rng.randint(1, 6))]
    lines += rng.choices(["", "# comment", "   ", "/", "!", "foo  ", "a\t"], k=2)
    rng.shuffle(lines)
    mark = b"\xef\xbb\xbf" if rng.random() < 0.1 else b""
    return mark + rng.choice(["\n", "\r\n"]).join(lines).encode()


def grow(folder: Path, rng: random.Random, depth: int = 0) -> None:
    folder.mkdir(exist_ok=True)
    for name in rng.sample(NAMES, rng.randint(1, 5)):
        (folder / (name + rng.choice(ENDS))).touch()
    if rng.random() < (0.9 if depth == 0 else 0.3):
        (folder / ".gitignore").write_bytes(rules(rng))
    if depth < 4:
        for name in rng.sample(NAMES, rng.randint(1, 3)):
            grow(folder / name, rng, depth + 1)


def git(folder: Path, *arguments: str) -> str:
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nonexistent"}
    done = subprocess.run(
        [str(find_tool("git")), *arguments],
        cwd=folder,
        env=environment,
        check=True,
        capture_output=True,
    )
    return done.stdout.decode()


def kept_by_git(folder: Path) -> list[str]:
    listed = git(folder, "ls-files", "--others", "--exclude-standard", "-z").split("\0")
    return sorted(name for name in listed if name.lower().endswith((".md", ".txt")))


@pytest.mark.skipif(not find_tool("git"), reason="git is not installed: apt-get install git")
@pytest.mark.parametrize("seed", range(30))
def test_what_git_ignores_is_not_walked(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    grow(tmp_path, rng)
    git(tmp_path, "init", "-q", "--template=")
    if rng.random() < 0.5:
        (tmp_path / ".git/info").mkdir(exist_ok=True)
        (tmp_path / ".git/info/exclude").write_bytes(rules(rng))
    found = walk([Root(tmp_path)], ReadOptions(hidden=True))
    assert [source.id for source in found.sources] == kept_by_git(tmp_path)
    assert found.left_out == ()


@pytest.mark.parametrize("seed", range(20))
def test_a_part_of_a_walk_is_that_part_of_the_whole(tmp_path: Path, seed: int) -> None:
    rng = random.Random(1000 + seed)
    grow(tmp_path, rng)
    root, options = Root(tmp_path), ReadOptions(hidden=rng.random() < 0.5)
    whole = walk([root], options).sources
    paths = sorted(path for path in tmp_path.rglob("*"))
    for _ in range(10):
        within = rng.sample(paths, rng.randint(1, 4))
        expected = [s for s in whole if any(s.path.is_relative_to(path) for path in within)]
        assert list(walk([root], options, within).sources) == expected


@pytest.mark.parametrize("seed", range(10))
def test_ids_and_paths_are_two_names_of_one_thing(tmp_path: Path, seed: int) -> None:
    grow(tmp_path / "one", random.Random(seed))
    grow(tmp_path / "two", random.Random(seed + 1))
    roots = [Root(tmp_path / "one"), Root(tmp_path / "two", "two")]
    sources = walk(roots, ReadOptions()).sources
    assert len({source.id for source in sources}) == len(sources)
    for source in sources:
        assert path_of(roots, source.id) == source.path
        assert [r.id_of(source.path) for r in roots if r.contains(source.path)] == [source.id]
