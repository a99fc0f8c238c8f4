"""What of a root is looked at: by name, by ignore rules, by the user's patterns."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from dowse._index.options import ReadOptions
from dowse._index.source.files import Unreadable
from dowse._index.source.ignore import Ignores, Rules, parse, rules_in
from dowse._text.file_names import ALWAYS, kind_of

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
        self._hidden = options.hidden
        self._kinds = ALWAYS.union(options.convert)
        self._include = _compiled(options.include)
        exclude = _compiled(options.exclude)
        self.outermost = Ignores(exclude=(exclude,) if exclude else ())
        self.includes_all = self._include is None
        self._entered: dict[str, Ignores] = {}
        self._own = Gate(folder, options.own) if options.own else None

    def enter(self, folder: str, base: str, outer: Ignores) -> Ignores:
        """Return the rules inside a folder; `Unreadable` when an ignore file cannot be read."""
        return rules_in(folder, base, outer, gitignore=self._options.gitignore)

    def sees(self, name: str) -> bool:
        """Return whether an entry of this name is looked at, ignore rules aside."""
        return name not in JUNK and (self._hidden or not name.startswith("."))

    def includes(self, path: str, name: str, *, is_folder: bool, outer: bool) -> bool:
        """Return whether the user chose an entry; `outer` is the answer for its folder."""
        if self._include is None:
            return True
        verdict = self._include.verdict(os.fsencode(path), os.fsencode(name), is_folder=is_folder)
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
        name = path.rpartition("/")[2]
        return self.kind(name) is not None and self.includes(
            path, name, is_folder=False, outer=chosen
        )

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
        ignores, chosen = self.outermost, self.includes_all
        *above, last = path.split("/")
        base = ""
        try:
            for name in above:
                ignores = self._rules(base, ignores)
                if self._hides(base, name, ignores, is_folder=True):
                    return None
                base += f"{name}/"
                chosen = self.includes(base[:-1], name, is_folder=True, outer=chosen)
            ignores = self._rules(base, ignores)
        except Unreadable:
            return None
        return None if self._hides(base, last, ignores, is_folder=is_folder) else chosen

    def _rules(self, base: str, outer: Ignores) -> Ignores:
        if base not in self._entered:
            folder = os.path.realpath(Path(self._folder, base))
            inside = is_inside(folder, self._folder)
            self._entered[base] = self.enter(folder, base, outer) if inside else outer
        return self._entered[base]

    def _hides(self, base: str, name: str, ignores: Ignores, *, is_folder: bool) -> bool:
        return not self.sees(name) or ignores.ignore(base + name, name, is_folder=is_folder)


def is_inside(path: str, folder: str) -> bool:
    """Return whether a real path is this real folder or is below it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _compiled(globs: Sequence[str]) -> Rules | None:
    patterns = [pattern for glob in globs for pattern in parse(os.fsencode(glob))]
    return Rules(patterns) if patterns else None
