"""What this process is, in words that may be shown to anybody."""

from __future__ import annotations

import os

UNNAMED = "a program"
"""What a process is called that runs no command of dowse."""

_command = UNNAMED


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def name_command(command: str) -> None:
    """Notes the command that this process runs, such as `dowse serve`; never its arguments."""
    global _command  # noqa: PLW0603  one process runs one command
    _command = command


def command_name() -> str:
    """The command that this process runs."""
    return _command
