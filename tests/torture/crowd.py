"""The processes of a crowd around one index: readers, a writer, a watcher and a doctor.

Every note carries the number of its version in its title, its text and its code, so a hit that
mixes two versions cannot go unseen.
"""

from __future__ import annotations

import random
import re
import resource
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from dowse._project.engine import Engine
from dowse._project.indexing import watch_folders
from dowse._search.request import SearchRequest
from dowse._util.files import replace_file
from vaults import open_engine

NOTES = 12
_LEAST = 3  # searches of a reader and versions of a writer, however slow the machine is
_NUMBER = re.compile(r"version(\d+)")


def write_note(vault: Path, note: int, version: int) -> None:
    """Writes a version of a note, whole or not at all, as editors do."""
    text = (
        f"---\ntitle: Note {note} version{version}\n---\n# Note {note} version{version}\n\n"
        f"The lighthouse of note {note} has version{version}.\n\n"
        f"```python\nversion{version} = {note}\n```\n"
    )
    replace_file(vault / f"note-{note}.md", text.encode())


def read(engine: Engine, enough: Callable[[], bool], rng: random.Random) -> int:
    """Searches; the versions of a hit agree, and no document goes back to an older one."""
    seen: dict[str, int] = {}
    searches = 0
    while searches < _LEAST or not enough():
        for hit in engine.search(SearchRequest(f"lighthouse note {rng.randrange(NOTES)}")).hits:
            versions = {int(number) for number in _NUMBER.findall(f"{hit.title} {hit.text}")}
            assert len(versions) == 1, hit
            (version,) = versions
            assert version >= seen.get(hit.document, 0), (hit, seen)
            seen[hit.document] = version
        searches += 1
    return searches


def write(engine: Engine, enough: Callable[[], bool], rng: random.Random) -> int:
    """Edits some notes and updates the index, again and again."""
    (vault,) = engine.project.roots
    version = 1
    while version < _LEAST or not enough():
        version += 1
        for note in rng.sample(range(NOTES), 4):
            write_note(vault, note, version)
        engine.index(wait=60)
    return version


def watch(engine: Engine, enough: Callable[[], bool], _: random.Random) -> int:
    """Follows the folder at the same time, as `dowse watch` does."""
    stop = threading.Event()
    reports: list[object] = []
    timer = threading.Thread(target=lambda: _stop_when(enough, stop), daemon=True)
    timer.start()
    watch_folders(engine, reports.append, stop)
    return len(reports)


def _stop_when(enough: Callable[[], bool], stop: threading.Event) -> None:
    while not enough():
        stop.wait(0.05)
    stop.set()


def doctor(engine: Engine, enough: Callable[[], bool], _: random.Random) -> int:
    """Examines the index while others write."""
    looks = 0
    while not enough():
        findings = engine.check()
        assert not findings, findings
        looks += 1
    return looks


def main(role: str, folder: Path, seed: int) -> None:
    """Plays a role until a file says that it is enough; says how much was done, and the memory."""
    with open_engine(folder / "vault", folder / "index") as engine:
        engine.search(SearchRequest("lighthouse"))
        (folder / f"ready-{seed}").touch()
        done = {"read": read, "write": write, "watch": watch, "doctor": doctor}[role](
            engine, (folder / "enough").exists, random.Random(seed)
        )
    print(done, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
