"""Projects: named collections of roots, each with settings and an index of its own."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Annotated

import msgspec
from msgspec import Struct

from dowse._index.source.roots import Root
from dowse._model import Finding
from dowse._model.ports import IndexPlaces
from dowse._project.broken import advice, claimed_names, move_aside
from dowse._project.toml_file import change_toml, update_toml
from dowse._util.decoding import UNREADABLE, read_small, why_unreadable
from dowse._util.files import (
    locked,
    make_private_folder,
    move_folder,
    remove_folder,
)
from dowse._util.locations import Locations
from dowse._util.privacy import secure
from dowse.errors import BadSettings, NotFound, UsageError

LOCAL_FILE = "dowse.toml"
"""The settings file that may lie with the documents."""

ELSEWHERE = "elsewhere"
"""The folder below a project's that is never made: roots in it are on another machine."""

TRASH = "trash-"
"""What the name of a folder begins with that holds a removed project until it is deleted."""

ALL = "all"
"""What a call says for a project when it means every one of them; no project can be called so."""

_NAME = re.compile(r"(?=.{1,64}\Z)[^\W_][\w.-]*(?: [\w.-]+)*")
_DESCRIPTION = "project.description"
_LONGEST_DESCRIPTION = 500  # characters
_ROOTS = "project.roots"  # where the file of a project says which folders it has


class Project(Struct, frozen=True):
    """A named collection."""

    name: str
    folder: Path  # where dowse keeps its index and the user's settings for it
    roots: tuple[Path, ...]  # absolute; the first is the home of unprefixed ids
    agreed: tuple[Path, ...] = ()  # those of the roots that only hold while a dowse.toml is trusted
    described: str = ""  # what the user says that is in it

    @property
    def typed(self) -> str:
        """Its name as a shell takes it."""
        return quote(self.name)

    @property
    def settings_file(self) -> Path:
        """What the user has set for this project, and its roots."""
        return self.folder / "project.toml"

    @property
    def own_roots(self) -> tuple[Path, ...]:
        """The roots that are written down with the project."""
        return tuple(root for root in self.roots if root not in self.agreed)

    def is_elsewhere(self, root: Path) -> bool:
        """Whether a root stands for a folder of the machine that the project was imported from."""
        # Not below its own folder: a project may have been renamed since.
        return root.parent.name == ELSEWHERE and root.is_relative_to(self.folder.parent)

    @property
    def named_roots(self) -> list[Root]:
        """The roots with the names that ids of further roots start with."""
        named: list[Root] = []
        for path in self.roots:
            taken = {root.name for root in named}
            name = _free(path.stem or "root", taken) if named else ""
            named.append(Root(path, name, self.is_elsewhere(path), noted=True))
        return named


_AbsolutePath = Annotated[
    str, msgspec.Meta(pattern=r"^(/|[A-Za-z]:[/\\])[^\x00]*$", max_length=4096)
]


class _ProjectTable(Struct, frozen=True):
    roots: Annotated[list[_AbsolutePath], msgspec.Meta(min_length=1, max_length=1000)]
    description: Annotated[str, msgspec.Meta(max_length=_LONGEST_DESCRIPTION)] = ""


class _ProjectFile(Struct, frozen=True):
    """What must be in a project.toml; the settings in it are read elsewhere."""

    project: _ProjectTable


class Projects:
    """All projects of a user."""

    def __init__(self, locations: Locations, indexes: IndexPlaces) -> None:
        self.indexes = indexes
        self._locations = locations
        self._folder = locations.projects

    def all(self) -> list[Project]:
        """Every project that can be read, by name."""
        return [found for found in self._found() if isinstance(found, Project)]

    def broken(self) -> list[Finding]:
        """The projects that cannot be read, and what to do about each."""
        errors = [found for found in self._found() if isinstance(found, BadSettings)]
        return [Finding(error.message, error.hint) for error in errors]

    def knows(self, name: str) -> bool:
        """Whether there is a project of this name, readable or not."""
        return bool(_NAME.fullmatch(name)) and name in self._names()

    def get(self, name: str) -> Project:
        """The project of this name."""
        return self._load(self._known(name))

    def containing(self, path: Path) -> Project | None:
        """The project whose root holds the path most closely."""
        holding = [
            (len(root.parts), project)
            for project in self.all()
            for root in project.roots
            if path.is_relative_to(root)
        ]
        return max(holding, key=lambda pair: pair[0])[1] if holding else None

    def add(self, roots: Sequence[Path], name: str | None = None) -> Project:
        """A new project over these roots; the name is taken from the first one's folder."""
        for root in roots:
            if not root.exists():
                raise NotFound(f"{root} does not exist.", "Name a folder or a file that does.")
        roots = [Path(os.path.realpath(root)) for root in roots]
        with self._alone():
            if name is None:
                name = self.free_name(roots[0].stem if roots[0].is_file() else roots[0].name)
            project = Project(self.check_new(name), self._folder / name, tuple(roots))
            update_toml(project.settings_file, _ROOTS, [str(root) for root in roots])
        return project

    def check_new(self, name: str) -> str:
        """The name, if a new project can have it; raises `UsageError` if not."""
        if name.casefold() in self._taken():
            raise UsageError(f"There is a project {name!r} already.", "Choose another name.")
        return _checked(name)

    def adopt(self, folder: Path, name: str) -> Project:
        """Takes in a project that was made in another folder, whole and at once."""
        target = self._folder / name
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
        """The project with further roots."""
        new = [os.path.realpath(root) for root in roots]

        def extended(known: list[str] | None) -> list[str]:
            # As the file has them now: another process may have added some.
            return list(dict.fromkeys([*(known or map(str, project.roots)), *new]))

        change_toml(project.settings_file, _ROOTS, extended)
        return self._load(project.name)

    def describe(self, name: str, text: str) -> Project:
        """Keeps what the user says that is in a project; an empty text takes it back."""
        project, said = self.get(name), " ".join(text.split())
        if len(said) > _LONGEST_DESCRIPTION:
            raise UsageError(
                f"The description has {len(said)} characters.",
                f"Use {_LONGEST_DESCRIPTION} at most.",
            )
        update_toml(project.settings_file, _DESCRIPTION, said or None)
        return self._load(name)

    def rename(self, name: str, new_name: str) -> Project:
        """Gives a project another name."""
        project = self.get(name)
        with self._alone(), self.indexes.undisturbed(project.folder):
            if new_name.casefold() in self._taken() - {name.casefold()}:
                what = f"There is a project {new_name!r} already."
                raise UsageError(what, "Choose another name.")
            move_folder(project.folder, self._folder / _checked(new_name))
        return self._load(new_name)

    def remove(self, name: str) -> None:
        """Forgets a project and its index, also when its file is broken; documents stay."""
        folder = self._folder / self._known(name)
        # Out of sight at once, so that nothing of it is left to a later project of the same name.
        trash = self._folder.with_name(f"{TRASH}{uuid.uuid4().hex}")
        with self._alone(), self.indexes.undisturbed(folder):
            move_folder(folder, trash)
        self.indexes.remove(trash)
        for left in self._folder.parent.glob(f"{TRASH}*"):
            remove_folder(left)

    def restore(self, name: str, roots: Sequence[Path] = ()) -> Project:
        """Writes the file of a project again, over these roots or those that its index knows.

        What is in the file now is kept next to it. Raises `UsageError` when the file can be read,
        or nothing says which folders the project has.
        """
        folder = self._folder / self._known(name)
        if self._is_readable(name):
            raise UsageError(f"The project {name!r} can be read.", "There is nothing to restore.")
        found = [os.path.realpath(root) for root in roots] or self.indexes.roots(folder)
        if not found:
            raise UsageError(
                f"The index of {name!r} does not say which folders it was made of.",
                f"Name them: dowse project restore {quote(name)} PATH",
            )
        file = folder / "project.toml"
        try:
            move_aside(file)
        except OSError as error:
            raise BadSettings(
                f"{file} cannot be replaced: {error.strerror}.", advice(folder, known=True)
            ) from error
        update_toml(file, _ROOTS, found)
        return self._load(name)

    def _is_readable(self, name: str) -> bool:
        try:
            self._load(name)
        except BadSettings:
            return False
        return True

    def free_name(self, text: str) -> str:
        """A name that is like the text and not taken yet."""
        return _free(_slug(text), self._taken())

    def _known(self, name: str) -> str:
        if not self.knows(name):
            known = ", ".join(project.name for project in self.all()) or "none yet"
            raise NotFound(
                f"There is no project {name!r}.", f"Known: {known}. Add one: dowse project add PATH"
            )
        return name

    def _names(self) -> set[str]:
        """All projects, also those whose file is lost: their index is still here."""
        try:
            named = {name for name in claimed_names(self._folder) if _NAME.fullmatch(name)}
        except OSError as error:
            place = quote(str(self._folder))
            raise BadSettings(
                f"{self._folder} cannot be read: {error.strerror}.",
                f"Move it away with: mv {place} {place}.broken",
            ) from error
        return named | set(self.indexes.holding(self._folder))

    def _taken(self) -> set[str]:
        return {name.casefold() for name in self._names()}

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keeps other processes from adding, renaming and removing projects meanwhile."""
        make_private_folder(self._folder)
        secure(self._locations)
        with locked(self._folder / "projects"):  # a lock that no project can be called
            yield

    def _found(self) -> Iterator[Project | BadSettings]:
        for name in sorted(self._names()):
            try:
                yield self._load(name)
            except BadSettings as error:
                yield error

    def _load(self, name: str) -> Project:
        folder = self._folder / name
        file = folder / "project.toml"
        try:
            table = msgspec.toml.decode(read_small(file), type=_ProjectFile).project
        except UNREADABLE as error:
            raise BadSettings(
                f"{file} cannot be read: {why_unreadable(error)}.",
                advice(folder, known=bool(self.indexes.roots(folder))),
            ) from error
        roots = tuple(Path(root) for root in table.roots)
        return Project(name, folder, roots, described=table.description)


def find_local_file(start: Path) -> Path | None:
    """The nearest dowse.toml in a folder or above it."""
    for folder in (start, *start.parents):
        if os.path.isfile(folder / LOCAL_FILE):  # noqa: PTH113  also in a folder that is closed
            return folder / LOCAL_FILE
    return None


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a project.",
            "Use letters, digits, dots, dashes, underscores and single blanks, beginning with a"
            " letter or digit.",
        )
    if name.casefold() == ALL:
        raise UsageError(
            f"{name!r} cannot be the name of a project: it means all of them.", "Choose another."
        )
    return name


def _slug(text: str) -> str:
    slug = re.sub(r"[^\w.-]+", "-", text).strip("-._")[:60]
    return slug or "notes"


def _free(name: str, taken: set[str]) -> str:
    if name.casefold() not in {one.casefold() for one in taken}:
        return name
    return next(
        candidate
        for number in range(2, len(taken) + 3)
        if (candidate := f"{name}-{number}").casefold() not in {one.casefold() for one in taken}
    )
