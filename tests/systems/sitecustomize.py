"""Makes Linux look to dowse like another system; Python imports this before anything else.

A process that is started with `PYTHONPATH=tests/systems` and `LIKE_SYSTEM=windows` or `macos` gives
the modules of dowse the `os`, `socket`, `signal` ... of that system. Python itself and all other
packages keep those of Linux: their wheels for that system are not here, and not in question.
"""

# pathlib would call what is replaced here.
# ruff: noqa: PTH112, PTH115, PTH118, PTH208

from __future__ import annotations

import builtins
import ctypes
import errno
import fcntl
import importlib
import os
import resource
import select
import shutil
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

_LACKING = {
    "windows": {
        "os": """
            chown chroot confstr copy_file_range ctermid environb eventfd fchdir fchmod fchown
            fdatasync fork forkpty fpathconf fstatvfs fwalk getegid getenvb geteuid getgid
            getgrouplist getgroups getloadavg getpgid getpgrp getpriority getrandom getresgid
            getresuid getsid getuid getxattr initgroups killpg lchown listxattr lockf major
            makedev memfd_create minor mkfifo mknod nice openpty pathconf pidfd_open pipe2
            posix_fadvise posix_fallocate posix_openpt posix_spawn posix_spawnp pread preadv
            pwrite pwritev readv register_at_fork removexattr sched_getaffinity sched_setaffinity
            sched_yield sendfile set_blocking setegid seteuid setgid setgroups setpgid
            setpriority setregid setresgid setresuid setreuid setsid setuid setxattr splice statvfs
            sync sysconf tcgetpgrp tcsetpgrp ttyname uname unshare wait wait3 wait4 waitid writev
            O_ASYNC O_CLOEXEC O_DIRECT O_DIRECTORY O_DSYNC O_EXLOCK O_LARGEFILE O_NDELAY O_NOATIME
            O_NOCTTY O_NOFOLLOW O_NONBLOCK O_PATH O_RSYNC O_SHLOCK O_SYNC O_TMPFILE
            ST_RDONLY ST_NOSUID WNOHANG WIFEXITED WEXITSTATUS WIFSIGNALED WTERMSIG
            EX_CANTCREAT EX_CONFIG EX_DATAERR EX_IOERR EX_NOINPUT EX_SOFTWARE EX_USAGE
        """,
        "socket": "AF_NETLINK AF_UNIX CMSG_LEN SO_PEERCRED recv_fds send_fds sethostname",
        "socketserver": """
            ForkingMixIn ForkingTCPServer ForkingUDPServer ThreadingUnixStreamServer
            UnixDatagramServer UnixStreamServer
        """,
        "signal": """
            SIGALRM SIGBUS SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGTTIN
            SIGTTOU SIGUSR1 SIGUSR2 SIGWINCH alarm pause pidfd_send_signal pthread_kill
            pthread_sigmask setitimer siginterrupt sigpending sigtimedwait sigwait
        """,
        "select": "EPOLLIN POLLHUP POLLIN epoll poll",
        "time": "clock_getres clock_gettime clock_settime pthread_getcpuclockid tzset",
        "mmap": "MAP_PRIVATE MAP_SHARED PROT_READ PROT_WRITE",
    },
    "macos": {
        "os": """
            copy_file_range eventfd fdatasync getrandom getresgid getresuid getxattr listxattr
            memfd_create pidfd_open pipe2 posix_fadvise posix_fallocate removexattr
            sched_getaffinity sched_setaffinity setresgid setresuid setxattr splice unshare
            O_DIRECT O_LARGEFILE O_NOATIME O_PATH O_RSYNC O_TMPFILE
        """,
        "socket": "AF_NETLINK SO_PEERCRED",
        "signal": "pidfd_send_signal sigtimedwait sigwaitinfo",
        "select": "epoll",
    },
}
"""What the modules of Python do not have there, by system and module."""

_NO_MODULES: dict[str, set[str]] = {
    "windows": {
        "crypt",
        "fcntl",
        "grp",
        "posix",
        "pty",
        "pwd",
        "readline",
        "resource",
        "syslog",
        "termios",
        "tty",
    },
    "macos": set(),
}
_LONGEST_SOCKET = 103  # bytes of a socket's path on macOS; Linux takes 107


class _View(ModuleType):
    """A module without some names, and with others; all else is that of Linux."""

    def __init__(self, module: ModuleType, lacking: set[str], own: Mapping[str, Any]) -> None:
        super().__init__(module.__name__, module.__doc__)
        self.__dict__.update({"_module": module, "_lacking": lacking, "_own": own})

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__["_own"]:
            return self.__dict__["_own"][name]
        if name in self.__dict__["_lacking"]:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r} here")
        return getattr(self.__dict__["_module"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["_module"], name, value)  # as `sys.stdout = ...` must


# ── Windows: what is open cannot be moved or removed ─────────────────────────


def _in_use(path: Any) -> bool:
    """Whether a process has the file open or mapped, or one that is in the folder."""
    folder, name = os.path.split(os.fspath(path))
    wanted = os.path.join(os.path.realpath(folder or "."), name)
    return any(one == wanted or one.startswith(f"{wanted}/") for one in _open_paths())


def _open_paths() -> Iterator[str]:
    for process in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):  # it has ended, or is somebody else's
            yield os.readlink(f"/proc/{process}/cwd")
            for number in os.listdir(f"/proc/{process}/fd"):
                with suppress(OSError):
                    yield os.readlink(f"/proc/{process}/fd/{number}")
            for line in Path(f"/proc/{process}/maps").read_bytes().splitlines():
                yield os.fsdecode(b"/" + line.partition(b"/")[2])


def _checked(function: Callable[..., Any], paths: int) -> Callable[..., Any]:
    """The function, which fails where one of its paths is in use."""

    def call(*given: Any, **options: Any) -> Any:
        for path in given[:paths]:
            if _in_use(path):
                message = "The process cannot access the file, another process uses it"
                raise PermissionError(errno.EACCES, message, os.fspath(path))
        if function is _rename and os.path.lexists(given[1]):
            raise FileExistsError(errno.EEXIST, "The file exists", os.fspath(given[1]))
        return function(*given, **options)

    return call


_rename = os.rename


def _cannot_link(*_: Any, **__: Any) -> None:
    raise OSError(errno.EINVAL, "A required privilege is not held by the client")


def _open_no_folder(event: str, given: tuple[Any, ...]) -> None:
    if event == "open" and isinstance(given[0], str) and os.path.isdir(given[0]):
        raise PermissionError(errno.EACCES, "Permission denied", given[0])


# ── Windows: calls that mean something else ──────────────────────────────────

_O_BINARY = 0x8000
_of_text: set[int] = set()  # descriptors of files that are not opened as bytes


def _open(path: Any, flags: int, mode: int = 0o777) -> int:
    number = os.open(path, flags & ~_O_BINARY, mode)
    (_of_text.discard if flags & _O_BINARY else _of_text.add)(number)
    return number


def _read(number: int, size: int) -> bytes:
    data = os.read(number, size)
    return data.partition(b"\x1a")[0].replace(b"\r\n", b"\n") if number in _of_text else data


def _fsync(number: int) -> None:
    if fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise OSError(errno.EBADF, "Bad file descriptor")
    os.fsync(number)


def _kill(process: int, number: int) -> None:
    """Ends the process, whatever the number."""
    del number
    os.kill(process, signal.SIGKILL)


def _select(*lists: Any) -> Any:
    if not all(isinstance(one, socket.socket) for some in lists[:3] for one in some):
        raise OSError(10038, "An operation was attempted on something that is not a socket")
    return select.select(*lists)


def _kernel32(*_: Any, **__: Any) -> SimpleNamespace:
    """The calls that ask whether a process runs; its number stands for its handle."""

    def open_process(_: int, __: bool, process: ctypes.c_uint32) -> int:
        return process.value if Path(f"/proc/{process.value}").exists() else 0

    return SimpleNamespace(
        OpenProcess=open_process,
        WaitForSingleObject=lambda *_: 0x102,
        CloseHandle=lambda _: 1,
    )


# ── macOS ────────────────────────────────────────────────────────────────────


def _open_no_proc(event: str, given: tuple[Any, ...]) -> None:
    if event == "open" and str(given[0]).startswith("/proc/"):
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", given[0])


def _short(function: Callable[..., Any]) -> Callable[..., Any]:
    """The method of a socket, which takes no long path."""

    def call(self: socket.socket, address: Any) -> Any:
        if self.family == socket.AF_UNIX and len(os.fsencode(address)) > _LONGEST_SOCKET:
            raise OSError("AF_UNIX path too long")
        return function(self, address)

    return call


def _setrlimit(which: int, limits: tuple[int, int]) -> None:
    if which == resource.RLIMIT_AS:
        raise ValueError("current limit exceeds maximum limit")
    resource.setrlimit(which, limits)


# ── Both ─────────────────────────────────────────────────────────────────────

_OWN: dict[str, dict[str, dict[str, Any]]] = {
    "windows": {
        "os": {
            "name": "nt",
            "supports_dir_fd": set(),
            "O_BINARY": _O_BINARY,
            "open": _open,
            "read": _read,
            "fsync": _fsync,
            "kill": _kill,
        },
        "sys": {"platform": "win32"},
        "select": {"select": _select},
        "ctypes": {"WinDLL": _kernel32, "get_last_error": lambda: 87},
    },
    "macos": {
        "sys": {"platform": "darwin"},
        "ctypes": {"CDLL": lambda _: SimpleNamespace()},
        "resource": {"setrlimit": _setrlimit},
    },
}
"""What the modules of Python have instead there."""


def _become(system: str) -> None:
    if system == "windows":
        for name, paths in {
            "rename": 2,
            "replace": 2,
            "unlink": 1,
            "remove": 1,
            "rmdir": 1,
        }.items():
            setattr(os, name, _checked(getattr(os, name), paths))
        os.symlink = _cannot_link
        shutil._use_fd_functions = False  # type: ignore[attr-defined]
        sys.addaudithook(_open_no_folder)
    else:
        for name in ("bind", "connect"):
            setattr(socket.socket, name, _short(getattr(socket.socket, name)))
        sys.addaudithook(_open_no_proc)
    views = {
        name: _View(
            importlib.import_module(name),
            set(_LACKING[system].get(name, "").split()),
            _OWN[system].get(name, {}),
        )
        for name in _LACKING[system].keys() | _OWN[system].keys()
    }
    usual = builtins.__import__

    def imported(name: str, scope: Any = None, *rest: Any, **named: Any) -> ModuleType:
        if scope and str(scope.get("__package__")).partition(".")[0] == "dowse":
            if name in _NO_MODULES[system]:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
            if name.partition(".")[0] in views:
                return views[name.partition(".")[0]]
        return usual(name, scope, *rest, **named)

    builtins.__import__ = imported  # type: ignore[assignment]  # it takes what Python's takes


if "LIKE_SYSTEM" in os.environ:
    _become(os.environ["LIKE_SYSTEM"])
