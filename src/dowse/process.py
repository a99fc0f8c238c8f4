"""What this process is, in words that may be shown to anybody."""

from __future__ import annotations

UNNAMED = "a program"
"""What a process is called that runs no command of dowse."""

_command = UNNAMED


def name_command(command: str) -> None:
    """Notes the command that this process runs, such as `dowse serve`; never its arguments."""
    global _command  # noqa: PLW0603  one process runs one command
    _command = command


def command_name() -> str:
    """The command that this process runs."""
    return _command
