"""Watching real files; every wait is for an event, with a time-out only against hanging."""

import queue
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dowse._index.options import ReadOptions
from dowse._index.source.roots import Root
from dowse._index.source.walk import FLOOD, MASS, EventFilter, watch
from dowse._model import Event
from dowse.errors import DowseError

Plant = Callable[..., Path]
PATIENCE = 30  # seconds; only a failing test ever waits so long


class Watcher:
    """A watch in a thread, whose calls can be waited for."""

    def __init__(self, *roots: Root, debounce: float = 0.05) -> None:
        self.batches: queue.Queue[frozenset[Path]] = queue.Queue()
        self.notes: queue.Queue[str] = queue.Queue()
        self.failure: BaseException | None = None
        self._stop = threading.Event()
        self._roots, self._debounce = roots, debounce
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        def announce(event: Event) -> None:
            self.notes.put(event.note)

        try:
            watch(
                self._roots,
                ReadOptions(),
                self.batches.put,
                stop=self._stop,
                debounce=self._debounce,
                announce=announce,
            )
        except BaseException as error:  # noqa: BLE001  the test looks at it
            self.failure = error

    def next(self) -> frozenset[Path]:
        return self.batches.get(timeout=PATIENCE)

    def until(self, *paths: Path) -> set[Path]:
        """Everything that is told until all of these paths have been."""
        told: set[Path] = set()
        while not set(paths) <= told:
            told |= self.next()
        return told

    def note(self) -> str:
        return self.notes.get(timeout=PATIENCE)

    def end(self) -> None:
        self._stop.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


Start = Callable[..., Watcher]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts watches and ends them; the first batch, the roots themselves, is already taken."""
    started: list[Watcher] = []

    def begin(*roots: Root, debounce: float = 0.05) -> Watcher:
        watcher = Watcher(*roots, debounce=debounce)
        started.append(watcher)
        assert watcher.next() == {root.path for root in roots}
        return watcher

    yield begin
    for watcher in started:
        watcher.end()


def test_new_changed_and_removed_files_are_reported(plant: Plant, start: Start) -> None:
    folder = plant("a.md", "b.md")
    watcher = start(Root(folder))
    plant("new.md")
    assert watcher.until(folder / "new.md") == {folder / "new.md"}
    plant(**{"a.md": "changed"})
    assert watcher.until(folder / "a.md") == {folder / "a.md"}
    (folder / "b.md").unlink()
    assert watcher.until(folder / "b.md") == {folder / "b.md"}


def test_a_rename_says_both_names(plant: Plant, start: Start) -> None:
    folder = plant("a.md")
    watcher = start(Root(folder))
    (folder / "a.md").rename(folder / "b.md")
    assert watcher.until(folder / "a.md", folder / "b.md") == {folder / "a.md", folder / "b.md"}


def test_a_folder_that_is_renamed_moved_in_or_removed_is_reported(
    plant: Plant, start: Start, tmp_path: Path
) -> None:
    folder = plant("v1.2/deep/a.md")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.md").touch()
    watcher = start(Root(folder))
    (folder / "v1.2").rename(folder / "v2")
    watcher.until(folder / "v1.2", folder / "v2")
    outside.rename(folder / "moved")
    watcher.until(folder / "moved")
    (folder / "moved").rename(outside)
    watcher.until(folder / "moved")


def test_a_tree_that_appears_at_once_is_reported_with_its_top(plant: Plant, start: Start) -> None:
    folder = plant("a.md")
    watcher = start(Root(folder))
    plant("x/y/z/deep.md")
    assert folder / "x" in watcher.until(folder / "x")


def test_what_an_editor_leaves_behind_and_what_is_ignored_is_not_reported(
    plant: Plant, start: Start
) -> None:
    folder = plant("a.md", "build/x.md", **{".gitignore": "build/\n*.draft.md"})
    watcher = start(Root(folder))
    for passing in ("4913", "a.md~", ".a.md.swp", "#a.md#", ".#a.md", "a.md.tmp", "a.md.tmp.77"):
        plant(passing)
        (folder / passing).unlink()
    plant("x.png", "build/x.md", "build/y.md", "b.draft.md", ".hidden/c.md", "node_modules/d.md")
    plant(".git/index.md", "~$a.docx")
    plant("last.md")
    assert watcher.until(folder / "last.md") == {folder / "last.md"}


def test_writing_next_to_and_renaming_over_is_one_change(plant: Plant, start: Start) -> None:
    folder = plant("a.md")
    watcher = start(Root(folder))
    plant(**{".a.md.swp": "new"})
    (folder / ".a.md.swp").rename(folder / "a.md")
    assert watcher.until(folder / "a.md") == {folder / "a.md"}


@pytest.mark.parametrize(
    "rules", [".gitignore", "sub/.dowseignore", "dowse.toml", ".git/info/exclude"]
)
def test_new_rules_concern_the_whole_root(plant: Plant, start: Start, rules: str) -> None:
    folder = plant("a.md", "sub/b.md", ".git/info/x", "node_modules/x.md")
    watcher = start(Root(folder))
    plant("node_modules/.gitignore", **{rules: "# rules"})
    assert watcher.next() == {folder}


def test_very_many_changes_concern_the_whole_root(plant: Plant, start: Start) -> None:
    folder = plant("a.md", "many/x.md")
    watcher = start(Root(folder), debounce=1)  # long enough for a slow machine
    for number in range(5000):
        (folder / f"many/{number}.md").touch()
    watcher.until(folder)


def test_just_enough_changes_for_a_walk_over_the_root(plant: Plant) -> None:
    folder = plant("a.md")
    changes = EventFilter([Root(folder)], ReadOptions())
    events = [f"{folder}/{number}.md" for number in range(MASS + 1)]
    assert changes.sift(events) == {folder}
    assert len(changes.sift(events[1:])) == MASS


def test_a_flood_of_events_concerns_all_roots(plant: Plant) -> None:
    folder = plant("a.md")
    changes = EventFilter([Root(folder)], ReadOptions())
    ignored = [f"{folder}/node_modules/{number}.md" for number in range(FLOOD)]
    assert changes.sift(ignored) == set()
    assert changes.sift([*ignored, f"{folder}/node_modules/x.md"]) == {folder}


def test_a_root_that_goes_and_comes_back(plant: Plant, start: Start) -> None:
    folder = plant("one/a.md", "two/b.md")
    one, two = Root(folder / "one"), Root(folder / "two", "two")
    watcher = start(one, two)
    two.path.rename(folder / "away")
    assert "gone" in watcher.note()
    plant("one/c.md")
    told = watcher.until(one.path)  # watching began anew, so all of it may have changed
    assert not any(path.is_relative_to(two.path) for path in told)
    plant("two/b.md")
    assert "back" in watcher.note()
    watcher.until(two.path)
    plant("two/d.md")
    watcher.until(two.path / "d.md")


def test_a_root_that_is_removed_file_by_file(plant: Plant, start: Start) -> None:
    folder = plant("a/b/c.md", "d.md")
    watcher = start(Root(folder))
    shutil.rmtree(folder)
    assert "gone" in watcher.note()
    plant("e.md")
    watcher.until(folder)


def test_a_root_that_is_swapped_for_another(plant: Plant, start: Start) -> None:
    folder = plant("one/a.md", "other/b.md")
    watcher = start(Root(folder / "one"))
    (folder / "one").rename(folder / "old")
    (folder / "other").rename(folder / "one")
    watcher.until(folder / "one")
    plant("one/c.md")
    watcher.until(folder / "one/c.md")


def test_all_roots_may_be_missing_at_first(folder: Path) -> None:
    watcher = Watcher(Root(folder / "later"))
    assert "gone" in watcher.note()
    assert watcher.batches.empty()
    (folder / "later").mkdir()
    assert watcher.next() == {folder / "later"}
    watcher.end()


def test_a_single_file_is_watched_through_replacements(plant: Plant, start: Start) -> None:
    folder = plant("notes.md", "other.md")
    watcher = start(Root(folder / "notes.md"))
    plant("other.md", **{"notes.md": "changed text"})
    assert watcher.next() == {folder / "notes.md"}
    plant(beside="yet another text")
    (folder / "beside").rename(folder / "notes.md")
    assert watcher.next() == {folder / "notes.md"}


def test_what_a_link_shows_is_watched_too(plant: Plant, start: Start) -> None:
    folder = plant(".store/a.md", "b.md")
    (folder / "store").symlink_to(".store")
    watcher = start(Root(folder))
    plant(**{".store/a.md": "changed"})
    told = watcher.next()
    assert told <= {folder, folder / "store/a.md"}


def test_a_link_made_later_is_reported(plant: Plant, start: Start) -> None:
    folder = plant(".store/a.md", "b.md")
    watcher = start(Root(folder))
    (folder / "store").symlink_to(".store")
    watcher.until(folder / "store")


def test_where_the_system_cannot_watch_it_looks_again_and_again(
    plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = plant("a.md")
    polls: list[bool | None] = []

    def refuse(*_: object, force_polling: bool | None, **__: object) -> Iterator[set[object]]:
        polls.append(force_polling)
        raise OSError(28, "OS file watch limit reached")

    monkeypatch.setattr("watchfiles.watch", refuse)
    watcher = Watcher(Root(folder))
    assert "watch limit" in watcher.note()
    watcher.end()
    assert polls == [None, True]
    assert isinstance(watcher.failure, DowseError)
    assert "dowse index" in watcher.failure.hint


def test_a_failure_of_the_listener_ends_the_watch(plant: Plant) -> None:
    def fail(_: frozenset[Path]) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        watch([Root(plant("a.md"))], ReadOptions(), fail, stop=threading.Event(), debounce=0.05)
