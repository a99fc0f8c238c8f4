"""Progress of a download that somebody else makes: how fast its folder grows."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

from dowse._model import Announce, Event
from dowse._util.files import folder_size

_INTERVAL = 0.2  # seconds between two looks


@contextlib.contextmanager
def announcing_download(
    folder: Path, total: int | None, note: str, announce: Announce
) -> Iterator[None]:
    """Announces, while the body runs, how many bytes have arrived in a folder."""
    done = threading.Event()
    announce(Event("download", 0, total, "bytes", note))
    watcher = threading.Thread(target=_watch, args=(folder, total, announce, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
    announce(Event("download", total or folder_size(folder), total, "bytes"))


def _watch(folder: Path, total: int | None, announce: Announce, done: threading.Event) -> None:
    while not done.wait(_INTERVAL):
        arrived = folder_size(folder)
        announce(Event("download", min(arrived, total or arrived), total, "bytes"))
