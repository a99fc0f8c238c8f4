"""System calls → the history of one folder.

Whatever the model cannot represent (a shared writable mapping, say) fails the test, since a
write that goes unseen would make every replayed state wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from powerloss.history import ROOT, Entry, History, Inode, Names, Operation, Say, Sync, Truncate
from powerloss.history import Write as WriteTo
from powerloss.trace import Call, traced

_FD = re.compile(
    r"(?P<number>-?\d+|AT_FDCWD)(<(?P<path>(\\x..)*|[^>]*)>(?P<deleted>\(deleted\))?)?"
)
_BASES = re.compile(r'iov_base="((?:\\x..)*)"')
_VOLATILE = "-shm"  # SQLite's index of its log: mapped, and made again after every crash


@dataclass(slots=True)
class _Open:
    """An open file: what descriptors share."""

    inode: Inode
    offset: int = 0
    append: bool = False


def record(program: Path, arguments: list[str], home: Path, log: Path) -> History:
    """Runs a program of the tests; what it did below `home`, which must be empty."""
    assert not any(home.iterdir())
    recorder = Recorder(home)
    for call in traced(program, arguments, log):
        recorder.take(call)
    return recorder.history


class Recorder:
    """Follows names, inodes and open files through a sequence of calls."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._tree: dict[Inode, dict[str, Inode]] = {ROOT: {}}
        self._sizes: dict[Inode, int] = {}
        self._files: dict[int, dict[int, _Open]] = {}  # by thread; threads share a table
        self._last: Inode = ROOT
        self.history = History()

    def take(self, call: Call) -> None:
        """Notes what a call has done."""
        handle = getattr(self, f"_{call.name.rstrip('0123456789').removesuffix('64')}", None)
        assert handle, f"{call.name} is not modelled"
        handle(call)

    # ── Names ────────────────────────────────────────────────────────────────

    def _openat(self, call: Call) -> None:
        path, flags = self._at(call, 0), call.arguments[2]
        assert "O_SYNC" not in flags, "O_SYNC is not modelled"
        assert "O_DSYNC" not in flags, "O_DSYNC is not modelled"
        if path is None or "O_TMPFILE" in flags:
            return
        inode = self._find(path)
        if inode is None:
            inode = self._new()
            self._rename_all([(path, inode)])
        elif "O_TRUNC" in flags and self._sizes.get(inode):
            self._note_size(inode, 0)
        self._table(call)[call.result] = _Open(inode, append="O_APPEND" in flags)

    def _mkdirat(self, call: Call) -> None:
        if path := self._at(call, 0):
            self._make_folder(path)

    def _mkdir(self, call: Call) -> None:
        if path := self._path(call.arguments[0]):
            self._make_folder(path)

    def _make_folder(self, path: Path) -> None:
        if path == self._home:
            return
        inode = self._new()
        self._tree[inode] = {}
        self._rename_all([(path, inode)])

    def _rename(self, call: Call) -> None:
        if call.name == "rename":
            old, new = (self._path(one) for one in call.arguments)
        else:
            old, new = self._at(call, 0), self._at(call, 2)
        assert (old is None) == (new is None), "a file came from elsewhere"
        if old is None or new is None or old == new:
            return
        inode, other = self._find(old), self._find(new)
        assert inode is not None
        exchanged = "RENAME_EXCHANGE" in call.arguments[-1]
        self._rename_all([(old, other if exchanged else None), (new, inode)])

    _renameat = _rename

    def _link(self, call: Call) -> None:
        old, new = (self._path(one) for one in call.arguments)
        if new is not None:
            assert old is not None
            self._rename_all([(new, self._find(old))])

    def _linkat(self, call: Call) -> None:
        assert self._at(call, 2) is None, "linkat is not modelled"

    def _symlink(self, call: Call) -> None:
        assert self._path(call.arguments[1]) is None, "symlinks are not modelled"

    def _symlinkat(self, call: Call) -> None:
        assert self._at(call, 1) is None, "symlinks are not modelled"

    def _unlink(self, call: Call) -> None:
        if path := self._path(call.arguments[0]):
            self._rename_all([(path, None)])

    _rmdir = _unlink

    def _unlinkat(self, call: Call) -> None:
        if path := self._at(call, 0):
            self._rename_all([(path, None)])

    # ── Content ──────────────────────────────────────────────────────────────

    def _write(self, call: Call) -> None:
        data = self._data(call)
        file = self._file(call)
        if file is None:
            self._listen(call, data)
            return
        start = self._sizes.get(file.inode, 0) if file.append else file.offset
        self._put(file.inode, start, data)
        file.offset = start + len(data)

    _writev = _write

    def _pwrite(self, call: Call) -> None:
        if file := self._file(call):
            place = 3  # after the descriptor, the data and their length
            self._put(file.inode, int(call.arguments[place]), self._data(call))

    _pwritev = _pwrite

    def _ftruncate(self, call: Call) -> None:
        if file := self._file(call):
            self._note_size(file.inode, int(call.arguments[1]))

    def _truncate(self, call: Call) -> None:
        if path := self._path(call.arguments[0]):
            inode = self._find(path)
            assert inode is not None
            self._note_size(inode, int(call.arguments[1]))

    def _fallocate(self, call: Call) -> None:
        if file := self._file(call):
            _, mode, start, length = call.arguments
            assert mode == "0", "only growing is modelled"
            end = int(start) + int(length)
            if end > self._sizes.get(file.inode, 0):
                self._note_size(file.inode, end)

    def _fsync(self, call: Call) -> None:
        number, path = _descriptor(call.arguments[0])
        file = self._table(call).get(number)
        inode = file.inode if file else self._find(path) if self._is_ours(path) else None
        if inode is not None:
            self._add(Sync(inode))

    _fdatasync = _fsync

    def _lseek(self, call: Call) -> None:
        if file := self._file(call):
            file.offset = call.result

    def _mmap(self, call: Call) -> None:
        path = _descriptor(call.arguments[4])[1]
        writable = "PROT_WRITE" in call.arguments[2] and "MAP_SHARED" in call.arguments[3]
        if writable and self._is_ours(path):
            assert path.name.endswith(_VOLATILE), f"{path} is written through a mapping"

    def _copy_file_range(self, call: Call) -> None:
        assert self._file(call, 2) is None, "copy_file_range is not modelled"

    def _splice(self, call: Call) -> None:
        assert self._file(call, 2) is None, "splice is not modelled"

    def _sendfile(self, call: Call) -> None:
        """Copies between files: the target has what the source has."""
        target, source = self._file(call), _descriptor(call.arguments[1])[1]
        if target is not None:
            with source.open("rb") as file:  # scenarios copy from files that do not change
                data = file.read()[target.offset : target.offset + call.result]
            self._put(target.inode, target.offset, data)
            target.offset += len(data)

    def _msync(self, call: Call) -> None:
        """Of the mapped index of SQLite's log at most, which is not modelled."""

    def _sync(self, call: Call) -> None:
        raise AssertionError(f"{call.name} is not modelled")

    _syncfs = _io_uring_setup = _sync

    # ── Descriptors and processes ────────────────────────────────────────────

    def _close(self, call: Call) -> None:
        self._table(call).pop(_descriptor(call.arguments[0])[0], None)

    def _dup(self, call: Call) -> None:
        self._table(call).pop(call.result, None)
        if file := self._file(call):
            self._table(call)[call.result] = file

    def _fcntl(self, call: Call) -> None:
        if call.arguments[1].startswith("F_DUPFD"):
            self._dup(call)

    def _clone(self, call: Call) -> None:
        table = self._table(call)
        shared = any("CLONE_FILES" in argument for argument in call.arguments)
        self._files[call.result] = table if shared else dict(table)

    _fork = _vfork = _clone

    def _chdir(self, call: Call) -> None:
        """Needs nothing: strace prints the folder that a relative path starts from."""

    _fchdir = _chdir

    # ── Looking things up ────────────────────────────────────────────────────

    def _table(self, call: Call) -> dict[int, _Open]:
        # A thread's first call can end before the call that started it; the first table is its.
        first = next(iter(self._files.values()), {})
        return self._files.setdefault(call.pid, first)

    def _file(self, call: Call, place: int = 0) -> _Open | None:
        return self._table(call).get(_descriptor(call.arguments[place])[0])

    def _is_ours(self, path: Path) -> bool:
        return path.is_relative_to(self._home)

    def _at(self, call: Call, place: int) -> Path | None:
        start = _descriptor(call.arguments[place])[1]
        path = start / _text(call.arguments[place + 1])
        return path if self._is_ours(path) else None

    def _path(self, argument: str) -> Path | None:
        path = Path(_text(argument))
        assert path.is_absolute(), path
        return path if self._is_ours(path) else None

    def _find(self, path: Path) -> Inode | None:
        inode: Inode | None = ROOT
        for name in path.relative_to(self._home).parts:
            inode = None if inode is None else self._tree.get(inode, {}).get(name)
        return inode

    def _new(self) -> Inode:
        self._last += 1
        return self._last

    # ── Noting it down ───────────────────────────────────────────────────────

    def _rename_all(self, names: Iterable[tuple[Path, Inode | None]]) -> None:
        entries = []
        for path, inode in names:
            folder = self._find(path.parent)
            assert folder is not None, path
            entries.append(Entry(folder, path.name, inode))
        for entry in entries:
            if entry.inode is None:
                self._tree[entry.folder].pop(entry.name, None)
            else:
                self._tree[entry.folder][entry.name] = entry.inode
        self.history.folders |= self._tree.keys()
        self._add(Names(tuple(entries)))

    def _put(self, inode: Inode, offset: int, data: bytes) -> None:
        self._sizes[inode] = max(self._sizes.get(inode, 0), offset + len(data))
        self._add(WriteTo(inode, offset, data))

    def _note_size(self, inode: Inode, size: int) -> None:
        self._sizes[inode] = size
        self._add(Truncate(inode, size))

    def _listen(self, call: Call, data: bytes) -> None:
        if _descriptor(call.arguments[0])[0] == 1:
            for line in data.decode("utf-8", "replace").splitlines():
                self._add(Say(line))

    def _data(self, call: Call) -> bytes:
        assert "..." not in call.arguments[1], "a write was too long to be recorded"
        if "iov_base" in call.arguments[1]:
            data = b"".join(_bytes(base) for base in _BASES.findall(call.arguments[1]))
        else:
            data = _bytes(call.arguments[1].strip('"'))
        assert len(data) >= call.result
        return data[: call.result]

    def _add(self, operation: Operation) -> None:
        self.history.operations.append(operation)


def _descriptor(argument: str) -> tuple[int, Path]:
    """The number and the path of a descriptor; what is deleted or no file has no path."""
    match = _FD.fullmatch(argument)
    assert match, argument
    number = -100 if match["number"] == "AT_FDCWD" else int(match["number"])
    path = match["path"] or ""
    named = path.startswith("\\x") and not match["deleted"]
    return number, Path(_bytes(path).decode("utf-8", "surrogateescape") if named else "/")


def _bytes(escaped: str) -> bytes:
    return bytes.fromhex(escaped.replace("\\x", ""))


def _text(argument: str) -> str:
    return _bytes(argument.strip('"')).decode("utf-8", "surrogateescape")
