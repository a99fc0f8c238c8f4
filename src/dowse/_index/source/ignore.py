"""The rules of ignore files: .gitignore, .git/info/exclude and .dowseignore."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from dowse._index.source.patterns import Pattern, parse
from dowse._index.source.safe_open import Unreadable, read_regular

GITIGNORE, DOWSEIGNORE, GIT = ".gitignore", ".dowseignore", ".git"

RULE_FILES = frozenset({GITIGNORE, DOWSEIGNORE})
"""Files that change which others are sources."""

MARKS = RULE_FILES | {GIT}
"""Entries that show that a folder has rules of its own."""

_MAX_RULES_BYTES = 1_000_000


class Rules:
    """The patterns of one ignore file: the last one that matches decides."""

    def __init__(self, patterns: Sequence[Pattern], base: str = "") -> None:
        self._base = len(os.fsencode(base))
        runs = [_Run(negated, run) for negated, run in groupby(patterns, lambda p: p.negated)]
        self._runs = runs[::-1]

    def verdict(self, path: bytes, name: bytes, *, is_folder: bool) -> bool | None:
        """True: ignored; False: kept in spite of weaker rules; None: these rules are silent."""
        below = path[self._base :]
        for run in self._runs:
            if run.matches(below, name, is_folder=is_folder):
                return not run.negated
        return None


class _Run:
    """Patterns of the same sign that follow each other, so that their order does not matter."""

    def __init__(self, negated: bool, patterns: Iterable[Pattern]) -> None:
        self.negated = negated
        listed = list(patterns)
        self._any = _Matcher([pattern for pattern in listed if not pattern.folders_only])
        self._folders = _Matcher([pattern for pattern in listed if pattern.folders_only])

    def matches(self, path: bytes, name: bytes, *, is_folder: bool) -> bool:
        return self._any.matches(path, name) or (is_folder and self._folders.matches(path, name))


class _Matcher:
    """Many patterns held against a name at once: plain names, plain endings, then the rest."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        named = [pattern for pattern in patterns if pattern.by_name]
        self._names = {pattern.literal for pattern in named if pattern.literal is not None}
        self._suffixes = tuple(p.suffix for p in named if p.suffix is not None)
        wild = [p for p in named if p.literal is None and p.suffix is None]
        self._name_regex = _alternatives(wild)
        self._path_regex = _alternatives([p for p in patterns if not p.by_name])

    def matches(self, path: bytes, name: bytes) -> bool:
        return (
            name in self._names
            or name.endswith(self._suffixes)
            or (self._name_regex is not None and self._name_regex.fullmatch(name) is not None)
            or (self._path_regex is not None and self._path_regex.fullmatch(path) is not None)
        )


def _alternatives(patterns: Sequence[Pattern]) -> re.Pattern[bytes] | None:
    joined = b"|".join(b"(?:" + pattern.regex + b")" for pattern in patterns)
    return re.compile(joined, re.DOTALL) if patterns else None


class Ignores:
    """The rules that hold in one folder, from the strongest to the weakest."""

    __slots__ = ("_chain", "_exclude", "_git", "_own")

    def __init__(
        self,
        exclude: Sequence[Rules] = (),
        own: Sequence[Rules] = (),
        git: Sequence[Rules] = (),
    ) -> None:
        self._exclude, self._own, self._git = tuple(exclude), tuple(own), tuple(git)
        self._chain = (*self._exclude, *self._own, *self._git)

    def deeper(
        self, own: Sequence[Rules], git: Sequence[Rules], git_exclude: Sequence[Rules]
    ) -> Ignores:
        """The rules inside a folder that has ignore files of its own."""
        return Ignores(self._exclude, (*own, *self._own), (*git, *self._git, *git_exclude))

    def ignore(self, path: str, name: str, *, is_folder: bool) -> bool:
        """Whether an entry of this folder is ignored; `path` starts at the root."""
        if not self._chain:
            return False
        raw_path, raw_name = os.fsencode(path), os.fsencode(name)
        for rules in self._chain:
            verdict = rules.verdict(raw_path, raw_name, is_folder=is_folder)
            if verdict is not None:
                return verdict
        return False


def rules_in(folder: str, base: str, outer: Ignores, *, gitignore: bool) -> Ignores:
    """Adds the ignore files of a folder, or raises `Unreadable` when one cannot be read.

    `base` is what paths in this folder start with. What git would not read, such as
    a link named .gitignore, is not read here either.
    """
    own = _rules(Path(folder, DOWSEIGNORE), base)
    git = _rules(Path(folder, GITIGNORE), base) if gitignore else ()
    exclude = _rules(Path(folder, GIT, "info", "exclude"), base) if gitignore else ()
    return outer.deeper(own, git, exclude) if own or git or exclude else outer


def _rules(path: Path, base: str) -> tuple[Rules, ...]:
    try:
        usable = stat.S_ISREG(path.lstat().st_mode) or path.name == DOWSEIGNORE
    except OSError:
        return ()
    if not usable:
        return ()
    try:
        patterns = parse(read_regular(path, _MAX_RULES_BYTES))
    except Unreadable as error:
        raise Unreadable(
            f"Its file {path.name} cannot be used, so nothing in it was read: {error}"
        ) from error
    return (Rules(patterns, base),) if patterns else ()
