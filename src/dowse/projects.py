"""Projects: named collections of roots, each with settings and an index of its own."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tomlkit
from tomlkit.exceptions import TOMLKitError

from dowse.errors import BadSettings, NotFound, UsageError
from dowse.locations import Locations
from dowse.read import Root

LOCAL_FILE = "dowse.toml"
"""The settings file that may lie with the documents."""

_NAME = re.compile(r"[^\W_][\w.-]{0,63}")


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
        return self.folder / "index"

    @property
    def named_roots(self) -> list[Root]:
        """The roots with the names that ids of further roots start with."""
        named: list[Root] = []
        for path in self.roots:
            taken = {root.name for root in named}
            named.append(Root(path, _free(path.stem or "root", taken) if named else ""))
        return named


class Projects:
    """All projects of a user."""

    def __init__(self, locations: Locations) -> None:
        self._folder = locations.projects

    def all(self) -> list[Project]:
        """Every project, by name."""
        files = sorted(self._folder.glob("*/project.toml"))
        return [self._load(file.parent.name) for file in files]

    def get(self, name: str) -> Project:
        """The project of this name."""
        if not (self._folder / name / "project.toml").is_file() or not _NAME.fullmatch(name):
            known = ", ".join(project.name for project in self.all()) or "none yet"
            raise NotFound(
                f"There is no project {name!r}.", f"Known: {known}. Add one: dowse project add PATH"
            )
        return self._load(name)

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
        taken = {project.name.casefold() for project in self.all()}
        if name is None:
            name = _free(_slug(roots[0].stem if roots[0].is_file() else roots[0].name), taken)
        elif name.casefold() in taken:
            raise UsageError(f"There is a project {name!r} already.", "Choose another name.")
        project = Project(_checked(name), self._folder / name, tuple(roots))
        self._save(project)
        return project

    def extend(self, project: Project, roots: Sequence[Path]) -> Project:
        """The project with further roots."""
        new = [root for root in roots if root not in project.roots]
        extended = Project(project.name, project.folder, (*project.roots, *new))
        self._save(extended)
        return extended

    def rename(self, name: str, new_name: str) -> Project:
        """Gives a project another name."""
        project = self.get(name)
        target = self._folder / _checked(new_name)
        if target.exists():
            raise UsageError(f"There is a project {new_name!r} already.", "Choose another name.")
        project.folder.rename(target)
        return self._load(new_name)

    def remove(self, name: str) -> None:
        """Forgets a project and its index; the documents stay as they are."""
        shutil.rmtree(self.get(name).folder)

    def _load(self, name: str) -> Project:
        folder = self._folder / name
        try:
            document = tomlkit.parse((folder / "project.toml").read_text("utf-8"))
            roots = tuple(Path(str(root)) for root in document["project"]["roots"])  # type: ignore[index, union-attr]
        except (OSError, TOMLKitError, KeyError, TypeError) as error:
            raise BadSettings(
                f"{folder / 'project.toml'} cannot be read: {error}.",
                f"Mend it, or remove the project with: dowse project remove {name}",
            ) from error
        return Project(name, folder, roots)

    def _save(self, project: Project) -> None:
        project.folder.mkdir(parents=True, exist_ok=True)
        update_toml(project.settings_file, "project.roots", [str(root) for root in project.roots])


def update_toml(path: Path, name: str, value: object | None) -> None:
    """Sets one value in a TOML file, or removes it, leaving all else as it stands."""
    section, _, option = name.partition(".")
    try:
        document = tomlkit.parse(path.read_text("utf-8")) if path.exists() else tomlkit.document()
    except (OSError, TOMLKitError) as error:
        raise BadSettings(f"{path} cannot be read: {error}.", "Mend or remove it.") from error
    table = document.setdefault(section, tomlkit.table())
    if value is None:
        table.pop(option, None)
    else:
        table[option] = value
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".new")
    temporary.write_text(tomlkit.dumps(document), "utf-8")
    temporary.replace(path)


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
