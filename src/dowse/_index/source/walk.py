"""Find a project's source files from directory entries alone, with what had to be left out."""

from __future__ import annotations

import errno
import os
import shlex
import stat
import unicodedata
from collections.abc import Iterable, Sequence
from operator import attrgetter, itemgetter
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from dowse._index.options import ReadOptions
from dowse._index.source.files import Unreadable, too_large, wording
from dowse._index.source.load import is_installed
from dowse._index.source.roots import Root, document_id, readable
from dowse._index.source.rules import MARKS, VENV_MARK, Gate, Ignores, is_inside
from dowse._model import LeftOut, SourceFile
from dowse._text.file_names import ALWAYS, ENDINGS, INSTALL, why_not_read

_NOT_UTF8 = "Its name is not valid UTF-8; rename it."
_SPECIAL = "It is not a regular file but a pipe, a socket or a device."
_MISSING = "There is no such file or folder. Restore it, or remove it from the project."
_OUTWARDS = "It is a link that leads out of the folder; move what it points at into the folder."
_LOOP = "It is a link to a folder that contains it."
_DEAD = "It is a link to something that does not exist; fix or remove it."
_OUTSIDE = "It is outside the folders of the project."
_WITHHELD = (
    "Only a dowse.toml lets in what your own settings leave out, such as {}. "
    "Agree to it with: dowse project trust {}"
)
_TWIN = (
    "Its name looks the same as that of another file, they differ only in how "
    "characters are encoded; rename one of them."
)


class Walk(Struct, frozen=True):
    """What a walk over a project's roots found, each part in the order of its ids."""

    sources: tuple[SourceFile, ...]
    left_out: tuple[LeftOut, ...]
    linked: tuple[Path, ...] = ()  # real files and folders that only a link makes part of a root
    withheld: tuple[Path, ...] = ()  # files that wait for consent to a dowse.toml


def walk(roots: Sequence[Root], options: ReadOptions, within: Sequence[Path] = ()) -> Walk:
    """Find all sources of the roots; with `within`, only those at or below these paths.

    The rules of every folder above hold in either case. Only ignore files are opened.
    """
    names = frozenset(f"@{root.name}" for root in roots if root.name)
    trees = [_Tree(root, options, frozenset() if root.name else names) for root in roots]
    for tree in trees:
        tree.gather(within)
    left_out = [item for tree in trees for item in tree.left_out]
    left_out += [
        LeftOut(readable(os.fspath(path)), _OUTSIDE)
        for path in within
        if not any(root.relative(path) is not None or _covers(path, root) for root in roots)
    ]
    sources = _without_twins((item for tree in trees for item in tree.sources), left_out)
    left_out.sort(key=lambda item: (item.id, item.reason))
    linked = sorted({Path(path) for tree in trees for path in tree.linked})
    withheld = sorted(tree.root.path / below for tree in trees for below in tree.withheld)
    return Walk(tuple(sources), tuple(left_out), tuple(linked), tuple(withheld))


def _without_twins(found: Iterable[SourceFile], left_out: list[LeftOut]) -> list[SourceFile]:
    """Sort by id; of files whose names differ only in how accents are encoded, one remains."""
    kept: list[SourceFile] = []
    for source in sorted(found, key=attrgetter("id")):
        if kept and kept[-1].id == source.id:
            left_out.append(LeftOut(source.id, _TWIN))
            kept[-1] = min(kept[-1], source, key=attrgetter("place"))
        else:
            kept.append(source)
    return kept


def _covers(path: Path, root: Root) -> bool:
    return root.path.is_relative_to(os.path.realpath(path))


class _Folder(Struct, frozen=True):
    """A folder that is to be looked at."""

    path: str  # real
    base: str  # what paths in it start with, below the root: "" or "a/b/"
    ignores: Ignores
    chosen: bool  # what the include patterns say about it as a whole
    whole: bool  # all of it is asked for
    by_link: bool = False


class _Tree:
    """The walk of one root: its folders and files, then what its links add."""

    def __init__(self, root: Root, options: ReadOptions, reserved: frozenset[str]) -> None:
        self.root = root
        self.sources: list[SourceFile] = []
        self.left_out: list[LeftOut] = []
        self.linked: set[str] = set()  # what only links add
        self.withheld: list[str] = []  # what waits for consent to a dowse.toml
        self._options = options
        self._reserved = reserved  # folder names that would read like another root's ids
        self._top = str(root.path)
        self._gate = Gate(self._top, options)
        self._can_convert = is_installed()
        self._wanted: set[str] = set()  # paths that are asked for, in NFC
        self._above: set[str] = set()  # the folders above these
        self._folders: list[_Folder] = []
        self._links: list[tuple[str, _Folder]] = []
        self._files_by_link: set[str] = set()

    def gather(self, within: Sequence[Path]) -> None:
        """Walk the root, or as much of it as is at or below some paths."""
        whole = not within or any(_covers(path, self.root) for path in within)
        for path in within:
            if below := self.root.relative(path):
                wanted = unicodedata.normalize("NFC", below)
                self._wanted.add(wanted)
                self._above.update(wanted[:at] for at, char in enumerate(wanted) if char == "/")
        if not whole and not self._wanted:
            return
        if (real := self.root.leads_to) is not None:
            self._leave_out("", f"A link that leads to {readable(str(real))} is in its place.")
            return
        try:
            status = self.root.path.stat()
        except OSError as error:
            missing = isinstance(error, FileNotFoundError | NotADirectoryError)
            self._leave_out("", _MISSING if missing else _not_opened(error))
            return
        if stat.S_ISDIR(status.st_mode):
            outermost, everything = self._gate.outermost, self._gate.includes_all
            self._scan_all(_Folder(self._top, "", outermost, everything, whole))
            for below in self.withheld:
                named = readable(min(self.withheld)), shlex.quote(readable(self._top))
                self._leave_out(below, _WITHHELD.format(*named), lost=False)
        elif kind := self._gate.kind(self.root.path.name):
            # It was named, so no rule holds it back.
            self._take(self.root.path.name, self._top, kind, status)
        else:
            self._leave_out("", f"dowse does not read such files, only {' '.join(ENDINGS)}.")

    def _leave_out(self, below: str, reason: str, *, lost: bool = True) -> None:
        """Note what cannot be used; "" stands for the root itself."""
        if below:
            name = document_id(self.root, below) or self.root.prefix + readable(below)
        else:
            name = readable(self._top)
        self.left_out.append(LeftOut(name, reason, lost=lost))

    # ── Folders and files ────────────────────────────────────────────────────

    def _scan_all(self, folder: _Folder) -> None:
        """Scan a folder and those below, then what links add.

        Links come last: one to something that is found by its own name adds nothing.
        """
        self._folders.append(folder)
        links: list[tuple[str, _Folder]] = []
        while True:
            while self._folders:
                self._scan(self._folders.pop())
            if not links and self._options.follow_symlinks:
                links = sorted(self._links, key=itemgetter(0), reverse=True)
                self._links = []
            if not links:
                break
            self._follow(*links.pop())

    def _scan(self, folder: _Folder) -> None:
        try:
            with os.scandir(folder.path) as listing:
                entries = list(listing)
            names = {entry.name for entry in entries}
            if VENV_MARK in names and folder.base:
                return
            if not names.isdisjoint(MARKS):
                ignores = self._gate.enter(folder.path, folder.base, folder.ignores)
                folder = replace(folder, ignores=ignores)
        except (FileNotFoundError, NotADirectoryError):
            return  # it was removed a moment ago
        except OSError as error:
            reason = f"The folder cannot be opened: {wording(error)}."
            self._leave_out(folder.base.rstrip("/"), reason)
            return
        except Unreadable as error:
            self._leave_out(folder.base.rstrip("/"), error.reason)
            return
        for entry in entries:
            below = folder.base + entry.name
            if self._gate.sees(entry.name) and self._is_wanted(below, folder, or_above=True):
                try:
                    self._look_at(entry, below, folder)
                except FileNotFoundError:
                    pass  # it was removed a moment ago
                except OSError as error:
                    self._leave_out(below, _not_opened(error))

    def _is_wanted(self, below: str, folder: _Folder, *, or_above: bool = False) -> bool:
        """Return whether an entry is asked for with all that is in it, or is above such a one."""
        if folder.whole:
            return True
        name = unicodedata.normalize("NFC", below)
        return name in self._wanted or (or_above and name in self._above)

    def _look_at(self, entry: os.DirEntry[str], below: str, folder: _Folder) -> None:
        if entry.is_symlink():
            self._links.append((below, folder))
        elif entry.is_dir(follow_symlinks=False):
            self._queue(below, entry.path, folder, by_link=folder.by_link)
        elif kind := self._kind(below, folder):
            if not folder.by_link or not self._is_known(entry.path):
                self._take_allowed(below, entry.path, kind, entry.stat(follow_symlinks=False))
        elif (
            (reason := why_not_read(entry.name))
            and folder.chosen
            and self._is_wanted(below, folder)
            and not folder.ignores.ignore(below, is_folder=False)
        ):
            self._leave_out(below, reason, lost=False)

    def _kind(self, below: str, folder: _Folder) -> str | None:
        """Say how an entry is read; None when it is no source, by its name or by a rule."""
        kind = self._gate.kind(below.removeprefix(folder.base))
        if kind is None or not self._is_wanted(below, folder):
            return None
        if folder.ignores.ignore(below, is_folder=False):
            return None
        chosen = self._gate.includes(below, is_folder=False, outer=folder.chosen)
        return kind if chosen else None

    def _take_allowed(self, below: str, path: str, kind: str, status: os.stat_result) -> None:
        if self._gate.withholds(below, path):
            self.withheld.append(below)
        else:
            self._take(below, path, kind, status)

    def _take(self, below: str, path: str, kind: str, status: os.stat_result) -> None:
        """Take a file that the rules let through, unless it cannot be used as it is."""
        identifier, limit = document_id(self.root, below), self._options.limit(kind)
        if not stat.S_ISREG(status.st_mode):
            self._leave_out(below, _SPECIAL)
        elif status.st_size > limit:
            self._leave_out(below, too_large(status.st_size, limit))
        elif kind not in ALWAYS and not self._can_convert:
            self._leave_out(below, INSTALL, lost=False)
        elif identifier is None:
            self._leave_out(below, _NOT_UTF8)
        else:
            source = SourceFile(identifier, path, status.st_size, status.st_mtime_ns)
            self.sources.append(source)

    def _queue(self, below: str, path: str, outer: _Folder, *, by_link: bool) -> None:
        if outer.ignores.ignore(below, is_folder=True):
            return
        if below in self._reserved:
            reason = f"Its name reads like the ids of the root {below[1:]}; rename one of them."
            self._leave_out(below, reason)
        elif document_id(self.root, below) is None:
            self._leave_out(below, _NOT_UTF8)
        else:
            chosen = self._gate.includes(below, is_folder=True, outer=outer.chosen)
            whole = self._is_wanted(below, outer)
            self._folders.append(_Folder(path, f"{below}/", outer.ignores, chosen, whole, by_link))

    # ── Links ────────────────────────────────────────────────────────────────

    def _follow(self, below: str, folder: _Folder) -> None:
        path = Path(folder.path, below.removeprefix(folder.base))
        try:
            status = path.stat()
        except OSError as error:
            self._leave_out_link(below, folder, error)
            return
        target = os.path.realpath(path)
        is_folder = stat.S_ISDIR(status.st_mode)
        kind = None if is_folder else self._kind(below, folder)
        if folder.ignores.ignore(below, is_folder=True) if is_folder else kind is None:
            return
        if not is_inside(target, self._top):
            self._leave_out(below, _OUTWARDS)
        elif kind is not None:
            if not self._is_known(target):
                self.linked.add(target)
                self._take_allowed(below, target, kind, status)
        elif is_inside(folder.path, target):
            self._leave_out(below, _LOOP)
        elif target not in self.linked and not self._is_reached(target, is_folder=True):
            self.linked.add(target)
            self._queue(below, target, folder, by_link=True)

    def _leave_out_link(self, below: str, folder: _Folder, error: OSError) -> None:
        if error.errno == errno.ELOOP:
            if not folder.ignores.ignore(below, is_folder=False):
                self._leave_out(below, _LOOP)
        elif self._kind(below, folder):
            dead = isinstance(error, FileNotFoundError)
            self._leave_out(below, _DEAD if dead else _not_opened(error))

    def _is_known(self, real_file: str) -> bool:
        """Say whether a linked file is a source by its own name or by an earlier link."""
        known = real_file in self._files_by_link or self._is_reached(real_file, is_folder=False)
        self._files_by_link.add(real_file)
        return known

    def _is_reached(self, real: str, *, is_folder: bool) -> bool:
        below = Path(real).relative_to(self.root.path).as_posix()
        whole = not is_folder or self._gate.includes_all
        return whole and self._gate.reaches(below, is_folder=is_folder)


def _not_opened(error: OSError) -> str:
    return f"It cannot be opened: {wording(error)}."
