"""A file → a project, made in a folder of its own and moved to the others once it is whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from itertools import takewhile
from pathlib import Path
from typing import Any

from msgspec import Struct

from dowse._config.schema import Settings
from dowse._model import Announce, Counts, Stamp, context_of, silent
from dowse._model.ports import IndexWriter, Store
from dowse._model.versions import EMBEDDING_TEXT
from dowse._project.archive.archive import Archive, open_archive
from dowse._project.archive.carrying import carried, left_aside
from dowse._project.archive.exchange import put_in_place
from dowse._project.archive.records import Manifest
from dowse._project.archive.staging import staging
from dowse._project.archive.unpack import fill
from dowse._project.registry import ELSEWHERE, Project
from dowse._project.stamp import takes_vectors, wanted_stamp
from dowse._project.toml_file import update_toml
from dowse._project.wiring import Parts
from dowse._project.workspace import Workspace
from dowse._util.files import replace_file
from dowse.errors import BadSettings, Damaged, DowseError, Refused, UsageError

_MOST_ROOTS = 1000
_LONGEST_NAME = 200  # bytes; file systems take 255, and an ending is added


class Imported(Struct, frozen=True):
    """What an import brought."""

    project: Project
    counts: Counts
    notices: tuple[str, ...]  # what could not be brought, and how to change that


def import_project(
    workspace: Workspace,
    file: Path,
    *,
    name: str | None = None,
    roots: Sequence[Path] = (),
    replace: bool = False,
    announce: Announce = silent,
) -> Imported:
    """Makes a project of an export; no model and no documents are needed.

    `roots` are the folders where its documents lie here, if they do. With `replace` it takes the
    place of a project of the same name, whose settings stay, and whose folders, as far as they are
    called the same. Whatever is wrong with the file, nothing is changed.
    """
    with open_archive(file) as archive, staging(workspace.locations) as folder:
        name = _short_name(name or archive.manifest.project)
        former = _former(workspace, name) if replace else None
        home = workspace.locations.projects / (former.name if former else _new(workspace, name))
        if former:
            replace_file(folder / former.settings_file.name, former.settings_file.read_bytes())
            workspace.projects.indexes.carry(former.folder, folder)
            roots = roots or _same_roots(former, archive.manifest)
        project = Project(home.name, folder, _roots(archive.manifest, home, roots))
        update_toml(project.settings_file, "project.roots", [str(root) for root in project.roots])
        _carry_settings(workspace, project, archive.manifest)
        counts, notices = _fill(workspace, project, archive, announce, replace=replace)
        if former is None:
            return Imported(workspace.projects.adopt(folder, name), counts, notices)
        put_in_place(folder, former.folder, _guard(workspace, project, former))
        return Imported(workspace.projects.get(former.name), counts, notices)


def _guard(
    workspace: Workspace, project: Project, former: Project
) -> AbstractContextManager[object]:
    """Keeps writers away from an index that is in the folder of the project."""
    # An index in an engine was replaced there already, and must get its settings now.
    if workspace.settings(project).settings.store.url:
        return nullcontext()
    return workspace.projects.indexes.undisturbed(former.folder)


def _short_name(name: str) -> str:
    if len(name.encode("utf-8", "replace")) > _LONGEST_NAME:
        raise UsageError("The name of the project is too long.", "Give it another one with -p.")
    return name


def _new(workspace: Workspace, name: str) -> str:
    if workspace.projects.knows(name):
        raise UsageError(
            f"There is a project {name!r} already.",
            "Replace it with --replace, or give this one another name with -p.",
        )
    return workspace.projects.check_new(name)


def _former(workspace: Workspace, name: str) -> Project | None:
    return workspace.projects.get(name) if workspace.projects.knows(name) else None


def _same_roots(former: Project, manifest: Manifest) -> tuple[Path, ...]:
    """The folders of a project that stand for those of an export, from the first one on."""
    pairs = zip(former.named_roots, manifest.roots, strict=False)
    return tuple(root.path for root, _ in takewhile(lambda pair: pair[0].name == pair[1], pairs))


def _fill(
    workspace: Workspace, project: Project, archive: Archive, announce: Announce, *, replace: bool
) -> tuple[Counts, tuple[str, ...]]:
    settings = workspace.settings(project).settings
    parts = workspace.parts(project, settings, announce, offline=True)
    stamp, notice = _stamp(archive.manifest.stamp, settings, parts)
    their_vectors = stamp["model"] == archive.manifest.stamp["model"] and not notice
    with _replacing(parts.store, allowed=replace) as writing:
        fill(writing, archive, stamp, settings, announce, keep_vectors=their_vectors)
        writing.note_roots([str(root) for root in project.roots])
        counts = writing.catalogue.counts()
    missing = counts.chunks - counts.embedded
    if not notice and missing and takes_vectors(stamp):
        notice = f"{missing:,} of {counts.chunks:,} chunks have no vectors yet."
    make = f"Make them with: dowse index -p {project.typed}"
    notices = [f"{notice} {make}"] if notice else []
    if names := left_aside(archive.manifest):
        notices.append(f"The export asks to set {', '.join(names)}: an import never does that.")
    return counts, tuple(notices)


@contextmanager
def _replacing(store: Store, *, allowed: bool) -> Iterator[IndexWriter]:
    """Writes an index from nothing; when that fails, the former one is there, or none."""
    is_new = False
    try:
        with store.replace() as writing:
            is_new = writing.catalogue.stamp() is None
            if not is_new and not allowed:
                raise UsageError(
                    f"There is an index already: {store.place}.",
                    "Replace it with --replace, or choose another one with: dowse config set"
                    " store.name NAME",
                )
            yield writing
    except BaseException:
        if is_new:
            with suppress(DowseError):  # an engine that is down removes nothing
                store.discard()
        raise
    finally:
        store.close()


def _stamp(theirs: Stamp, settings: Settings, parts: Parts) -> tuple[Stamp, str]:
    """What the index is stamped with, and why their vectors cannot be used, if they cannot.

    Terms and chunks are made here, so only the model is taken from the export; vectors of another
    model than the user's could never be compared with a query.
    """
    model = {
        "model": theirs["model"],
        "dimensions": theirs["dimensions"],
        "embedding_text": EMBEDDING_TEXT,
    }
    wanted = wanted_stamp(settings.read, settings.chunk, parts.analyzer, parts.embedder)
    if not wanted.model and settings.embed.provider == "endpoint":
        raise Refused(
            "How long the vectors of your endpoint are is not known, and an import asks nobody.",
            "Say it: dowse config set embed.endpoint_dimensions NUMBER. Then import again.",
        )
    if not takes_vectors(theirs):
        return wanted.whole, ""
    if wanted.model and wanted.model != model:
        if not takes_vectors(wanted.whole):
            return wanted.whole, ""
        return wanted.whole, (
            f"Imported without vectors: they are of the model {model['model']},"
            f" your settings say {wanted.model['model']}."
        )
    if theirs.get("embedding_text") != EMBEDDING_TEXT:
        return wanted.whole | model, "Imported without vectors: an older dowse made them."
    if context_of(theirs) != settings.chunk.context:
        return wanted.whole | model, (
            f"Imported without vectors: they were made with chunk.context = {context_of(theirs)},"
            f" your settings say {settings.chunk.context}."
        )
    return wanted.whole | model, ""


def _carry_settings(workspace: Workspace, project: Project, manifest: Manifest) -> None:
    """Sets for the project what its index was built with, where the user's settings differ."""
    wishes = carried(manifest)
    try:
        workspace.settings(project, wishes)
    except BadSettings as error:
        raise Damaged(
            f"The export was made with settings that do not fit: {error.message}",
            "Export it once more with this version of dowse.",
        ) from error
    current = workspace.settings(project).settings
    for name, value in _differing(wishes, current).items():
        update_toml(project.settings_file, name, value)


def _differing(wishes: Mapping[str, Any], current: Settings) -> dict[str, Any]:
    # Who wants no vectors, or has them made elsewhere, is not talked into a local model.
    if current.embed.provider != "local":
        wishes = {name: wish for name, wish in wishes.items() if not name.startswith("embed.")}
    return {name: wish for name, wish in wishes.items() if wish != current.value(name)}


def _roots(manifest: Manifest, home: Path, given: Sequence[Path]) -> tuple[Path, ...]:
    """The folders of a project: those that are here, and names for those that are elsewhere."""
    if not 0 < len(manifest.roots) <= _MOST_ROOTS or not all(map(_can_be_name, manifest.roots)):
        raise Damaged("The export does not name its folders.", "Export it once more.")
    if len(given) > len(manifest.roots):
        raise UsageError(
            f"The export has {len(manifest.roots)} folders, not {len(given)}.",
            "Name one folder for each, in the order of docs/export.md.",
        )
    # The ending is there to be taken off: names of roots are what comes before it.
    names = manifest.roots[len(given) :]
    elsewhere = [home / ELSEWHERE / f"{name or home.name}.root" for name in names]
    project = Project(home.name, home, (*given, *elsewhere))
    for root, name in zip(project.named_roots, manifest.roots, strict=True):
        if root.name != name:
            raise UsageError(
                f"{root.path} stands for the folder {name!r} of the export.",
                "Name a folder that is called the same.",
            )
    return project.roots


def _can_be_name(root: str) -> bool:
    return root.isprintable() and "/" not in root and len(root.encode()) <= _LONGEST_NAME
