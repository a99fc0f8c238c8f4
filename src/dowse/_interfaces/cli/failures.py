"""Errors at the edge: one line that says what happened, one that says what to do, a number."""

from __future__ import annotations

import os

import click

from dowse._interfaces.cli.call import Call
from dowse._interfaces.cli.main import INTERRUPTED
from dowse._interfaces.cli.screen import OutputClosed, silence_streams
from dowse._util.masking import hide_secrets
from dowse.errors import DowseError

_CLOSED = 141  # the same for a reader that has gone away
_BUG = 70  # EX_SOFTWARE of sysexits.h


class Interrupted(DowseError):
    """The user pressed Ctrl-C."""

    exit_code = INTERRUPTED


def report(error: BaseException, call: Call) -> int:
    """Shows the user an error, and gives its exit code."""
    if isinstance(error, OutputClosed):
        silence_streams()
        return _CLOSED
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    if (call.verbose or os.environ.get("DOWSE_DEBUG")) and not isinstance(
        error, click.ClickException
    ):
        _show_traceback(error, call)
    failure = _as_failure(error)
    if call.json:
        call.write_json({"error": failure.message, "hint": failure.hint})
    else:
        _draw(failure, call)
    return failure.exit_code


def _show_traceback(error: BaseException, call: Call) -> None:
    import traceback  # noqa: PLC0415  most calls do not fail

    from dowse._interfaces.cli.draw.text import safe  # noqa: PLC0415  as above

    call.aside.write(safe(hide_secrets("".join(traceback.format_exception(error)))))


def _draw(failure: DowseError, call: Call) -> None:
    from dowse._interfaces.cli.draw.text import folded, line  # noqa: PLC0415  most calls do not fail

    width = call.aside.width
    call.out.flush()
    if failure.exit_code == INTERRUPTED and call.aside.is_terminal:
        call.aside.write("\r")  # over the ^C that the terminal shows
    call.aside.show(folded(line(("dowse: ", "bold red"), failure.message), width))
    if failure.hint:
        call.aside.show(folded(line(failure.hint), width))


def _as_failure(error: BaseException) -> DowseError:
    if isinstance(error, DowseError):
        return error
    if isinstance(error, (click.Abort, KeyboardInterrupt)):
        return Interrupted("Stopped.")
    if isinstance(error, click.ClickException):
        return _from_click(error)
    if isinstance(error, OSError):
        return DowseError(f"{error}.", "Check the disk and the permissions: dowse doctor")
    return _Bug(
        f"This is a bug: {type(error).__name__}: {error}",
        "Please report it, with what DOWSE_DEBUG=1 shows when you run the command again.",
    )


class _Bug(DowseError):
    exit_code = _BUG


def _from_click(error: click.ClickException) -> DowseError:
    failure = DowseError(error.format_message())
    failure.exit_code = error.exit_code
    context = getattr(error, "ctx", None)
    if context:
        failure.hint = f"See: {context.command_path} --help"
    return failure
