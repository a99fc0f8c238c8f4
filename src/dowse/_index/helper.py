"""A process that prepares files for the one that has started it.

It reads requests from its standard input and answers on its standard output, both pickled: only
these two processes have the pipes.
"""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, cast

from msgspec import Struct
from msgspec.structs import replace

from dowse._index.batches import prepare
from dowse._index.chunk.options import ChunkOptions
from dowse._index.file_batch import FileBatch, Prepared
from dowse._index.source.options import ReadOptions
from dowse._model import FileState, SourceFile
from dowse._model.ports import Analyzer
from dowse._text.analyzer import terms_of
from dowse._util.child import begin
from dowse._util.clock import Clock

Share = tuple[Sequence[SourceFile], Mapping[str, FileState]]
"""Some files, and what the index knows of them."""

_GREETING = f"{Path(__file__).parent}\n".encode()  # both processes run the same code
# Seconds for some files, to which the time for a slow one is added; without an answer by then, the
# process is ended and its files are prepared elsewhere.
_PATIENCE = 20.0
# Of the pipes, and of pickling an analyzer that is not dowse's own.
_FAILURES = (OSError, EOFError, ValueError, TypeError, AttributeError, pickle.PickleError)


def _command() -> list[str]:
    # -P: the current folder may be anybody's, nothing is imported from it.
    return [sys.executable, "-P", "-m", "dowse._index.helper"]


class Helper:
    """The process, as the one sees it that has started it; one thread uses it at a time."""

    def __init__(self, read: ReadOptions, chunk: ChunkOptions, analyzer: Analyzer) -> None:
        self._options = read, chunk, analyzer
        self._greeted = False
        self._process: subprocess.Popen[bytes] | None = None
        with suppress(OSError):
            self._process = subprocess.Popen(  # noqa: S603  dowse's own module
                _command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )

    def prepare(self, share: Share) -> Prepared | None:
        """What is made of some files; None when the process cannot do it."""
        if self._process is None or self._process.poll() is not None:
            return None
        # A process that is stopped, or waits for a disk, neither answers nor ends.
        overdue = threading.Timer(_PATIENCE + self._options[0].file_seconds, self.kill)
        overdue.daemon = True
        overdue.start()
        try:
            return self._ask(self._process, share)
        except _FAILURES:
            self.kill()  # half an answer may be on its way
            return None
        finally:
            overdue.cancel()

    def kill(self) -> None:
        """Ends the process, whatever it does."""
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """Closes the pipes to a process that was killed."""
        if self._process is not None:
            with suppress(OSError), self._process:  # leaving it waits, too
                pass

    def _ask(self, process: subprocess.Popen[bytes], share: Share) -> Prepared:
        requests, answers = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        if not self._greeted:
            if answers.readline() != _GREETING:
                raise EOFError("it is no helper")
            _send(self._options, requests)
            self._greeted = True
        _send(share, requests)
        made: Prepared = pickle.load(answers)  # noqa: S301  from the process started above
        return made


class _Work(Struct):
    """The work of one request."""

    batch: FileBatch
    read: ReadOptions
    chunk: ChunkOptions


def main() -> None:
    """Prepares files until there is no request."""
    requests, answers = begin()
    gc.disable()  # what is made of a file has no cycles
    answers.write(_GREETING)
    answers.flush()
    with suppress(EOFError):
        read, chunk, analyzer = pickle.load(requests)  # noqa: S301  from the parent
        while True:
            share = pickle.load(requests)  # noqa: S301  from the parent
            _send(_analyzed(prepare(_Work(FileBatch(*share), read, chunk)), analyzer), answers)


def _analyzed(made: Prepared, analyzer: Analyzer) -> Prepared:
    """What was made of some files, with the terms, which storing would have to find otherwise."""
    clock = Clock()
    with clock.timing("store"):
        put = [replace(one, terms=terms_of(one.chunked, analyzer)) for one in made.put]
    return made._replace(put=put, seconds={**made.seconds, **clock.seconds})


def _send(record: object, stream: IO[bytes]) -> None:
    pickle.dump(record, stream, pickle.HIGHEST_PROTOCOL)
    stream.flush()


if __name__ == "__main__":
    main()
