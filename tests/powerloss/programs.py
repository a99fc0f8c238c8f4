"""The programs whose disk is cut off: they say what they begin and what the user may rely on."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dowse._index import pipeline
from dowse._project.archive.import_ import import_project
from dowse._project.engine import Engine
from dowse._project.indexing import watch_folders
from dowse._project.workspace import Workspace
from dowse._util.files import Locations
from powerloss.promises import ABSENT, begin, done
from vaults import open_engine

INDEX = "index"  # the observable: which version of the folder the index holds
EMPTY = "empty"


def workspace_in(home: Path) -> Workspace:
    """A user's dowse whose files are all below one folder."""
    return Workspace(Locations(home / "config", home / "data", home / "cache"))


@contextmanager
def _changing(*changes: tuple[str, str]) -> Iterator[None]:
    for change in changes:
        begin(*change)
    yield
    for change in changes:
        done(*change)


def _engine(home: Path, folder: Path) -> Engine:
    return open_engine(folder, home)


def index(home: Path, folders: Path) -> None:
    """Indexes a folder, updates it, watches it, empties it, indexes it again and repairs it."""
    for version in ("v1", "v2"):
        with _changing((INDEX, version)), _engine(home, folders / version) as engine:
            engine.index()
    _watch(home, folders)
    with _changing((INDEX, EMPTY)), _engine(home, folders / "v3") as engine:
        engine.reset()
    with _changing((INDEX, "v3")), _engine(home, folders / "v3") as engine:
        engine.index()
    with _engine(home, folders / "v3") as engine:
        engine.repair()


def _watch(home: Path, folders: Path) -> None:
    """Watches a folder while its second version becomes the third."""
    live, stop, ready = folders / "live", threading.Event(), threading.Event()
    shutil.copytree(folders / "v2", live)
    with _changing((INDEX, "v3")), _engine(home, live) as engine:
        watching = threading.Thread(
            target=watch_folders,
            args=(engine, lambda _: stop.set(), stop, lambda _: ready.set()),
        )
        watching.start()
        ready.wait(0.5)
        _turn_into(live, folders / "v3")
        watching.join(60)
        engine.index()  # the watch may have seen the folder when it was half changed


def _turn_into(folder: Path, other: Path) -> None:
    for path in sorted(folder.rglob("*.md")):
        if not (other / path.relative_to(folder)).exists():
            path.unlink()
    shutil.copytree(other, folder, dirs_exist_ok=True)


def settings(home: Path, folders: Path) -> None:
    """Changes settings, adds, renames and removes projects, gives and takes back consent."""
    workspace = workspace_in(home)
    for number in (5, 6, 7):
        with _changing(("search.top_n", str(number))):
            workspace.change_setting("search.top_n", str(number), None)
    first, second = str(folders / "v1"), str(folders / "v2")
    with _changing(("project-one", first)):
        project = workspace.projects.add([folders / "v1"], "one")
    with _changing(("one.search.top_n", "9")):
        workspace.change_setting("search.top_n", "9", project)
    with _changing(("project-one", f"{first},{second}")):
        workspace.projects.extend(project, [folders / "v2"])
    with _changing(
        ("project-one", ABSENT), ("project-two", f"{first},{second}"), ("one.search.top_n", ABSENT)
    ):
        workspace.projects.rename("one", "two")
    for name in ("a", "b"):
        with _changing((f"trust-{name}", "yes")):
            workspace.trust.grant(folders / name / "dowse.toml", "digest")
    with _changing(("trust-a", ABSENT)):
        workspace.trust.revoke(folders / "a" / "dowse.toml")
    with _changing(("project-two", ABSENT)):
        workspace.projects.remove("two")


def transfer(home: Path, folders: Path) -> None:
    """Imports a project, and then a newer export in its place."""
    workspace = workspace_in(home)
    with _changing(("embed.provider", "none")):
        workspace.change_setting("embed.provider", "none", None)
    for version in ("v1", "v2"):
        with _changing((INDEX, version)):
            roots = [folders / version / "notes"]
            import_project(
                workspace, folders / f"{version}.dowse", name="notes", roots=roots, replace=True
            )


if __name__ == "__main__":
    pipeline._FILES = 3  # so that a small folder makes several batches
    os.environ["DOWSE_CONFIG_DIR"] = sys.argv[2]
    program = {"index": index, "settings": settings, "transfer": transfer}[sys.argv[1]]
    program(Path(sys.argv[2]), Path(sys.argv[3]))
