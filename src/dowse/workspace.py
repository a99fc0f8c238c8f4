"""A user's dowse: their projects, their settings, and which project a call means."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dowse.engine import Engine
from dowse.errors import NotFound, UsageError
from dowse.local import LocalFile, Trust, read_local
from dowse.locations import Locations, locations
from dowse.projects import Project, Projects, find_local_file
from dowse.settings import Layer, Settings, combine, from_environment, read_file
from dowse.types import Announce, silent
from dowse.wiring import assemble


@dataclass(frozen=True, slots=True)
class Chosen:
    """The settings that hold for a call, where they come from, and what was withheld."""

    settings: Settings
    origins: Mapping[str, str]  # by setting: where a value that is no default comes from
    withheld: tuple[str, ...]  # what a dowse.toml asks for without the user's consent


class Workspace:
    """Everything of one user's."""

    def __init__(self, where: Locations | None = None) -> None:
        self.locations = where or locations()
        self.projects = Projects(self.locations)
        self.trust = Trust(self.locations.trust_file)

    def open(
        self,
        project: Project,
        overrides: Mapping[str, Any] | None = None,
        announce: Announce = silent,
    ) -> Engine:
        """Opens a project with the settings that hold for it."""
        settings = self.settings(project, overrides).settings
        return Engine(project, settings, assemble(project, settings, self.locations, announce))

    def settings(
        self, project: Project | None, overrides: Mapping[str, Any] | None = None
    ) -> Chosen:
        """The settings that hold for a project, or for none."""
        layers = [read_file(self.locations.settings_file)]
        local = self.local_file(project.roots[0]) if project else None
        if local:
            layers.append(local.layer)
        if project:
            layers.append(read_file(project.settings_file, ignored=("project",)))
        layers += [from_environment(), Layer("arguments", overrides or {})]
        settings, origins = combine(layers)
        return Chosen(settings, origins, local.withheld if local else ())

    def local_file(self, start: Path) -> LocalFile | None:
        """The dowse.toml that lies nearest above a path."""
        path = find_local_file(start)
        return read_local(path, self.trust) if path else None

    def select(self, name: str | None, start: Path) -> Project:
        """The project that a call means, by name or by the folder it is made in."""
        project = self._find(name, start)
        if project is not None:
            return project
        known = self.projects.all()
        if len(known) == 1:
            return known[0]
        if not known:
            raise NotFound("There is no project yet.", "Make one with: dowse index PATH")
        listed = ", ".join(project.name for project in known)
        raise UsageError(
            f"{start} belongs to no project.", f"Choose one with -p: {listed}. Or: dowse index"
        )

    def select_for_indexing(
        self, name: str | None, paths: Sequence[Path], start: Path
    ) -> tuple[Project, list[Path]]:
        """The project that is to be indexed, made or extended on the fly, and the paths in it.

        No paths means all of the project.
        """
        for path in paths:
            if not path.exists():
                raise NotFound(f"{path} does not exist.", "Name a folder or a file that does.")
        project = self._find(name, paths[0] if paths else start, create=name)
        if project is None:
            project = self._create(name, paths, start)
            return project, []
        outside = [path for path in paths if not _holds(project, path)]
        if outside:
            project = self.projects.extend(project, outside)
        whole = not paths or any(path in project.roots for path in paths)
        return project, [] if whole else list(paths)

    def _find(self, name: str | None, start: Path, create: str | None = None) -> Project | None:
        name = name or os.environ.get("DOWSE_PROJECT")
        if name:
            exists = any(project.name == name for project in self.projects.all())
            return self.projects.get(name) if exists or not create else None
        found = self.projects.containing(start)
        local = self.local_file(start)
        if found is None and local:
            roots = set(local.roots)
            found = next((p for p in self.projects.all() if roots & set(p.roots)), None)
        return found

    def _create(self, name: str | None, paths: Sequence[Path], start: Path) -> Project:
        local = self.local_file(paths[0] if paths else start)
        if local and (not paths or paths[0].is_relative_to(local.path.parent)):
            chosen = name or local.name or local.path.parent.name
            taken = {project.name for project in self.projects.all()}
            return self.projects.add(local.roots, chosen if chosen not in taken else None)
        return self.projects.add(list(paths) or [start], name)


def _holds(project: Project, path: Path) -> bool:
    return any(path.is_relative_to(root) for root in project.roots)
