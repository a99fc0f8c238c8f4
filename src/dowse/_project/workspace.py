"""A user's dowse: their projects, their settings, and which project a call means."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dowse._config.schema import (
    Layer,
    Settings,
    check_value,
    combine,
    find_setting,
    from_environment,
    parse_text,
    read_file,
)
from dowse._config.trust import LocalFile, Trust, read_local
from dowse._embed.open import open_embedder, rerankers
from dowse._embed.options import EmbedOptions
from dowse._index.source.roots import Root
from dowse._model import Announce, silent
from dowse._model.ports import Analyzer, Embedder, Reranker, Store, Writer
from dowse._project.all_projects import AllProjects
from dowse._project.engine import Engine, Parts
from dowse._project.introduction import introduction
from dowse._project.registry import ALL, Project, Projects, closest, find_local_file, update_toml
from dowse._store.store import Places
from dowse._text.analyzer import TextAnalyzer
from dowse._util.files import Locations, locations, secure
from dowse._util.messages import counted
from dowse._util.process import cores
from dowse.errors import DowseError, NotFound, Refused, UsageError

INDEXES = Places()
"""Where projects keep their indexes. Another store is chosen here."""

OpenStore = Callable[[Analyzer], Store]
"""Opens the store of an index whose terms this analyzer makes."""

# More searches at once only slow each other down: over 20,000 chunks, 16 clients of a server on two
# cores had 64 to 70 answers per second with three at once, and 53 with eight.
_COMPUTING = threading.BoundedSemaphore(cores() + 1)
_LOOKED_AT = 50  # files of a project at most, to see whether its folder has moved


class Given(Struct, frozen=True):
    """Parts that a program brings along, used instead of what the settings ask for."""

    embedder: Embedder | None = None
    reranker: Reranker | None = None
    store: OpenStore | None = None


class ResolvedSettings(Struct, frozen=True):
    """The settings that hold for a call, where they come from, and what was withheld."""

    settings: Settings
    origins: Mapping[str, str]  # by setting: where a value that is no default comes from
    local: LocalFile | None = None  # the dowse.toml that was read

    @property
    def withheld(self) -> tuple[str, ...]:
        """Return what a dowse.toml asks for without the user's consent."""
        return self.local.withheld if self.local else ()


class Workspace:
    """A user's projects and settings; every project is opened here."""

    def __init__(self, where: Locations | None = None, given: Given | None = None) -> None:
        self.locations = where or locations()
        self.given = given or Given()  # every project is opened with these
        self.projects = Projects(self.locations, INDEXES)
        self.trust = Trust(self.locations.trust_file)

    def open(
        self,
        project: Project,
        overrides: Mapping[str, Any] | None = None,
        announce: Announce = silent,
        *,
        fetch: bool = False,
        chosen: ResolvedSettings | None = None,
    ) -> Engine:
        """Open a project with the settings that hold for it, or with those that were `chosen`.

        With `fetch`, weights that are missing are fetched on first use.
        """
        if fetch:  # it is opened to be written
            secure(self.locations)
        chosen = chosen or self.settings(project, overrides)
        project = self._with_agreed_roots(project, chosen.local)
        return Engine(
            project, chosen.settings, self.parts(project, chosen.settings, announce, fetch=fetch)
        )

    def parts(
        self,
        project: Project,
        settings: Settings,
        announce: Announce = silent,
        *,
        fetch: bool = False,
        offline: bool = False,
    ) -> Parts:
        """Make the parts of the settings, except those given; with `fetch`, weights are fetched.

        With `offline`, nothing is asked over the network in order to know which model it is.
        """
        given, embed, cache_dir = self.given, settings.embed, self.locations.cache
        analyzer, embedder = TextAnalyzer(settings.keyword), given.embedder
        store = (
            given.store(analyzer)
            if given.store
            else INDEXES.store(project.folder, analyzer, announce, settings.store)
        )
        if embedder is None and embed.provider != "none":
            embedder = open_embedder(embed, cache_dir, announce, fetch=fetch, offline=offline)

        def default() -> Embedder | None:
            # There is no model to compare a given embedder with.
            return None if given.embedder else open_embedder(EmbedOptions(), cache_dir, fetch=False)

        # Searches that may wait for others need no limit.
        waits = given.embedder or given.store or settings.store.url or embed.provider == "endpoint"
        writer: Writer | None = None
        if settings.answer.endpoint_url:
            from dowse._search.writer import EndpointWriter  # noqa: PLC0415  it loads a client of HTTP

            writer = EndpointWriter(settings.answer)
        fetched = settings.rerank.model
        return Parts(
            store,
            analyzer,
            embedder,
            rerankers(embed, embedder, cache_dir, announce, given.reranker, fetched=fetched),
            writer,
            default,
            nullcontext() if waits else _COMPUTING,
        )

    def settings(
        self,
        project: Project | None,
        overrides: Mapping[str, Any] | None = None,
        local: LocalFile | None = None,
    ) -> ResolvedSettings:
        """Resolve the settings that hold for a project, or for none but with a dowse.toml."""
        if project is not None:
            local = self.local_file(project.roots[0])
        given = Layer("arguments", overrides or {})
        settings, origins = combine([*self._layers(project, local), given])
        if local and local.narrows:
            own, _ = combine([*self._layers(project, None), given])
            settings = replace(settings, read=replace(settings.read, own=own.read))
        return ResolvedSettings(settings, origins, local)

    def wishes(self, local: LocalFile) -> tuple[str, ...]:
        """List what a dowse.toml asks for, with the files that the user's own rules leave out.

        It walks over the folders that the file concerns.
        """
        from dowse._index.source.walk import walk  # noqa: PLC0415  most calls need none

        if not local.narrows:
            return local.withheld
        concerned: list[Project | None] = [
            project
            for project in self.projects.all()
            if find_local_file(project.roots[0]) == local.path
        ]
        found: list[Path] = []
        for project in concerned or [None]:
            found += walk(
                project.named_roots if project else [Root(root) for root in local.roots],
                self.settings(project, local=local).settings.read,
            ).withheld
        files = counted(len(found), "file") + " that your own settings leave out"
        read = (f"read {files}, such as {min(found)}",) if found else ()
        return (*local.withheld, *local.narrows, *read) if found or local.withheld else ()

    def change_setting(self, name: str, text: str | None, project: Project | None) -> Path:
        """Set a setting for the user or a project, or take it back; return the changed file.

        Raise `BadSettings` when the value does not fit, also together with the others.
        """
        secure(self.locations)
        file = project.settings_file if project else self.locations.settings_file
        if text is None:
            if name not in read_file(file, ignored=("project",)).values:
                raise NotFound(f"{name} is not set in {file}.", "See: dowse config show")
            update_toml(file, name, None)
            return file
        value = check_value(name, parse_text(find_setting(name), text), "arguments")
        others = [  # it must fit the other values, whatever the old one was
            Layer(layer.origin, {one: what for one, what in layer.values.items() if one != name})
            for layer in self._layers(
                project, self.local_file(project.roots[0]) if project else None
            )
        ]
        combine([*others, Layer("arguments", {name: value})])
        update_toml(file, name, list(value) if isinstance(value, tuple) else value)
        return file

    def _layers(self, project: Project | None, local: LocalFile | None) -> list[Layer]:
        layers = [read_file(self.locations.settings_file)]
        layers += [local.layer] if local else []
        layers += [read_file(project.settings_file, ignored=("project",))] if project else []
        return [*layers, from_environment()]

    def local_file(self, start: Path) -> LocalFile | None:
        """Read the dowse.toml that is nearest above a path."""
        if path := find_local_file(start):
            return read_local(path, self.trust, read_file(self.locations.settings_file).values)
        return None

    def description(self, project: Project) -> str:
        """Describe a project: as the user says, as its dowse.toml says, or as its README begins.

        Empty when nothing says it.
        """
        return introduction(project.described, project.roots[0])

    def find(self, name: str | None, start: Path) -> Project | None:
        """Find the project that a search means; None when it means all projects.

        It is found by its name, or by the folder in which the call is made.
        """
        name = name or os.environ.get("DOWSE_PROJECT")
        if name:
            means_all = name == ALL and not self.projects.knows(ALL)
            return None if means_all else self.projects.get(name)
        known = self.projects.all()
        found = self._around(start, known)  # also without any: a dowse.toml may be wrong
        if not known:
            raise NotFound("There is no project yet.", "Make one with: dowse index PATH")
        return found or (known[0] if len(known) == 1 else None)

    def open_to_search(
        self, name: str | None, start: Path, open_project: Callable[[Project], Engine]
    ) -> Engine | AllProjects:
        """Open what a search means, with `open_project`: one project, or all of them."""
        project = self.find(name, start)
        return open_project(project) if project else AllProjects(self.projects, open_project)

    def select(self, name: str | None, start: Path) -> Project:
        """Find the one project that a call means; raise `UsageError` when it could be several."""
        found = self.find(name, start)
        if found is None and (name or os.environ.get("DOWSE_PROJECT")):
            return self.projects.get(ALL)  # it raises: no project is called so
        if found is None:
            listed = ", ".join(project.name for project in self.projects.all())
            raise UsageError(
                f"{start} belongs to no project.",
                f"Choose one with -p: {listed}. Or make one: dowse index PATH",
            )
        return found

    def _around(self, start: Path, known: Sequence[Project]) -> Project | None:
        """Find the project that a folder belongs to, by its roots or by the dowse.toml above."""
        found = closest(known, start)
        if found is None and (local := self.local_file(start)):
            roots = set(local.roots)
            found = next((project for project in known if roots & set(project.roots)), None)
        return found

    def select_for_indexing(
        self, name: str | None, paths: Sequence[Path], start: Path
    ) -> tuple[Project, list[Path]]:
        """Find the project that is to be indexed, or make or extend it, and the paths in it.

        No paths means all of the project.
        """
        for path in paths:
            if not path.exists():
                raise NotFound(f"{path} does not exist.", "Name a folder or a file that does.")
        name = name or os.environ.get("DOWSE_PROJECT")
        if name:
            found = self.projects.get(name) if self.projects.knows(name) else None
        else:
            found = self._around(paths[0] if paths else start, self.projects.all())
        project = found or self._create(name, paths, start)
        outside = [
            path for path in paths if not any(path.is_relative_to(root) for root in project.roots)
        ]
        if outside:
            project = self.projects.extend(project, outside)
        if found is None:
            return project, []
        whole = not paths or any(path in project.roots for path in paths)
        return project, [] if whole else list(paths)

    def find_moved(self, folder: Path) -> Project | None:
        """Find the project whose own folder is gone, and most of whose files are in this one."""
        known = self.projects.all()
        for project in [] if closest(known, folder) else known:
            root = project.roots[0]
            if root.exists() or project.is_elsewhere(root):
                continue
            with (
                suppress(DowseError),
                self.open(project) as engine,
                engine.read(fitting=False) as reader,
            ):
                files = reader.catalogue.files()
                some = sorted(one for one in files if not one.startswith("@"))
                some = some[:: len(some) // _LOOKED_AT + 1]
                if sum(_has_size(folder / one, files[one].size) for one in some) > len(some) / 2:
                    return project
        return None

    def _create(self, name: str | None, paths: Sequence[Path], start: Path) -> Project:
        if not paths and start in {Path.home().resolve(), Path(start.anchor)}:
            raise Refused(
                f"{start} holds more than documents.",
                "Name the folder that is to be indexed: dowse index PATH",
            )
        local = self.local_file(paths[0] if paths else start)
        if local and not local.strange and (not paths or list(paths) == [local.path.parent]):
            return self.projects.add(
                local.roots, name or self.projects.free_name(local.name or local.path.parent.name)
            )
        return self.projects.add(list(paths) or [start], name)

    def _with_agreed_roots(self, project: Project, local: LocalFile | None) -> Project:
        """Add what the project's dowse.toml reads elsewhere, for as long as the user agrees.

        These roots are never written down with the project, so that they go when consent goes.
        """
        if local is None or not local.outside:
            return project
        # A link that has taken the place of a root may lead to what the user has agreed to.
        real = [Path(os.path.realpath(root)) for root in project.roots]
        roots = [
            there if there in local.outside else root
            for root, there in zip(project.roots, real, strict=True)
        ]
        if not {*local.roots, *local.outside} & set(roots):
            return project
        roots = list(dict.fromkeys([*roots, *local.outside]))
        agreed = tuple(root for root in roots if root not in project.roots)
        return replace(project, roots=tuple(roots), agreed=agreed)


def _has_size(file: Path, size: int) -> bool:
    try:
        return file.stat().st_size == size
    except OSError:
        return False
