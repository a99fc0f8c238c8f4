"""The rules of ignore files: .gitignore, .git/info/exclude and .dowseignore."""

from __future__ import annotations

import os
import re
import stat
import string
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from msgspec import Struct

from dowse._index.source.files import Unreadable, read_regular

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
        """Return True: ignored; False: kept in spite of weaker rules; None: nothing is said."""
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
        """Return the rules inside a folder that has ignore files of its own."""
        return Ignores(self._exclude, (*own, *self._own), (*git, *self._git, *git_exclude))

    def ignore(self, path: str, name: str, *, is_folder: bool) -> bool:
        """Return whether an entry of this folder is ignored; `path` starts at the root."""
        if not self._chain:
            return False
        raw_path, raw_name = os.fsencode(path), os.fsencode(name)
        for rules in self._chain:
            verdict = rules.verdict(raw_path, raw_name, is_folder=is_folder)
            if verdict is not None:
                return verdict
        return False


def rules_in(folder: str, base: str, outer: Ignores, *, gitignore: bool) -> Ignores:
    """Add the ignore files of a folder, or raise `Unreadable` when one cannot be read.

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


# ── Patterns: as git understands them, to expressions over bytes ────────────────
# `pathspec` was measured first: it answers for whole files and so prunes folders that git would
# enter (`a/**` with `!a/b.md`), and it has no `[[:alpha:]]`. Where the manual and git differ
# (`a**/b`), git's own behaviour is followed.

_SPECIAL = re.compile(rb"[*?\[\\]")
_SLASH = ord("/")
_NEVER = b"(?!)"

_CLASSES = {
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "blank": " \t",
    "cntrl": "".join(map(chr, range(32))) + "\x7f",
    "digit": string.digits,
    "graph": string.ascii_letters + string.digits + string.punctuation,
    "lower": string.ascii_lowercase,
    "print": string.ascii_letters + string.digits + string.punctuation + " ",
    "punct": string.punctuation,
    "space": " \t\n\r",
    "upper": string.ascii_uppercase,
    "xdigit": string.hexdigits,
}


class Pattern(Struct, frozen=True):
    """One line of an ignore file."""

    glob: bytes  # without "!" and without the slash at its end
    negated: bool
    folders_only: bool

    @property
    def by_name(self) -> bool:
        """Whether it is held against names at any depth rather than against paths."""
        return b"/" not in self.glob

    @property
    def literal(self) -> bytes | None:
        """The glob, when nothing in it is special."""
        return None if _SPECIAL.search(self.glob) else self.glob

    @property
    def suffix(self) -> bytes | None:
        """What follows the star in globs such as `*.log`."""
        plain = self.glob.startswith(b"*") and not _SPECIAL.search(self.glob, 1)
        return self.glob[1:] if plain else None

    @property
    def regex(self) -> bytes:
        """A regular expression for the whole name, or the whole path below the ignore file."""
        glob = self.glob.removeprefix(b"/")
        special = _SPECIAL.search(glob)
        if special is None:
            return re.escape(glob)
        # git cuts off the plain beginning first, so that "**" right after it counts as leading.
        plain, rest = glob[: special.start()], glob[special.start() :]
        return re.escape(plain) + _join(_tokens(rest, with_paths=not self.by_name))


def parse(data: bytes) -> list[Pattern]:
    """Return the patterns of an ignore file, in its order."""
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return [
        pattern
        for line in lines
        if not line.startswith(b"#")
        and (pattern := _pattern(_trimmed(line.removesuffix(b"\r").partition(b"\0")[0])))
    ]


def _pattern(line: bytes) -> Pattern | None:
    glob = line.removeprefix(b"!")
    folders_only = glob.endswith(b"/")
    glob = glob.removesuffix(b"/")
    return Pattern(glob, line.startswith(b"!"), folders_only) if glob else None


def _trimmed(line: bytes) -> bytes:
    """Return the line without the spaces at its end, except those behind a backslash."""
    kept = line.rstrip(b" ")
    backslashes = len(kept) - len(kept.rstrip(b"\\"))
    return line[: len(kept) + 1] if backslashes % 2 else kept


# ── Globs to regular expressions ─────────────────────────────────────────────
# A token is the expression of one character, or one of these. Stars before the last one are
# made atomic: their leftmost fit is as good as any, so a hostile pattern cannot stall the walk.

_STAR = b"*"  # any run of characters in one name
_FOLDERS = b"**/"  # any number of folders, also none
_SOME_FOLDERS = b"**\\/"  # an escaped slash is taken literally: at least that slash


def _tokens(glob: bytes, *, with_paths: bool) -> list[bytes]:
    tokens: list[bytes] = []
    at = 0
    while at < len(glob):
        if glob[at : at + 1] == b"*":
            token, at = _stars(glob, at, with_paths=with_paths)
        else:
            token, at = _character(glob, at)
        tokens.append(token)
    return tokens


def _stars(glob: bytes, at: int, *, with_paths: bool) -> tuple[bytes, int]:
    after = len(glob) - len(glob[at:].lstrip(b"*"))
    alone = with_paths and after - at > 1 and (at == 0 or glob[at - 1 : at] == b"/")
    if alone and after == len(glob):
        return b".*", after
    if alone and glob.startswith(b"/", after):
        return _FOLDERS, after + 1
    if alone and glob.startswith(b"\\/", after):
        return _SOME_FOLDERS, after + 2
    return _STAR, after


def _character(glob: bytes, at: int) -> tuple[bytes, int]:
    char = glob[at : at + 1]
    if char == b"?":
        return b"[^/]", at + 1
    if char == b"[":
        allowed, after = _bracket(glob, at + 1)
        return _one_of(allowed), after
    if char == b"\\":
        at += 1
    return (re.escape(glob[at : at + 1]), at + 1) if at < len(glob) else (_NEVER, at)


def _join(tokens: list[bytes]) -> bytes:
    head, *rest = _split(tokens, {_FOLDERS, _SOME_FOLDERS})
    folders = [token for token in tokens if token in {_FOLDERS, _SOME_FOLDERS}]
    parts = [_join_names(head)]
    for index, (token, block) in enumerate(zip(folders, rest, strict=True), 1):
        if index < len(rest):
            lazy = b"(?:.*?/)??" if token == _FOLDERS else b".*?/"
            parts.append(b"(?>" + lazy + _join_names(block) + b")")
        else:
            parts.append((b"(?:.*/)?" if token == _FOLDERS else b".*/") + _join_names(block))
    return b"".join(parts)


def _join_names(tokens: list[bytes]) -> bytes:
    return b"/".join(_join_stars(name) for name in _split(tokens, {b"/"}))


def _join_stars(tokens: list[bytes]) -> bytes:
    first, *rest = (b"".join(piece) for piece in _split(tokens, {_STAR}))
    if not rest:
        return first
    inner = b"".join(b"(?>[^/]*?" + piece + b")" for piece in rest[:-1])
    return first + inner + b"[^/]*" + rest[-1]


def _split(tokens: list[bytes], at: set[bytes]) -> list[list[bytes]]:
    pieces: list[list[bytes]] = [[]]
    for token in tokens:
        if token in at:
            pieces.append([])
        else:
            pieces[-1].append(token)
    return pieces


# ── Brackets ─────────────────────────────────────────────────────────────────


def _bracket(glob: bytes, at: int) -> tuple[set[int], int]:
    """Return the bytes that `[…]` allows and where it ends; none at all when it is malformed."""
    negated = glob[at : at + 1] in {b"!", b"^"}
    at += negated
    allowed: set[int] = set()
    previous, first = 0, True  # previous: what a range would start from, 0 for nothing
    while first or glob[at : at + 1] != b"]":
        members, previous, at = _member(glob, at, previous)
        if members is None:
            return set(), len(glob)
        allowed |= members
        first = False
    return (set(range(256)) - allowed if negated else allowed) - {_SLASH}, at + 1


def _member(glob: bytes, at: int, previous: int) -> tuple[set[int] | None, int, int]:
    """Return the bytes of a member of a bracket, the start of a range after it, and its end."""
    if glob.startswith(b"[:", at) and (end := glob.find(b"]", at + 2)) >= 0:
        name = glob[at + 2 : end]
        if name.endswith(b":"):
            known = _CLASSES.get(name[:-1].decode("latin-1"))
            return (set(known.encode()) if known else None), 0, end + 1
    if (
        glob.startswith(b"-", at)
        and previous
        and at + 1 < len(glob)
        and not glob.startswith(b"]", at + 1)
    ):
        last, after = _escaped(glob, at + 1)
        return (None if last is None else set(range(previous, last + 1))), 0, after
    byte, after = _escaped(glob, at)
    return (None if byte is None else {byte}), byte or 0, after


def _escaped(glob: bytes, at: int) -> tuple[int | None, int]:
    at += glob.startswith(b"\\", at)
    return (glob[at] if at < len(glob) else None), at + 1


def _one_of(allowed: set[int]) -> bytes:
    if not allowed:
        return _NEVER
    return b"[" + b"".join(b"\\x%02x" % byte for byte in sorted(allowed)) + b"]"
