"""Write and read dowse's own files, and say where they are.

They are private to the user, and whole after a crash or a power cut. Small ones that others may
have written are read within bounds, and every failure is foreseen.
"""

from __future__ import annotations

import glob
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import msgspec
import platformdirs
from msgspec import Struct

from dowse.errors import Locked

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
_OTHERS = 0o077  # the rights of the group and of everybody
_PATIENCE = 30.0  # seconds that a change waits for those of other processes
_POLL = 0.01  # seconds between two looks at a lock: a change takes about as long
_MOMENTS = 2.0  # seconds that a move waits for those who have a file open


def make_private_folder(path: Path) -> None:
    """Create a folder, with its parents, that only the user can enter, whatever the umask."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        with suppress(FileExistsError):  # another process was faster
            folder.mkdir(PRIVATE_FOLDER)
            folder.chmod(PRIVATE_FOLDER)  # a strict umask may have taken the user's own rights
            sync_folder(folder.parent)


def create_private_file(path: Path) -> None:
    """Create an empty file that only the user can read, whatever the umask, unless it exists."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE_FILE))
        path.chmod(PRIVATE_FILE)  # a strict umask may have taken the user's own rights


def close_tree(folder: Path) -> None:
    """Make a folder and everything in it private, as far as it belongs to the user.

    For files that libraries create with the rights of the umask, and for those of older versions.
    """
    for path in _entries(folder):
        with suppress(OSError):  # somebody else's file, a read-only disk, or removed meanwhile
            if _rights(path) & _OTHERS:
                path.chmod(PRIVATE_FOLDER if path.is_dir() else PRIVATE_FILE)


def open_paths(folder: Path) -> list[Path]:
    """List what others can read or write in a folder, the folder itself included.

    What is in a folder that others cannot enter is safe, whatever its own rights.
    """
    return [path for path in _entries(folder, entered_by=_OTHERS) if _rights(path) & _OTHERS]


def _entries(folder: Path, entered_by: int = 0o777) -> Iterator[Path]:
    """List a folder and all in it, but no links, and nothing in folders that these rights close."""
    yield folder
    if _rights(folder) & entered_by & 0o111:
        with suppress(OSError):
            for entry in sorted(os.scandir(folder), key=lambda one: one.name):
                if entry.is_dir(follow_symlinks=False):
                    yield from _entries(Path(entry.path), entered_by)
                elif not entry.is_symlink():
                    yield Path(entry.path)


def _rights(path: Path) -> int:
    """Return the permission bits of a path; none for a link, or where there is nothing."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return 0
    return 0 if stat.S_ISLNK(mode) else stat.S_IMODE(mode)


def replace_file(path: Path, data: bytes, *, mode: int = PRIVATE_FILE) -> None:
    """Replace a file, or create it: afterwards, the new content survives a power cut."""
    with replacing(path, mode=mode) as file:
        file.write(data)


@contextmanager
def replacing(path: Path, *, mode: int = PRIVATE_FILE) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of another once the block has written it whole.

    Until then a reader, and the disk after a power cut, has the old content or the new one, never
    a part. The temporary file has a name of its own, so two writers do not share one.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}-")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            temporary.chmod(mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
        move(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(path.parent)


def update_file(path: Path, change: Callable[[bytes | None], bytes]) -> None:
    """Replace a file with what `change` makes of its content (None: there is no file yet).

    A lock next to the file makes concurrent updates wait for each other, so none is lost.
    """
    make_private_folder(path.parent)
    with locked(path):
        for left in path.parent.glob(f".{glob.escape(path.name)}-*"):  # by a killed process
            left.unlink(missing_ok=True)
        replace_file(path, change(path.read_bytes() if path.exists() else None))


@contextmanager
def locked(path: Path, busy: str = "", patience: float = _PATIENCE) -> Iterator[None]:
    """Keep other processes away from a path; raise `Locked` when one does not end.

    `busy` says what another process does; `patience` is in seconds.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415  reading takes no lock

    lock = FileLock(path.with_name(f".{path.name}.lock"), mode=PRIVATE_FILE)
    try:
        held = lock.acquire(timeout=patience, poll_interval=_POLL)
    except Timeout:
        raise Locked(
            busy or f"{path} is being changed by another process.",
            "Wait for it to end, or stop it.",
        ) from None
    with held:
        yield


def move(old: Path, new: Path) -> None:
    """Move a file or a folder; a file that is there is replaced.

    Windows moves and replaces nothing that is open. Readers have small files open for moments only,
    so this tries again for a while there.
    """
    deadline = time.monotonic() + _MOMENTS
    while True:
        try:
            old.replace(new)
        except PermissionError:
            if os.name != "nt" or time.monotonic() > deadline:
                raise
            time.sleep(_POLL)
        else:
            return


def move_folder(old: Path, new: Path) -> None:
    """Move a folder; afterwards, the move survives a power cut."""
    try:
        move(old, new)
    except PermissionError as error:
        if os.name != "nt":
            raise
        raise Locked(
            f"A process has files in {old} open.",
            "Stop it, such as dowse serve or dowse watch, and try again.",
        ) from error
    for parent in {new.parent, old.parent}:
        sync_folder(parent)


def remove_folder(folder: Path) -> None:
    """Remove a folder and what is in it, or what is in its place, as far as that is possible."""
    if folder.is_symlink() or not folder.is_dir():
        with suppress(OSError):
            folder.unlink()
    else:
        shutil.rmtree(folder, ignore_errors=True)
    sync_folder(folder.parent)


def folder_size(folder: Path) -> int:
    """Add up the bytes of all files below a folder, as far as they can be seen."""
    size = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # a file may be gone by now
                size += (Path(parent) / name).stat().st_size
    return size


def sync_tree(folder: Path) -> None:
    """Make all the files and folders below a folder survive a power cut."""
    for path in (*folder.rglob("*"), folder):
        if path.is_dir():
            sync_folder(path)
        else:
            with path.open("r+b") as file:  # Windows syncs only what may be written
                os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut: new, renamed and removed files."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    except OSError:
        return  # Windows cannot open a folder; a folder that cannot be read cannot be synced
    try:
        with suppress(OSError):  # some network file systems refuse to sync a folder
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def typed_path(path: Path) -> Path:
    """Return the absolute path that was typed, with its links."""
    return Path(os.path.abspath(os.path.expanduser(path)))  # noqa: PTH100, PTH111  as below


def real_path(path: Path) -> Path:
    """Return where a path that was typed leads, whether there is anything or not."""
    # Unlike pathlib's, these two take a ~name that is nobody's home, and links that go in circles.
    return Path(os.path.realpath(os.path.expanduser(path)))  # noqa: PTH111


# ── Reading small files that others may have written ─────────────────────────


LONGEST = 1_000_000
"""The most bytes of a file of settings, notes or consents."""

UNREADABLE: tuple[type[Exception], ...] = (
    OSError,
    ValueError,  # of JSON, TOML, UTF-8, and of a number with more digits than Python takes
    RecursionError,  # of lists in lists in lists
    OverflowError,
    msgspec.MsgspecError,
)
"""Whatever reading and decoding a file of TOML or JSON can raise."""

_SHOWN = 200  # characters


def read_small(path: Path, longest: int = LONGEST) -> bytes:
    """Read a regular file; raise `OSError` for a longer one, and for what is none.

    A pipe in its place does not block, and an endless file is not read to its end.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("it is not a regular file")
        data = file.read(longest + 1)
    if len(data) > longest:
        raise OSError(f"it has more than {longest:,} bytes")
    return data


def why_unreadable(error: Exception) -> str:
    """Say in a few words what one of `UNREADABLE` means."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, ValueError) and "digits" in str(error):
        return "a number in it has too many digits"
    return _clipped(str(error))


def shown(value: object) -> str:
    """Return a value that somebody has written as a message can show it, whatever it is."""
    try:
        return _clipped(repr(value))
    except (ValueError, RecursionError):  # it has too many digits or levels to be written out
        return f"a very large {type(value).__name__}"


def _clipped(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


# ── Where dowse keeps its own files, which of them are private, and whether they are


# None is among the user's documents. The index, the settings, the consents and the socket are for
# the user alone. Model weights are public, so a cache folder that exists keeps its rights: several
# users may share one. The copies of collections in it are private all the same.


class Locations(Struct, frozen=True):
    """The three folders of a user's dowse."""

    config: Path  # settings that the user has chosen
    data: Path  # projects and their indexes
    cache: Path  # model weights: whatever can be fetched again

    @property
    def settings_file(self) -> Path:
        """The user's own settings."""
        return self.config / "config.toml"

    @property
    def trust_file(self) -> Path:
        """Which checked-in settings the user has agreed to."""
        return self.config / "trusted.json"

    @property
    def projects(self) -> Path:
        """One folder per project."""
        return self.data / "projects"

    @property
    def evaluations(self) -> Path:
        """Copies of collections, each with an index."""
        return self.cache / "evaluations"


def locations() -> Locations:
    """Return the folders that DOWSE_*_DIR name, otherwise those of the XDG base directories."""
    return Locations(
        config=_folder("DOWSE_CONFIG_DIR", platformdirs.user_config_dir("dowse")),
        data=_folder("DOWSE_DATA_DIR", platformdirs.user_data_dir("dowse")),
        cache=_folder("DOWSE_CACHE_DIR", platformdirs.user_cache_dir("dowse")),
    )


def _folder(variable: str, default: str) -> Path:
    return Path(os.environ.get(variable) or default).expanduser().absolute()


def short_path(path: str | Path) -> str:
    """Write a path with ~ for the user's own folder."""
    try:
        below = Path(path).relative_to(Path.home()).as_posix()
        return "~" if below == "." else f"~/{below}"
    except (ValueError, RuntimeError):
        return str(path)


# ── Privacy ──────────────────────────────────────────────────────────────────


_HAS_RIGHTS = os.name == "posix"  # elsewhere, a user's own folders are private by their place
_NAMES = ("config.toml", "trusted.json", "projects", "serve.sock", "import-", "trash-")


def secure(where: Locations) -> None:
    """Close to others what an older version, or the user, has left open."""
    for tree in _private(where) if _HAS_RIGHTS else ():
        close_tree(tree)


def open_to_others(where: Locations) -> list[Path]:
    """List what other users of the machine can reach of what should be private."""
    return [
        path
        for tree in (_private(where) if _HAS_RIGHTS else ())
        if _is_reachable(tree)
        for path in open_paths(tree)
    ]


def _private(where: Locations) -> Iterator[Path]:
    """List the folders that are dowse's alone; of one that is shared, what is dowse's in it."""
    for folder in (where.config, where.data):
        content = list(folder.iterdir()) if folder.is_dir() else []
        own = [path for path in content if path.name.lstrip(".").startswith(_NAMES)]
        yield from [folder] if own == content else own
    yield where.evaluations


def _is_reachable(path: Path) -> bool:
    """Tell whether others may enter every folder above."""
    return all(folder.stat().st_mode & 0o011 for folder in path.parents if folder.exists())
