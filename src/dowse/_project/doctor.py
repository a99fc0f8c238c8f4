"""The checks of `dowse doctor`: the machine, dowse's own folders, and every project."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from shlex import quote

from msgspec import Struct
from packaging.requirements import Requirement

from dowse import DISTRIBUTION, __version__
from dowse._embed.open import models_status
from dowse._embed.options import EmbedOptions
from dowse._model import Announce, Finding, silent
from dowse._project.archive.import_ import abandoned, clear_abandoned
from dowse._project.engine import Engine
from dowse._project.registry import Project
from dowse._project.workspace import Workspace
from dowse._search.request import SearchRequest
from dowse._util.files import open_to_others, secure, short_path
from dowse._util.messages import counted, hide_secrets, size
from dowse.errors import DowseError

_OLDEST_SQLITE = (3, 35, 0)  # RETURNING


class Check(Struct, frozen=True):
    """One thing that was looked at."""

    about: str
    found: str
    findings: tuple[Finding, ...] = ()


def check_machine() -> Iterator[Check]:
    """Check Python, SQLite and packages."""
    yield Check("dowse", __version__)
    yield Check(
        "Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    )
    is_old = sqlite3.sqlite_version_info < _OLDEST_SQLITE
    old = Finding(f"It is older than {'.'.join(map(str, _OLDEST_SQLITE))}.", "Use a newer Python.")
    yield Check("SQLite", sqlite3.sqlite_version, (old,) if is_old else ())
    yield _check_packages()


def check_folders(workspace: Workspace, *, repair: bool) -> Iterator[Check]:
    """Check dowse's own folders and the user's settings; remove leftovers with `repair`."""
    where = workspace.locations
    for about, folder in (("Config", where.config), ("Data", where.data), ("Cache", where.cache)):
        yield _check_folder(about, folder)
    found = left = open_to_others(where)
    if found and repair:
        secure(where)
        left = open_to_others(where)
    if left:
        more = f" and {counted(len(left) - 1, 'more path')}" if len(left) > 1 else ""
        what = f"Others on this machine can read {short_path(left[0])}{more}."
        # What is left after a repair belongs to another user: only the owner can close it.
        advice = f"chown -R $USER {quote(str(left[0]))}" if repair else "dowse doctor --repair"
        yield Check("Privacy", "dowse's files are open to others", (Finding(what, advice),))
    elif found:
        yield Check("Privacy", "others on this machine could read dowse's files, repaired")
    else:
        yield Check("Privacy", "nobody else on this machine can read dowse's files")
    try:
        origins = workspace.settings(None).origins
        yield Check("Settings", f"{counted(len(origins), 'value')} set for all projects")
    except DowseError as error:
        yield Check("Settings", "cannot be used", (Finding(error.message, error.hint),))
    if folders := abandoned(where):
        said = f"{counted(len(folders), 'folder')} of commands that were killed"
        if repair and clear_abandoned(where) == len(folders):
            yield Check("Leftovers", f"{said}, removed")
        else:
            what = f"{said}, such as {short_path(folders[0])}."
            yield Check("Leftovers", said, (Finding(what, "dowse doctor --repair"),))
    # A user who wants that onnxruntime reports to its maker is heard; see `dowse.__init__`.
    chosen = os.environ.get("ORT_DISABLE_TELEMETRY")
    yield Check(
        "Telemetry",
        "off" if chosen == "1" else f"onnxruntime's is on: ORT_DISABLE_TELEMETRY is {chosen}",
    )


def check_models(workspace: Workspace, projects: Iterable[Project]) -> Iterator[Check]:
    """Check the weights of every model that the user's settings or those of a project name."""
    seen: set[EmbedOptions] = set()
    for project in (None, *projects):
        try:
            options = workspace.settings(project).settings.embed
        except OSError:  # said with the project
            continue
        except DowseError as error:
            if project is None:  # that of a project is reported with the project
                yield Check("Model", f"unknown: {error.message}")
            continue
        if options not in seen:
            seen.add(options)
            yield _check_model(options, workspace.locations.cache)


def _check_model(options: EmbedOptions, cache: Path) -> Check:
    if options.provider == "none":
        return Check("Model", "none: embed.provider is none, so dowse searches by words alone")
    if options.provider == "endpoint":
        return Check("Model", f"{options.endpoint_model} at {hide_secrets(options.endpoint_url)}")
    model = options.model
    if Path(model).expanduser().is_dir():
        return Check("Model", f"used from {model}")
    short, pull = model.rpartition("/")[2].lower(), f"dowse models pull {model}"
    found = [one for one in models_status(cache) if one.name.rpartition("/")[2].lower() == short]
    if not found or not found[0].here:
        return Check("Model", model, (Finding("Its weights are not here yet.", pull),))
    if found[0].damaged:
        damage = Finding(f"Not as they were fetched: {', '.join(found[0].damaged)}.", pull)
        return Check("Model", model, (damage,))
    return Check("Model", f"{model} ({size(found[0].bytes)})")


def check_project(
    workspace: Workspace, project: Project, announce: Announce = silent, *, repair: bool
) -> Check:
    """Check the folders, settings and index of a project; repair what can be with `repair`."""
    about = f"Project {project.name}"
    try:
        with workspace.open(project, announce=announce) as engine:
            found, findings = _examine(engine)
            if repair and any(finding.repair.startswith("dowse doctor") for finding in findings):
                engine.repair()
                found, findings = _examine(engine)
                found += ", repaired"
    except DowseError as error:
        return Check(about, "cannot be used", (Finding(error.message, error.hint),))
    except OSError as error:  # of a folder that cannot be entered
        return Check(about, "cannot be used", (Finding(f"{error}.", "Check its permissions."),))
    return Check(about, found, tuple(findings))


def _examine(engine: Engine) -> tuple[str, list[Finding]]:
    name = engine.project.name
    closed = [root.path for root in engine.project.named_roots if root.is_closed]
    findings = [
        Finding(f"{root} cannot be entered.", f"chmod u+rwx {quote(str(root))}") for root in closed
    ]
    findings += [
        Finding(f"{root} does not exist.", "Restore it, or: dowse project remove " + name)
        for root in engine.project.roots
        if not os.path.exists(root)  # noqa: PTH110  also below a folder that is closed
        and root not in closed
        and not engine.project.is_elsewhere(root)
    ]
    if damage := [Finding(one.what, f"{one.repair} -p {quote(name)}") for one in engine.check()]:
        return "damaged", findings + damage
    if engine.built_with() is None:
        return "not indexed yet", [
            *findings,
            Finding("It has no index.", f"dowse index -p {quote(name)}"),
        ]
    findings += [
        Finding(one, f"dowse index --rebuild -p {quote(name)}") for one in engine.mismatches()
    ]
    return engine.writer() or "its index is whole", findings


def missing_abilities(engine: Engine) -> Iterator[str]:
    """Say what cannot be done with a project here, and why."""
    embed, rerank = engine.settings.embed, engine.settings.rerank
    if embed.provider == "none":
        yield (
            "Search by meaning: embed.provider is none. The user changes that with: dowse config"
            f" set embed.provider local; dowse index --rebuild -p {engine.project.typed}"
        )
    else:
        try:
            # A hypothesis is taken word for word, so that every notice is about the model.
            yield from (
                f"Search by meaning: {notice}"
                for notice in engine.search(
                    SearchRequest("documents", changes={"search.mode": "hyde", "search.top_n": 1})
                ).notices
            )
        except DowseError as error:
            yield f"Search: {error}"
    if embed.provider != "local" and not rerank.model:
        yield "rerank: it needs a local model, or rerank.model."
    if not _installed("markitdown"):
        yield (
            "PDF and Office files: the user installs them with: pip install"
            f" '{DISTRIBUTION}[formats]'"
        )


def _check_packages() -> Check:
    """Check every package that dowse needs on this Python against the versions it can use."""
    required = map(Requirement, importlib.metadata.requires(DISTRIBUTION) or [])
    needed = [one for one in required if not one.marker or one.marker.evaluate({"extra": ""})]
    findings = []
    for one in needed:
        version, what = _installed(one.name), f"{one.name} is not installed."
        if version and one.specifier.contains(version, prereleases=True):
            continue
        if version:
            what = f"{one.name} {version} is installed; dowse needs {one.specifier}."
        findings.append(Finding(what, f'pip install --upgrade "{one.name}{one.specifier}"'))
    optional = "can" if _installed("markitdown") else "cannot"
    return Check(
        "Packages",
        f"{len(needed)} needed; PDF and Office files {optional} be read",
        tuple(findings),
    )


def _installed(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _check_folder(about: str, folder: Path) -> Check:
    there = next(one for one in (folder, *folder.parents) if one.exists())
    free = shutil.disk_usage(there).free
    made = "made" if there == folder else "not made yet"
    findings = []
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        findings.append(Finding(f"{there} cannot be written to.", _how_to_write(about, there)))
    if free < 500_000_000:
        findings.append(
            Finding(f"Only {size(free)} are free.", f"Make room, or set DOWSE_{about.upper()}_DIR.")
        )
    return Check(about, f"{short_path(folder)} ({made}, {size(free)} free)", tuple(findings))


def _how_to_write(about: str, folder: Path) -> str:
    if not hasattr(os, "statvfs"):  # Windows
        return f"Allow yourself to write to it, or set DOWSE_{about.upper()}_DIR."
    if os.statvfs(folder).f_flag & os.ST_RDONLY:  # no permission would help
        return f"Searching works. To index, set DOWSE_{about.upper()}_DIR."
    return f"chmod u+rwx {folder}"
