"""Find a project's source files and what has changed of them, and watch for changes.

Sources are found from directory entries alone.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
import stat
import threading
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter, itemgetter
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from dowse._index.options import ReadOptions
from dowse._index.source.files import Unreadable, too_large, wording
from dowse._index.source.load import is_installed, load
from dowse._index.source.roots import Root, document_id, readable
from dowse._index.source.rules import MARKS, RULE_FILES, VENV_MARK, Gate, Ignores, is_inside
from dowse._model import Announce, Event, FileState, LeftOut, Shard, SourceFile, silent
from dowse._text.file_names import ALWAYS, ENDINGS, INSTALL, why_not_read
from dowse._util.process import TookTooLong
from dowse.errors import DowseError

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
    sources: list[SourceFile] = []
    for source in sorted((one for tree in trees for one in tree.sources), key=attrgetter("id")):
        if sources and sources[-1].id == source.id:  # they differ in how accents are encoded
            left_out.append(LeftOut(source.id, _TWIN))
            sources[-1] = min(sources[-1], source, key=attrgetter("place"))
        else:
            sources.append(source)
    left_out.sort(key=lambda item: (item.id, item.reason))
    linked = sorted({Path(path) for tree in trees for path in tree.linked})
    withheld = sorted(tree.root.path / below for tree in trees for below in tree.withheld)
    return Walk(tuple(sources), tuple(left_out), tuple(linked), tuple(withheld))


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
            gate = self._gate
            self._scan_all(_Folder(self._top, "", gate.outermost, gate.includes_all, whole))
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
        named = document_id(self.root, below) or self.root.prefix + readable(below)
        self.left_out.append(LeftOut(named if below else readable(self._top), reason, lost=lost))

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
                folder = replace(
                    folder, ignores=self._gate.enter(folder.path, folder.base, folder.ignores)
                )
        except (FileNotFoundError, NotADirectoryError):
            return  # it was removed a moment ago
        except OSError as error:
            self._leave_out(
                folder.base.rstrip("/"), f"The folder cannot be opened: {wording(error)}."
            )
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
        chosen = not folder.ignores.ignore(below, is_folder=False) and self._gate.includes(
            below, is_folder=False, outer=folder.chosen
        )
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
            self.sources.append(SourceFile(identifier, path, status.st_size, status.st_mtime_ns))

    def _queue(self, below: str, path: str, outer: _Folder, *, by_link: bool) -> None:
        if outer.ignores.ignore(below, is_folder=True):
            return
        if below in self._reserved:
            self._leave_out(
                below, f"Its name reads like the ids of the root {below[1:]}; rename one of them."
            )
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
            self._leave_out(
                below, _DEAD if isinstance(error, FileNotFoundError) else _not_opened(error)
            )

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


# ── What has changed in the folder since it was last indexed ─────────────────────


class Changes(Struct):
    """The difference between a folder and its index."""

    pending: list[SourceFile] = field(default_factory=list)  # new, or not as they were
    gone: dict[str, FileState] = field(default_factory=dict)  # documents whose file is no more
    unchanged: int = 0
    known: Mapping[str, FileState] = field(default_factory=dict)  # what the index knows, by id
    left_out: list[LeftOut] = field(default_factory=list)


def scan(
    roots: Sequence[Root],
    within: Sequence[Path],
    options: ReadOptions,
    known: Mapping[str, FileState],
    shard: Shard | None = None,
) -> Changes:
    """Compare the folder with what the index knows of it; of a shard, only its documents.

    `known` need have no more than what begins as `beginnings` says.
    """
    found = walk(roots, options, within)
    sources = found.sources
    if shard is not None:
        known = {id_: state for id_, state in known.items() if shard.holds(id_)}
        sources = tuple(source for source in sources if shard.holds(source.id))
    pending = [
        source
        for source in sources
        if (state := known.get(source.id)) is None or not state.settled or not _same(state, source)
    ]
    missing = sorted(known.keys() - {source.id for source in sources})
    gone = {id_: known[id_] for id_ in _seen(missing, roots, within, found.left_out)}
    return Changes(pending, gone, len(sources) - len(pending), known, list(found.left_out))


def beginnings(roots: Sequence[Root], within: Sequence[Path]) -> list[str]:
    """Return the beginnings of the ids of all documents that a scan of these paths can meet."""
    return [f"{prefix}{place}" for root in roots for prefix, place in _looked_at(root, within)]


def has_changed(source: SourceFile, state: FileState | None, options: ReadOptions) -> bool:
    """Return whether a pending file has other bytes than the index knows.

    Only a file that was read right after it was written must be read again to tell.
    """
    if state is None or not _same(state, source):
        return True
    try:
        return load(source, options).digest != state.digest
    except (Unreadable, TookTooLong):
        return True


def _same(state: FileState, source: SourceFile) -> bool:
    return state.size == source.size and state.mtime_ns == source.mtime_ns


def _seen(
    ids: Iterable[str],
    roots: Sequence[Root],
    within: Sequence[Path],
    left_out: Sequence[LeftOut],
) -> Iterator[str]:
    """Yield those of some documents where a walk has looked; the others need not be gone.

    A drive that is not mounted or a folder that cannot be opened empties no index.
    """
    hidden = {item.id for item in left_out}
    unseen = tuple(f"{id_}/" for id_ in hidden)
    prefixes = sorted((root.prefix for root in roots), reverse=True)  # "" comes last
    lost = {root.prefix for root in roots if str(root.path) in hidden}
    places = {place for root in roots for place in _looked_at(root, within)}
    for id_ in ids:
        prefix = next((one for one in prefixes if id_.startswith(one)), "")
        below = f"{id_.removeprefix(prefix)}/"
        above = ["", *(below[:at] for at, char in enumerate(below) if char == "/")]
        is_seen = not places.isdisjoint((prefix, place) for place in above)
        if is_seen and prefix not in lost and not id_.startswith(unseen):
            yield id_


def _looked_at(root: Root, within: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Yield the root's prefix and the places below it that paths mean; "" for all of the root."""
    for path in within or [root.path]:
        below = "" if root.path.is_relative_to(path) else root.relative(path)
        if below is not None:
            yield root.prefix, unicodedata.normalize("NFC", below)


# ── Watching ────────────────────────────────────────────────────────────────────

MASS = 1000
"""So many changes at once are cheaper to meet with one walk over the whole root."""

FLOOD = 4000
"""So many events at once, whatever they are of, may be more than the system has kept for us."""

_TICK = 0.25  # seconds between two looks at the roots themselves
_POLL = 2.0  # seconds between two looks at everything, where the system reports no changes
_LONGEST = 10  # a batch is handed over after so many quiet periods even if it is never quiet

# Only names that are gone again need this: what exists and is no source is known by its ending.
_PASSING = re.compile(
    r".*~|4913|sed\w{6}|#.*#|\.#.*|~\$.*|\.~lock\..*|\.goutputstream-.*|"
    r".*\.(?:sw[a-z]|swpx|tmp|temp|part|partial|crdownload|lock|bak|orig)(?:[.\-]\w+)?",
    re.IGNORECASE | re.DOTALL,
)

_State = tuple[int, ...]
"""What distinguishes a root from another one that took its place; for a file also from its past."""


def watch(
    roots: Sequence[Root],
    options: ReadOptions,
    changed: Callable[[frozenset[Path]], None],
    *,
    stop: threading.Event,
    debounce: float = 0.5,
    announce: Announce = silent,
) -> None:
    """Call `changed` with the paths to walk again, until `stop` is set.

    It is called with the roots themselves once watching has begun, whenever a root comes
    back, and when rules or very many files changed; otherwise with files and folders that
    were made, changed, renamed or removed. Changes are collected until it has been quiet for
    `debounce` seconds. While a root is missing nothing is said about what was in it.
    """
    _Watch(roots, options, changed, stop=stop, debounce=debounce, announce=announce).run()


class _Watch:
    def __init__(
        self,
        roots: Sequence[Root],
        options: ReadOptions,
        changed: Callable[[frozenset[Path]], None],
        *,
        stop: threading.Event,
        debounce: float,
        announce: Announce,
    ) -> None:
        self._roots, self._options, self._changed = roots, options, changed
        self._stop, self._debounce, self._announce = stop, debounce, announce
        self._polls = False

    def run(self) -> None:
        missing: set[Root] = set()
        while not self._stop.is_set():
            states = {root: _state(root) for root in self._roots}
            gone = {root for root, state in states.items() if state is None}
            for root in self._roots:
                if root in gone - missing:
                    self._say(f"{root.path} is gone; waiting for it to come back.", len(gone))
                elif root in missing - gone:
                    self._say(f"{root.path} is back.", len(gone))
            missing = gone
            if len(gone) == len(self._roots):
                self._stop.wait(_TICK)
            else:
                self._listen({root: state for root, state in states.items() if state})

    def _listen(self, states: dict[Root, _State]) -> None:
        """Hand over changes until a root comes, goes or is replaced."""
        folders = [root for root, state in states.items() if _is_folder(state)]
        changes = EventFilter(folders, self._options)
        begun = False
        for events in self._batches([root.path for root in folders]):
            now = {root: state for root in self._roots if (state := _state(root))}
            # Another folder where a root was; a file that is another one is an ordinary change.
            if now.keys() != states.keys() or any(
                state != now[root] and (_is_folder(state) or _is_folder(now[root]))
                for root, state in states.items()
            ):
                return
            paths = changes.sift(events)
            paths |= {root.path for root in now if now[root] != states[root]}
            states = now
            if not begun:
                begun, paths = True, {root.path for root in states}
            if paths and not self._stop.is_set():
                self._changed(frozenset(paths))

    def _batches(self, folders: Sequence[Path]) -> Iterator[set[str]]:
        """Yield the paths of events, batch by batch, with an empty batch now and then."""
        import watchfiles  # noqa: PLC0415  only watching needs it

        quiet = max(1, round(self._debounce * 1000))
        while folders:
            try:
                for batch in watchfiles.watch(
                    *folders,
                    watch_filter=None,
                    debounce=_LONGEST * quiet,
                    step=quiet,
                    stop_event=self._stop,
                    rust_timeout=max(quiet, round(_TICK * 1000)),
                    yield_on_timeout=True,
                    force_polling=True if self._polls else None,
                    poll_delay_ms=round(_POLL * 1000),
                    ignore_permission_denied=True,
                ):
                    yield {path for _, path in batch}
            except FileNotFoundError:
                return
            except (OSError, RuntimeError) as error:  # the latter is what watchfiles raises
                if self._polls:
                    raise DowseError(
                        f"The folders cannot be watched: {error}.",
                        "Run `dowse index` after changes instead.",
                    ) from error
                self._polls = True
                self._say(f"Looking for changes every {_POLL:g} seconds, because: {error}.", 0)
            else:
                return
        while not self._stop.wait(_TICK):
            yield set()

    def _say(self, note: str, gone: int) -> None:
        total = len(self._roots)
        self._announce(Event("watch", total - gone, total, unit="roots", note=note))


def _state(root: Root) -> _State | None:
    try:
        status = root.path.stat()
    except OSError:
        return None
    former = () if stat.S_ISDIR(status.st_mode) else (status.st_mtime_ns, status.st_size)
    return (status.st_dev, status.st_ino, *former)


def _is_folder(state: _State) -> bool:
    return len(state) == 2


class EventFilter:
    """Sifts events: what cannot concern a source is dropped, what changes the rules widens."""

    def __init__(self, roots: Sequence[Root], options: ReadOptions) -> None:
        self._roots = roots
        self._options = options
        self._linked: tuple[str, ...] | None = None

    def sift(self, events: Collection[str]) -> set[Path]:
        """Return the paths to look at again; a root itself when all of it is concerned."""
        if len(events) > FLOOD:
            return {root.path for root in self._roots}
        gates = {root: Gate(str(root.path), self._options) for root in self._roots}
        paths: set[Path] = set()
        for event in events:
            for root in self._roots:
                if is_inside(event, str(root.path)):
                    paths |= self._judge(event, root, gates[root])
        for root in self._roots:
            inside = {path for path in paths if path.is_relative_to(root.path)}
            if root.path in inside or len(inside) > MASS:
                paths = paths - inside | {root.path}
        return paths

    def _judge(self, event: str, root: Root, gate: Gate) -> set[Path]:
        path = Path(event)
        below = path.relative_to(root.path).as_posix()
        if below == ".":
            return set()  # a root that comes or goes is noticed by looking at it
        if self._linked is None:
            self._linked = tuple(map(os.fspath, walk(self._roots, self._options).linked))
        folder, _, name = below.rpartition("/")
        changes_rules = below in {"dowse.toml", ".git/info/exclude"} or (
            name in RULE_FILES and (not folder or gate.reaches(folder, is_folder=True))
        )
        # In a place that is hidden but reached by a link, anything may matter.
        if changes_rules or any(is_inside(event, real) for real in self._linked):
            return {root.path}
        try:
            mode = path.lstat().st_mode
        except OSError:  # a source, or a folder that may have held some, is gone
            may_lead_on = _PASSING.fullmatch(name) is None
        else:
            may_lead_on = stat.S_ISLNK(mode) or stat.S_ISDIR(mode)
            if stat.S_ISLNK(mode):
                self._linked = None
        matters = gate.reaches(below, is_folder=False) or (
            may_lead_on and gate.reaches(below, is_folder=True)
        )
        return {path} if matters else set()
