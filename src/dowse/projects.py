"""Projects: named collections of roots, each with settings and an index of its own."""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from dowse.decoding import UNREADABLE, read_small, why_unreadable
from dowse.errors import BadSettings, NotFound, UsageError
from dowse.files import make_private_folder, replace_file
from dowse.locations import Locations
from dowse.privacy import secure
from dowse.read import Root
from dowse.store.embedded.lock import writer_lock
from dowse.types import Finding

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

LOCAL_FILE = "dowse.toml"
"""The settings file that may lie with the documents."""

ELSEWHERE = "elsewhere"
"""The folder below a project's that is never made: roots in it are on another machine."""

_NAME = re.compile(r"[^\W_][\w.-]{0,63}")
_INDEX = "index"  # the folder of the index in that of the project


@dataclass(frozen=True, slots=True)
class Project:
    """A named collection."""

    name: str
    folder: Path  # where dowse keeps its index and the user's settings for it
    roots: tuple[Path, ...]  # absolute; the first is the home of unprefixed ids

    @property
    def settings_file(self) -> Path:
        """What the user has set for this project, and its roots."""
        return self.folder / "project.toml"

    @property
    def index_folder(self) -> Path:
        """Where its index lies."""
        return self.folder / _INDEX

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
            named.append(Root(path, _free(path.stem or "root", taken) if named else ""))
        return named


_AbsolutePath = Annotated[
    str, msgspec.Meta(pattern=r"^(/|[A-Za-z]:[/\\])[^\x00]*$", max_length=4096)
]


@dataclass(frozen=True, slots=True)
class _ProjectTable:
    roots: Annotated[list[_AbsolutePath], msgspec.Meta(min_length=1, max_length=1000)]


@dataclass(frozen=True, slots=True)
class _ProjectFile:
    """What must be in a project.toml; the settings in it are read elsewhere."""

    project: _ProjectTable


class Projects:
    """All projects of a user."""

    def __init__(self, locations: Locations) -> None:
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
        return bool(_NAME.fullmatch(name)) and (self._folder / name / "project.toml").is_file()

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
        if name is None:
            name = self.free_name(roots[0].stem if roots[0].is_file() else roots[0].name)
        project = Project(self.check_new(name), self._folder / name, tuple(roots))
        self._save(project)
        return project

    def check_new(self, name: str) -> str:
        """The name, if a new project can have it; raises `UsageError` if not."""
        if name.casefold() in self._taken():
            raise UsageError(f"There is a project {name!r} already.", "Choose another name.")
        return _checked(name)

    def adopt(self, folder: Path, name: str) -> Project:
        """Takes in a project that was made in a folder beside the others, whole and at once."""
        target = self._folder / self.check_new(name)
        make_private_folder(self._folder)
        try:
            folder.rename(target)
        except OSError as error:
            raise UsageError(
                f"{target} cannot be made: {error.strerror}.", "Choose another name."
            ) from error
        return self._load(name)

    def extend(self, project: Project, roots: Sequence[Path]) -> Project:
        """The project with further roots."""
        new = [root for root in roots if root not in project.roots]
        extended = Project(project.name, project.folder, (*project.roots, *new))
        self._save(extended)
        return extended

    def rename(self, name: str, new_name: str) -> Project:
        """Gives a project another name."""
        project = self.get(name)
        if new_name.casefold() in self._taken() - {name.casefold()}:
            raise UsageError(f"There is a project {new_name!r} already.", "Choose another name.")
        with _undisturbed(project.folder):
            project.folder.rename(self._folder / _checked(new_name))
        return self._load(new_name)

    def remove(self, name: str) -> None:
        """Forgets a project and its index, also when its file is broken; documents stay."""
        folder = self._folder / self._known(name)
        # Out of sight at once, so that nothing of it is left to a later project of the same name.
        trash = self._folder.with_name(f"trash-{uuid.uuid4().hex}")
        with _undisturbed(folder):
            folder.rename(trash)
        for left in self._folder.parent.glob("trash-*"):
            shutil.rmtree(left, ignore_errors=True)

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

    def _taken(self) -> set[str]:
        return {file.parent.name.casefold() for file in self._folder.glob("*/project.toml")}

    def _found(self) -> Iterator[Project | BadSettings]:
        for file in sorted(self._folder.glob("*/project.toml")):
            try:
                yield self._load(file.parent.name)
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
                f"Fix it, or remove the project with: dowse project remove {name}",
            ) from error
        return Project(name, folder, tuple(Path(root) for root in table.roots))

    def _save(self, project: Project) -> None:
        secure(self._locations)
        make_private_folder(project.folder)
        update_toml(project.settings_file, "project.roots", [str(root) for root in project.roots])


def update_toml(path: Path, name: str, value: object | None) -> None:
    """Sets one value in a TOML file, or removes it, leaving all else as it stands."""
    import tomlkit  # noqa: PLC0415  only changes need it: tomllib reads, and starts faster

    section, _, option = name.partition(".")
    try:
        written = read_small(path).decode() if path.exists() else ""
        document = _parsed(written)
        table = document.setdefault(section, tomlkit.table())
        if not isinstance(table, MutableMapping):
            raise ValueError(f"{section} is no table")
    except UNREADABLE as error:
        raise BadSettings(
            f"{path} cannot be read: {why_unreadable(error)}.", "Fix or remove it."
        ) from error
    if value is None:
        table.pop(option, None)
    else:
        table[option] = value
    make_private_folder(path.parent)
    replace_file(path, tomlkit.dumps(document).encode())


def _parsed(written: str) -> TOMLDocument:
    import tomlkit  # noqa: PLC0415  as above
    from tomlkit.exceptions import TOMLKitError  # noqa: PLC0415

    try:
        return tomlkit.parse(written)
    except TOMLKitError as error:  # not all of them are a ValueError
        raise ValueError(str(error)) from error


def _undisturbed(folder: Path) -> AbstractContextManager[None]:
    """Keeps writers away from a project's index; raises `Locked` when one is at work."""
    index = folder / _INDEX
    return writer_lock(index, wait=0) if index.is_dir() else nullcontext()


def find_local_file(start: Path) -> Path | None:
    """The nearest dowse.toml in a folder or above it."""
    for folder in (start, *start.parents):
        if (folder / LOCAL_FILE).is_file():
            return folder / LOCAL_FILE
    return None


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a project.",
            "Use letters, digits, dots, dashes and underscores, beginning with a letter or digit.",
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
