"""The console script: run a line, and end the process with its exit code."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from dowse._interfaces.cli.screen import prepare_streams

if TYPE_CHECKING:
    from dowse._project.wiring import Given

INTERRUPTED = 130
"""The exit code after Ctrl-C: 128 and the number of the signal."""


def run(arguments: Sequence[str], given: Given | None = None) -> int:
    """Runs a line, and gives its exit code; `given` are parts that projects are opened with."""
    prepare_streams()
    from dowse._interfaces.cli.app import run_here  # noqa: PLC0415  it loads click

    return run_here(arguments, given)


def main() -> NoReturn:
    """The console script."""
    ended = list[int]()
    atexit.register(_leave, ended)  # what is registered first runs last
    # A second thread of numpy's makes a search 3 to 8 % faster and takes twice the processor time,
    # because it keeps a core busy while it waits for the next product.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    code = run(sys.argv[1:])
    if code == INTERRUPTED:
        os._exit(code)  # after Ctrl-C nobody wants to wait for threads
    ended.append(code)
    sys.exit(code)


def _leave(ended: Sequence[int]) -> None:
    """Ends the process when threads have ended and all others have cleaned up.

    To take down every module as well takes a tenth of the time of a search.
    """
    if not ended:
        return
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        return  # the interpreter says what is wrong with a stream
    os._exit(ended[0])
