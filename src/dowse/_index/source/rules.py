"""What of a root is looked at: by name, by ignore files, by the user's patterns."""

from __future__ import annotations

import os
import re
import stat
import string
from collections.abc import Sequence
from itertools import groupby, pairwise
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from dowse._index.options import ReadOptions
from dowse._index.source.files import Unreadable, read_regular
from dowse._text.file_names import ALWAYS, kind_of

GITIGNORE, DOWSEIGNORE, GIT = ".gitignore", ".dowseignore", ".git"

RULE_FILES = frozenset({GITIGNORE, DOWSEIGNORE})
"""Files that change which others are sources."""

MARKS = RULE_FILES | {GIT}
"""Entries that show that a folder has rules of its own."""

JUNK = frozenset(
    {
        "$RECYCLE.BIN",
        ".Trash",
        ".bzr",
        ".cache",
        ".dowse",
        ".git",
        ".hg",
        ".hypothesis",
        ".idea",
        ".ipynb_checkpoints",
        ".jj",
        ".mypy_cache",
        ".nox",
        ".obsidian",
        ".pytest_cache",
        ".ruff_cache",
        ".stversions",
        ".svn",
        ".tox",
        ".trash",
        ".venv",
        ".vscode",
        "__MACOSX",
        "__pycache__",
        "bower_components",
        "node_modules",
    }
)
"""Folders in which programs keep what is theirs, whatever the options say about hidden ones."""

VENV_MARK = "pyvenv.cfg"
"""The file that shows a folder to be a Python environment."""


class Gate:
    """Decides from names and rules alone what of one root is seen."""

    def __init__(self, folder: str, options: ReadOptions) -> None:
        self._folder = folder
        self._options = options
        self._kinds = ALWAYS.union(options.convert)
        self._include = Rules(_patterns(options.include)) if options.include else None
        self.includes_all = self._include is None
        self.outermost = Ignores((Rules(_patterns(options.exclude)),) if options.exclude else ())
        self._entered: dict[str, Ignores] = {}
        self._own = Gate(folder, options.own) if options.own else None

    def enter(self, folder: str, base: str, outer: Ignores) -> Ignores:
        """Return the rules inside a folder; `Unreadable` when an ignore file cannot be read.

        `base` is what paths in this folder start with.
        """
        own = _rules_of(Path(folder, DOWSEIGNORE), base)
        git, exclude = (
            _rules_of(path, base) if self._options.gitignore else ()
            for path in [Path(folder, GITIGNORE), Path(folder, GIT, "info", "exclude")]
        )
        return Ignores(outer.exclude, (*own, *outer.own), (*git, *outer.git, *exclude))

    def sees(self, name: str) -> bool:
        """Return whether an entry of this name is looked at, ignore rules aside."""
        return name not in JUNK and (self._options.hidden or not name.startswith("."))

    def includes(self, path: str, *, is_folder: bool, outer: bool) -> bool:
        """Return whether the user chose an entry; `outer` is the answer for its folder."""
        verdict = self._include.verdict(os.fsencode(path), is_folder) if self._include else True
        return outer if verdict is None else verdict

    def kind(self, name: str) -> str | None:
        """Say how a file of this name is read; None when it is no source."""
        kind = kind_of(name)
        return kind if kind in self._kinds else None

    def reaches(self, path: str, *, is_folder: bool) -> bool:
        """Return whether a path below the root, which need not exist any more, is looked at."""
        if self._own and not self._own.reaches(path, is_folder=is_folder):
            return False
        chosen = self._choice(path, is_folder=is_folder)
        if chosen is None or is_folder:
            return chosen is not None
        kind = self.kind(path.rpartition("/")[2])
        return kind is not None and self.includes(path, is_folder=False, outer=chosen)

    def shows(self, path: str) -> bool:
        """Return whether a file such as a picture is neither hidden nor ignored."""
        shown = self._choice(path, is_folder=False) is not None
        return shown and (self._own is None or self._own.shows(path))

    def withholds(self, path: str, real: str) -> bool:
        """Return whether the user's own settings leave out a file that a dowse.toml lets through.

        A file that they read at its real path, or at the path of a link to it, is read by them.
        """
        if self._own is None or self._own.reaches(path, is_folder=False):
            return False
        return not self._own.reaches(
            Path(real).relative_to(self._folder).as_posix(), is_folder=False
        )

    def _choice(self, path: str, *, is_folder: bool) -> bool | None:
        """Return what the include patterns say about a path's folder; None when it is hidden."""
        ignores, chosen, base = self.outermost, self.includes_all, ""
        parts = path.split("/")
        try:
            for number, name in enumerate(parts, 1):
                is_last, below = number == len(parts), base + name
                if base not in self._entered:
                    folder = os.path.realpath(Path(self._folder, base))
                    inside = is_inside(folder, self._folder)
                    self._entered[base] = self.enter(folder, base, ignores) if inside else ignores
                ignores = self._entered[base]
                if not self.sees(name) or ignores.ignore(below, is_folder or not is_last):
                    return None
                if not is_last:
                    chosen = self.includes(below, is_folder=True, outer=chosen)
                base = f"{below}/"
        except Unreadable:
            return None
        return chosen


def is_inside(path: str, folder: str) -> bool:
    """Return whether a real path is this real folder or is below it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


# ── The rules of ignore files: .gitignore, .git/info/exclude and .dowseignore ────


class Pattern(NamedTuple):
    """One line of an ignore file."""

    glob: bytes  # without "!" and without the slash at its end
    negated: bool
    folders_only: bool


class Rules:
    """The patterns of one ignore file: the last one that matches decides."""

    def __init__(self, patterns: Sequence[Pattern], base: str = "") -> None:
        self._base = len(os.fsencode(base))
        self._groups: list[_Group] = []
        for _, run in groupby(reversed(patterns), key=attrgetter("negated")):
            # In patterns of the same sign that follow each other, the order does not matter.
            by_kind = sorted(run, key=attrgetter("folders_only"))
            self._groups += [
                _Group(list(same)) for _, same in groupby(by_kind, key=attrgetter("folders_only"))
            ]

    def verdict(self, path: bytes, is_folder: bool) -> bool | None:
        """Return True: ignored; False: kept in spite of weaker rules; None: nothing is said."""
        below, name = path[self._base :], path.rpartition(b"/")[2]
        for group in self._groups:
            if (is_folder or not group.folders_only) and group.matches(below, name):
                return not group.negated
        return None


class _Group:
    """Patterns held against a name at once: plain names, plain endings, then the rest."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        _, self.negated, self.folders_only = patterns[0]
        self._names: set[bytes] = set()
        suffixes, by_name, by_path = [], [], []
        for glob, *_ in patterns:
            if b"/" in glob:
                by_path.append(_regex(glob.removeprefix(b"/")))
            elif not _SPECIAL.search(glob):
                self._names.add(glob)
            elif glob.startswith(b"*") and not _SPECIAL.search(glob, 1):
                suffixes.append(glob[1:])
            else:
                by_name.append(_regex(glob))
        self._suffixes = tuple(suffixes)
        self._by_name = re.compile(b"|".join(by_name) or _NEVER, re.DOTALL)
        self._by_path = re.compile(b"|".join(by_path) or _NEVER, re.DOTALL)

    def matches(self, path: bytes, name: bytes) -> bool:
        return (
            name in self._names
            or name.endswith(self._suffixes)
            or self._by_name.fullmatch(name) is not None
            or self._by_path.fullmatch(path) is not None
        )


class Ignores(Struct, frozen=True):
    """The rules that hold in one folder, from the strongest to the weakest."""

    exclude: tuple[Rules, ...] = ()
    own: tuple[Rules, ...] = ()
    git: tuple[Rules, ...] = ()

    def ignore(self, path: str, is_folder: bool) -> bool:
        """Return whether an entry of this folder is ignored; `path` starts at the root."""
        chain = self.exclude + self.own + self.git
        raw = os.fsencode(path) if chain else b""
        verdicts = (rules.verdict(raw, is_folder) for rules in chain)
        return next((verdict for verdict in verdicts if verdict is not None), False)


def _rules_of(path: Path, base: str) -> tuple[Rules, ...]:
    """Read an ignore file; what git would not read, such as a link named .gitignore, is not."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode) and path.name != DOWSEIGNORE:
            return ()
    except OSError:
        return ()
    try:
        patterns = parse(read_regular(path, limit=1_000_000))
    except Unreadable as error:
        raise Unreadable(
            f"Its file {path.name} cannot be used, so nothing in it was read: {error}"
        ) from error
    return (Rules(patterns, base),) if patterns else ()


def _patterns(globs: Sequence[str]) -> list[Pattern]:
    return [pattern for glob in globs for pattern in parse(os.fsencode(glob))]


def parse(data: bytes) -> list[Pattern]:
    """Return the patterns of an ignore file, in its order."""
    patterns = []
    for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        written = line.removesuffix(b"\r").partition(b"\0")[0]
        kept = written.rstrip(b" ")
        if (len(kept) - len(kept.rstrip(b"\\"))) % 2:  # a space behind a backslash stays
            kept = written[: len(kept) + 1]
        whole = kept.removeprefix(b"!")
        if not line.startswith(b"#") and (glob := whole.removesuffix(b"/")):
            patterns.append(Pattern(glob, kept.startswith(b"!"), whole.endswith(b"/")))
    return patterns


# ── Globs, as git understands them, to regular expressions over bytes ────────────
# `pathspec` was measured first: it answers for whole files and so prunes folders that git would
# enter (`a/**` with `!a/b.md`), and it has no `[[:alpha:]]`. Where the manual and git differ
# (`a**/b`), git's own behaviour is followed.
#
# A token is the expression of one character, or one of the first three below. Stars before the last
# one are made atomic: their leftmost fit is as good as any, so a hostile pattern cannot stall the
# walk.

_STAR = b"*"  # any run of characters in one name
_FOLDERS = b"**/"  # any number of folders, also none
_SOME_FOLDERS = b"**\\/"  # an escaped slash is taken literally: at least that slash
_NEVER = b"(?!)"
_SPECIAL = re.compile(rb"[*?\[\\]")
_TOKEN = re.compile(
    rb"(?P<folders>(?<![^/])\*{2,}(?P<escape>\\?)/)|(?P<all>(?<![^/])\*{2,}\Z)|(?P<star>\*+)"
    rb"|(?P<one>\?)|(?P<bracket>\[)|(?P<never>\\\Z)|\\?(?P<char>.)",
    re.DOTALL,
)
_MEMBER = re.compile(rb"\[:(?P<name>[^\]]*):\]|(?P<low>\\.|.)(?:-(?P<high>\\.|[^\]]))?", re.DOTALL)
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


def _regex(glob: bytes) -> bytes:
    """Return an expression for the whole name, or the whole path below the ignore file."""
    special = _SPECIAL.search(glob)
    if special is None:
        return re.escape(glob)
    # git cuts off the plain beginning first, so that "**" right after it counts as leading.
    plain, tokens = glob[: special.start()], _tokens(glob[special.start() :])
    folders = [token for token in tokens if token in {_FOLDERS, _SOME_FOLDERS}]
    blocks = [
        b"/".join(_join_stars(name) for name in _split(block, {b"/"}))
        for block in _split(tokens, {_FOLDERS, _SOME_FOLDERS})
    ]
    parts = [re.escape(plain), blocks[0]]
    for index, (token, block) in enumerate(zip(folders, blocks[1:], strict=True), 1):
        if index < len(folders):
            lazy = b"(?:.*?/)??" if token == _FOLDERS else b".*?/"
            parts.append(b"(?>" + lazy + block + b")")
        else:
            parts.append((b"(?:.*/)?" if token == _FOLDERS else b".*/") + block)
    return b"".join(parts)


def _tokens(glob: bytes) -> list[bytes]:
    tokens: list[bytes] = []
    at = 0
    while match := _TOKEN.match(glob, at):
        at = match.end()
        if match["folders"]:
            tokens.append(_SOME_FOLDERS if match["escape"] else _FOLDERS)
        elif match["bracket"]:
            token, at = _bracket(glob, at)
            tokens.append(token)
        elif match["char"]:
            tokens.append(re.escape(match["char"]))
        else:
            known = {"all": b".*", "star": _STAR, "one": b"[^/]", "never": _NEVER}
            tokens.append(known[str(match.lastgroup)])
    return tokens


def _bracket(glob: bytes, at: int) -> tuple[bytes, int]:
    """Return the expression of `[…]` and where it ends; a malformed one matches nothing."""
    negated = glob[at : at + 1] in {b"!", b"^"}
    at += negated
    allowed: set[int] = set()
    first = at  # where "]" is a member
    while at == first or glob[at : at + 1] != b"]":
        member = _MEMBER.match(glob, at)
        if member is None:
            return _NEVER, len(glob)
        if (name := member["name"]) is None:
            low, high = member["low"][-1], (member["high"] or member["low"])[-1]
            allowed.update([low], range(low, high + 1))
        elif known := _CLASSES.get(name.decode("latin-1")):
            allowed.update(known.encode())
        else:
            return _NEVER, len(glob)
        at = member.end()
    listed = (set(range(256)) - allowed if negated else allowed) - {ord("/")}
    codes = b"".join(b"\\x%02x" % byte for byte in sorted(listed))
    return b"[" + codes + b"]" if listed else _NEVER, at + 1


def _join_stars(tokens: list[bytes]) -> bytes:
    first, *rest = (b"".join(piece) for piece in _split(tokens, {_STAR}))
    if not rest:
        return first
    inner = b"".join(b"(?>[^/]*?" + piece + b")" for piece in rest[:-1])
    return first + inner + b"[^/]*" + rest[-1]


def _split(tokens: list[bytes], at: set[bytes]) -> list[list[bytes]]:
    cuts = [place for place, token in enumerate(tokens) if token in at]
    return [tokens[a + 1 : b] for a, b in pairwise([-1, *cuts, len(tokens)])]
