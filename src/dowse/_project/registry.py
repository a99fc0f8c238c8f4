"""Projects: named collections of roots, each with settings and an index of its own."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import msgspec
from msgspec import Struct

from dowse._index.source.roots import Root
from dowse._model import Finding
from dowse._model.ports import IndexPlaces
from dowse._project.state import unfinished_run
from dowse._util.files import (
    UNREADABLE,
    Locations,
    locked,
    make_private_folder,
    move_folder,
    read_small,
    remove_folder,
    secure,
    sync_folder,
    update_file,
    why_unreadable,
)
from dowse.errors import BadSettings, Locked, NotFound, UsageError

LOCAL_FILE = "dowse.toml"
"""The settings file that may lie with the documents."""

ELSEWHERE = "elsewhere"
"""The folder below a project's that is never made: roots in it are on another machine."""

TRASH = "trash-"
"""What the name of a folder begins with that holds a removed project until it is deleted."""

ALL = "all"
"""What a call says for a project when it means every one of them; no project can be called so."""

_NAME = re.compile(r"(?=.{1,64}\Z)[^\W_][\w.-]*(?: [\w.-]+)*")
_LONGEST_DESCRIPTION = 500  # characters
_RUN_ENDS = 30.0  # seconds that a run is given to end when its project is removed
_BROKEN = ("", *(f"-{number}" for number in range(2, 100)))  # ends of the names of broken files
_ROOTS = "project.roots"  # where the file of a project says which folders it has


class Project(Struct, frozen=True):
    """A named collection."""

    name: str
    folder: Path  # where dowse keeps its index and the user's settings for it
    roots: tuple[Path, ...]  # absolute; the first is the home of unprefixed ids
    agreed: tuple[Path, ...] = ()  # those of the roots that only hold while a dowse.toml is trusted
    described: str = ""  # what the user says that is in it
    contexts: tuple[tuple[str, str], ...] = ()  # by path: what the user says of what is below it

    @property
    def typed(self) -> str:
        """Return its name as a shell takes it."""
        return quote(self.name)

    @property
    def settings_file(self) -> Path:
        """Return the file with what the user has set for this project, and its roots."""
        return self.folder / "project.toml"

    @property
    def own_roots(self) -> tuple[Path, ...]:
        """Return the roots that are written down with the project."""
        return tuple(root for root in self.roots if root not in self.agreed)

    def context_of(self, document: str) -> str:
        """Return what the user says of the paths that a document is below, the shortest first."""
        return " ".join(said for path, said in self.contexts if document.startswith(path))

    def is_elsewhere(self, root: Path) -> bool:
        """Tell whether a root stands for a folder of the machine that a project came from."""
        # Not below its own folder: a project may have been renamed since.
        return root.parent.name == ELSEWHERE and root.is_relative_to(self.folder.parent)

    @property
    def named_roots(self) -> list[Root]:
        """Return the roots with the names that ids of further roots start with."""
        named: list[Root] = []
        for path in self.roots:
            name = _free_name(path.stem or "root", {root.name for root in named}) if named else ""
            named.append(Root(path, name, self.is_elsewhere(path), noted=True))
        return named


_AbsolutePath = Annotated[
    str, msgspec.Meta(pattern=r"^(/|[A-Za-z]:[/\\])[^\x00]*$", max_length=4096)
]


class _ProjectTable(Struct, frozen=True):
    roots: Annotated[list[_AbsolutePath], msgspec.Meta(min_length=1, max_length=1000)]
    description: Annotated[str, msgspec.Meta(max_length=_LONGEST_DESCRIPTION)] = ""
    contexts: dict[str, Annotated[str, msgspec.Meta(max_length=_LONGEST_DESCRIPTION)]] = {}


class _ProjectFile(Struct, frozen=True):
    """What must be in a project.toml; `dowse._config.schema` reads the settings in it."""

    project: _ProjectTable


class Projects:
    """All projects of a user: each is a folder with a project.toml and an index."""

    def __init__(self, locations: Locations, indexes: IndexPlaces) -> None:
        self.indexes = indexes
        self._locations = locations
        self.folder = locations.projects

    # ── Reading ──────────────────────────────────────────────────────────────

    def read(self) -> tuple[list[Project], list[Finding]]:
        """Read all projects, by name; say of those that cannot be read what to do about each."""
        found: list[Project] = []
        broken: list[Finding] = []
        for name in sorted(self._names()):
            try:
                found.append(self._load(name))
            except BadSettings as error:
                broken.append(Finding(error.message, error.hint))
        return found, broken

    def all(self) -> list[Project]:
        """List every project that can be read, by name."""
        return self.read()[0]

    def broken(self) -> list[Finding]:
        """List the projects that cannot be read, and what to do about each."""
        return self.read()[1]

    def knows(self, name: str) -> bool:
        """Tell whether there is a project of this name, readable or not."""
        return bool(_NAME.fullmatch(name)) and name in self._names()

    def get(self, name: str) -> Project:
        """Return the project of this name; raise `NotFound` or `BadSettings` when there is none."""
        return self._load(self._known(name))

    def _known(self, name: str) -> str:
        if not self.knows(name):
            known = ", ".join(project.name for project in self.all()) or "none yet"
            raise NotFound(
                f"There is no project {name!r}.", f"Known: {known}. Add one: dowse project add PATH"
            )
        return name

    def _names(self) -> set[str]:
        """Return the names of all projects, also of those whose file is lost: their index is here.

        A folder without a project.toml is no project. What is no folder, or cannot be entered, is
        one: it would otherwise vanish without a word.
        """
        try:
            entries = [one.name for one in self.folder.iterdir() if _claims_to_be_one(one)]
        except FileNotFoundError:
            entries = []
        except OSError as error:
            place = quote(str(self.folder))
            raise BadSettings(
                f"{self.folder} cannot be read: {error.strerror}.",
                f"Move it away with: mv {place} {place}.broken",
            ) from error
        return {*filter(_NAME.fullmatch, entries), *self.indexes.holding(self.folder)}

    def _load(self, name: str) -> Project:
        folder = self.folder / name
        file = folder / "project.toml"
        try:
            table = msgspec.toml.decode(read_small(file), type=_ProjectFile).project
        except UNREADABLE as error:
            raise BadSettings(
                f"{file} cannot be read: {why_unreadable(error)}.",
                _advice(folder, has_roots=bool(self.indexes.roots(folder))),
            ) from error
        roots = tuple(Path(root) for root in table.roots)
        contexts = tuple(sorted(table.contexts.items()))
        return Project(name, folder, roots, described=table.description, contexts=contexts)

    # ── Changing ─────────────────────────────────────────────────────────────

    def add(self, roots: Sequence[Path], name: str | None = None) -> Project:
        """Make a project over these roots; the name is taken from the first one's folder."""
        for root in roots:
            if not root.exists():
                raise NotFound(f"{root} does not exist.", "Name a folder or a file that does.")
        roots = [Path(os.path.realpath(root)) for root in roots]
        with self._alone():
            if name is None:
                name = self.free_name(roots[0].stem if roots[0].is_file() else roots[0].name)
            project = Project(self.check_new(name), self.folder / name, tuple(roots))
            update_toml(project.settings_file, _ROOTS, [str(root) for root in roots])
        return project

    def check_new(self, name: str, former: str = "") -> str:
        """Return the name if a project can have it now; raise `UsageError` if not.

        `former` is the name of the project that is to be called so.
        """
        if name.casefold() in self._taken() - {former.casefold()}:
            raise UsageError(f"There is a project {name!r} already.", "Choose another name.")
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"{name!r} cannot be the name of a project.",
                "Use letters, digits, dots, dashes, underscores and single blanks, beginning with a"
                " letter or digit.",
            )
        if name.casefold() == ALL:
            raise UsageError(
                f"{name!r} cannot be the name of a project: it means all of them.",
                "Choose another.",
            )
        return name

    def adopt(self, folder: Path, name: str) -> Project:
        """Take in a project that was made in another folder, whole and at once."""
        target = self.folder / name
        try:
            with self._alone():
                self.check_new(name)
                move_folder(folder, target)
        except OSError as error:
            raise UsageError(
                f"{target} cannot be made: {error.strerror}.", "Choose another name."
            ) from error
        return self._load(name)

    def extend(self, project: Project, roots: Sequence[Path]) -> Project:
        """Give a project further roots."""
        new = [os.path.realpath(root) for root in roots]

        def extended(known: list[str] | None) -> list[str]:
            # As the file has them now: another process may have added some.
            return list(dict.fromkeys([*(known or map(str, project.roots)), *new]))

        change_toml(project.settings_file, _ROOTS, extended)
        return self._load(project.name)

    def describe(self, name: str, text: str, path: str = "") -> Project:
        """Keep what the user says of a project, or of a path in it; an empty text takes it back."""
        project, description = self.get(name), " ".join(text.split())
        if len(description) > _LONGEST_DESCRIPTION:
            raise UsageError(
                f"The description has {len(description)} characters.",
                f"Use {_LONGEST_DESCRIPTION} at most.",
            )
        if path:
            contexts = {**dict(project.contexts), path.removeprefix("./"): description}
            said = {one: text for one, text in contexts.items() if text}
            update_toml(project.settings_file, "project.contexts", said or None)
        else:
            update_toml(project.settings_file, "project.description", description or None)
        return self._load(name)

    def rename(self, name: str, new_name: str) -> Project:
        """Give a project another name."""
        project = self.get(name)
        with self._alone(), self.indexes.undisturbed(project.folder):
            move_folder(project.folder, self.folder / self.check_new(new_name, former=name))
        return self._load(new_name)

    def move(self, name: str, folder: Path) -> Project:
        """Give a project the folder that its own has been moved to: that which is gone."""
        project, folder = self.get(name), Path(os.path.realpath(folder))
        if not folder.exists():
            raise NotFound(f"{folder} does not exist.", "Name the folder as it is called now.")
        gone = [root for root in project.roots if not root.exists()] or project.roots
        if len(gone) > 1:
            raise UsageError(
                f"It is not clear which of the {len(gone)} folders of {name} has become {folder}.",
                f"Write it in the place of the former one into {project.settings_file}.",
            )
        roots = [folder if root == gone[0] else root for root in project.roots]
        update_toml(project.settings_file, _ROOTS, [str(root) for root in dict.fromkeys(roots)])
        return self._load(name)

    def remove(self, name: str) -> None:
        """Forget a project and its index, also when its file is broken; documents stay."""
        folder = self.folder / self._known(name)
        # Out of sight at once, so that nothing of it is left to a later project of the same name.
        trash = self.folder.with_name(f"{TRASH}{uuid.uuid4().hex}")
        with self._alone():
            try:
                with self.indexes.undisturbed(folder):
                    move_folder(folder, trash)
            except Locked:
                run = unfinished_run(folder)
                if run is None or not run.is_running:
                    raise
                # A run, of `dowse serve` say, ends when the file of its project is gone.
                file, aside = folder / "project.toml", folder / "project.toml.removed"
                file.rename(aside)
                try:
                    with self.indexes.undisturbed(folder, _RUN_ENDS):
                        move_folder(folder, trash)
                except BaseException:
                    aside.rename(file)
                    raise
        self.indexes.remove(trash)
        for left in self.folder.parent.glob(f"{TRASH}*"):
            remove_folder(left)

    def restore(self, name: str, roots: Sequence[Path] = ()) -> Project:
        """Write the file of a project again, over these roots or those that its index knows.

        What is in the file now is kept next to it. Raise `UsageError` when the file can be read,
        or nothing says which folders the project has.
        """
        folder = self.folder / self._known(name)
        with suppress(BadSettings):
            self._load(name)
            raise UsageError(f"The project {name!r} can be read.", "There is nothing to restore.")
        found = [os.path.realpath(root) for root in roots] or self.indexes.roots(folder)
        if not found:
            raise UsageError(
                f"The index of {name!r} does not say which folders it was made of.",
                f"Name them: dowse project restore {quote(name)} PATH",
            )
        file = folder / "project.toml"
        try:
            if file.is_file() and not file.is_symlink() and file.stat().st_size == 0:
                file.unlink()
            elif os.path.lexists(file):
                places = (file.with_suffix(f".toml.broken{end}") for end in _BROKEN)
                # Only a former file is replaced.
                file.rename(
                    next(one for one in places if one.is_file() or not os.path.lexists(one))
                )
            sync_folder(folder)
        except OSError as error:
            raise BadSettings(
                f"{file} cannot be replaced: {error.strerror}.", _advice(folder, has_roots=True)
            ) from error
        update_toml(file, _ROOTS, found)
        return self._load(name)

    def free_name(self, text: str) -> str:
        """Make a name from the text that is not taken yet."""
        return _free_name(
            re.sub(r"[^\w.-]+", "-", text).strip("-._")[:60] or "notes", self._taken()
        )

    def _taken(self) -> set[str]:
        return {name.casefold() for name in self._names()}

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from adding, renaming and removing projects meanwhile."""
        make_private_folder(self.folder)
        secure(self._locations)
        with locked(self.folder / "projects"):  # a lock that no project can be called
            yield


def closest(projects: Iterable[Project], path: Path) -> Project | None:
    """Return the project whose root holds the path most closely; None when none does."""
    holding = [
        (len(root.parts), project)
        for project in projects
        for root in project.roots
        if path.is_relative_to(root)
    ]
    return max(holding, key=lambda pair: pair[0])[1] if holding else None


def find_local_file(start: Path) -> Path | None:
    """Find the nearest dowse.toml in a folder or above it."""
    for folder in (start, *start.parents):
        if os.path.isfile(folder / LOCAL_FILE):  # noqa: PTH113  also in a folder that is closed
            return folder / LOCAL_FILE
    return None


def _free_name(name: str, taken: set[str]) -> str:
    if name.casefold() not in {one.casefold() for one in taken}:
        return name
    return next(
        candidate
        for number in range(2, len(taken) + 3)
        if (candidate := f"{name}-{number}").casefold() not in {one.casefold() for one in taken}
    )


# ── What can be where the folder or the file of a project should be ──────────


def _claims_to_be_one(folder: Path) -> bool:
    try:
        (folder / "project.toml").lstat()
    except OSError as error:  # else no folder, a link that leads to itself, or not permitted
        return not isinstance(error, FileNotFoundError)
    return True


def _advice(folder: Path, *, has_roots: bool) -> str:
    """Say how to repair a project whose file cannot be read; its index may have the roots."""
    file, name = folder / "project.toml", quote(folder.name)
    if not os.path.isdir(folder):  # noqa: PTH112  also where a link leads to itself
        return f"Forget it with: dowse project remove {name}"
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return f"Allow yourself to enter it with: chmod u+rwx {quote(str(folder))}"
    if file.is_file() and not os.access(file, os.R_OK):
        return f"Allow yourself to read it with: chmod u+rw {quote(str(file))}"
    if has_roots:
        return f"Write it again with: dowse project restore {name}"
    return (
        f"Write it again with: dowse project restore {name} PATH,"
        f" or forget it with: dowse project remove {name}"
    )


# ── Changing one value of a TOML file ────────────────────────────────────────


def update_toml(path: Path, name: str, value: object | None) -> None:
    """Set one value in a TOML file, or remove it, leaving all else as it is.

    Concurrent changes wait for each other; each survives a power cut once it is made.
    """
    change_toml(path, name, lambda _: value)


def change_toml(path: Path, name: str, change: Callable[[Any], object | None]) -> None:
    """Set one value in a TOML file to what `change` makes of it; None stands for no value."""
    import tomlkit.exceptions  # noqa: PLC0415  only changes need it: tomllib starts faster

    section, _, option = name.partition(".")

    def changed(before: bytes | None) -> bytes:
        document = tomlkit.parse((before or b"").decode("utf-8"))
        table = document.setdefault(section, tomlkit.table())
        if not isinstance(table, MutableMapping):
            raise ValueError(f"{section} is not a table")
        value = change(table.get(option))
        if value is None:
            table.pop(option, None)
        else:
            table[option] = value
        return tomlkit.dumps(document).encode("utf-8")

    unfit: tuple[type[Exception], ...] = (tomlkit.exceptions.TOMLKitError, *UNREADABLE)
    try:
        update_file(path, changed)
    except OSError as error:
        raise BadSettings(
            f"{path} cannot be changed: {error}.", "Check its permissions, and the disk."
        ) from error
    except unfit as error:
        raise BadSettings(
            f"{path} cannot be read: {why_unreadable(error)}.", "Fix or remove it."
        ) from error
