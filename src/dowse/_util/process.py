"""What this process is, in words that may be shown to anybody."""

from __future__ import annotations

import os
import sys

UNNAMED = "a program"
"""What a process is called that runs no command of dowse."""

_SYNCHRONIZE = 0x100000  # the right to wait for a process
_ACCESS_DENIED = 5
_WAIT_TIMEOUT = 0x102  # it has not ended

_command = UNNAMED


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def is_running(process: int) -> bool:
    """Say whether a process with this number runs, of whatever user."""
    if process <= 0:
        return False
    if sys.platform == "win32":  # where os.kill ends the process, whatever the signal
        import ctypes  # noqa: PLC0415  it takes milliseconds to load

        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        kernel.OpenProcess.restype = ctypes.c_void_p
        handle = kernel.OpenProcess(_SYNCHRONIZE, False, ctypes.c_uint32(process))
        if not handle:
            return ctypes.get_last_error() == _ACCESS_DENIED  # somebody else's
        waited = kernel.WaitForSingleObject(ctypes.c_void_p(handle), 0)
        kernel.CloseHandle(ctypes.c_void_p(handle))
        return bool(waited == _WAIT_TIMEOUT)
    try:
        os.kill(process, 0)
    except PermissionError:
        return True  # somebody else's
    except (OSError, OverflowError):
        return False
    return True


def name_command(command: str) -> None:
    """Notes the command that this process runs, such as `dowse serve`; never its arguments."""
    global _command  # noqa: PLW0603  one process runs one command
    _command = command


def command_name() -> str:
    """The command that this process runs."""
    return _command
