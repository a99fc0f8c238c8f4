"""`dowse project`, `config`: projects, and the settings of one or of all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import click
import tomlkit
from msgspec import Struct
from rich.text import Text

from dowse._config.schema import find_setting, known_settings
from dowse._config.trust import LocalFile
from dowse._interfaces.cli.call import Call, Command, Group, pass_call
from dowse._interfaces.cli.draw import folded, line, table
from dowse._interfaces.cli.options import setting_names
from dowse._interfaces.records import ProjectRecord, ProjectsRecord, SettingRecord, filled
from dowse._project.registry import Project
from dowse._project.workspace import ResolvedSettings
from dowse._util.files import real_path, short_path, typed_path
from dowse._util.messages import hide_in_value
from dowse.errors import DowseError, NotFound, Refused, UsageError


class RemovedRecord(Struct, frozen=True):
    """What `dowse project remove` did."""

    removed: Annotated[str, "Name of the project that is gone."]


class TrustRecord(Struct, frozen=True):
    """What `dowse project trust` has come to."""

    path: Annotated[str, "The dowse.toml, absolute."]
    trusted: Annotated[bool, "Whether you agree to it as it is now."]
    asked: Annotated[tuple[str, ...], "What it asked for without consent before."]


@click.group(cls=Group)
def project_command() -> None:
    """List, add, describe, move, remove, rename, restore or trust projects.

    A project is a name for one or more folders, with settings and an index of its own.

    Examples:
      dowse project list
      dowse project add ~/notes ~/handbook --name team
      dowse project describe team "How we work, and who does what"
      dowse project describe team --path old/ "Not valid any more"
      dowse project rename work "work and travel"
      dowse project move work ~/notes/work    its folder has been moved
      dowse project restore work              write its project.toml again
      dowse project trust ~/notes             agree to what its dowse.toml asks for
    """


@project_command.command("list", cls=Command, record=ProjectsRecord)
@pass_call
def list_projects(call: Call) -> None:
    """List all projects and their folders."""
    projects, broken = call.workspace.projects.read()
    if not projects and not broken:
        call.remark("There is no project yet. Make one with: dowse index PATH")
    rows = [
        ((project.name if place == 0 else "", "bold"), short_path(root))
        for project in projects
        for place, root in enumerate(project.roots)
    ]
    record = ProjectsRecord(
        tuple(ProjectRecord.of(one, call.workspace) for one in projects), tuple(broken)
    )
    call.answer(record, lambda width: table(rows, width))
    for finding in broken:
        call.remark(f"{finding.what} {finding.repair}")


@project_command.command("add", cls=Command, record=ProjectRecord)
@click.argument(
    "paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(path_type=Path)
)
@click.option("--name", metavar="NAME", help="Its name; by default that of the first folder.")
@pass_call
def add_project(call: Call, paths: tuple[Path, ...], name: str | None) -> None:
    """Make a project of one or more folders, without indexing it yet."""
    project = call.workspace.projects.add([*map(real_path, paths)], name or call.project)
    call.answer(
        ProjectRecord.of(project, call.workspace),
        f"Added {project.name}. Index it with: dowse index -p {project.typed}",
    )


@project_command.command("remove", cls=Command, record=RemovedRecord)
@click.argument("name")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@pass_call
def remove_project(call: Call, name: str, yes: bool) -> None:
    """Forget a project, its settings and its index; documents stay as they are."""
    projects = call.workspace.projects
    if projects.knows(name):
        call.require_yes(f"Forget {name} and remove its index?", yes=yes)
    projects.remove(name)
    call.answer(RemovedRecord(name), f"Removed {name}.")


@project_command.command("move", cls=Command, record=ProjectRecord)
@click.argument("name")
@click.argument("folder", type=click.Path(path_type=Path))
@pass_call
def move_project(call: Call, name: str, folder: Path) -> None:
    """Tell dowse where the folder of a project is now.

    The index, the settings and the description stay. Where a project has several folders, FOLDER
    takes the place of the one that is gone.
    """
    project = call.workspace.projects.move(name, real_path(folder))
    call.answer(
        ProjectRecord.of(project, call.workspace),
        f"{project.name} is in {short_path(real_path(folder))} now. Update its index with: dowse"
        f" index -p {project.typed}",
    )


@project_command.command("rename", cls=Command, record=ProjectRecord)
@click.argument("name")
@click.argument("new_name")
@pass_call
def rename_project(call: Call, name: str, new_name: str) -> None:
    """Give a project another name."""
    project = call.workspace.projects.rename(name, new_name)
    call.answer(
        ProjectRecord.of(project, call.workspace),
        f"{name} is now called {project.name}.",
    )


@project_command.command("describe", cls=Command, record=ProjectRecord)
@click.argument("name")
@click.argument("text", nargs=-1)
@click.option("--path", default="", metavar="PATH", help="Describe what is below this path.")
@click.option("--clear", is_flag=True, help="Remove what is said.")
@pass_call
def describe_project(
    call: Call, name: str, text: tuple[str, ...], *, path: str, clear: bool
) -> None:
    """Describe a project or a path in it, or show the description.

    Agents read it to know where to look, and that of a path goes with every result below it. It is
    kept in dowse's own settings of the project. Without TEXT, it is shown: as you have set it, as
    the dowse.toml says in [project] description, or as the README or index note begins.
    """
    project = call.workspace.projects.get(name)
    if text or clear:
        said = "" if clear else " ".join(text)
        project = call.workspace.projects.describe(name, said, path)
    record = ProjectRecord.of(project, call.workspace)
    said = project.context_of(path) if path else record.description
    call.answer(record, said or "It has no description.")


@project_command.command("restore", cls=Command, record=ProjectRecord)
@click.argument("name")
@click.argument("paths", nargs=-1, metavar="[PATH...]", type=click.Path(path_type=Path))
@pass_call
def restore_project(call: Call, name: str, paths: tuple[Path, ...]) -> None:
    """Write a project.toml again that is lost or cannot be read.

    The folders are those that its index knows, unless you name them. Settings of the project have
    to be set again; what was in the file is kept as project.toml.broken.
    """
    project = call.workspace.projects.restore(name, [*map(real_path, paths)])
    call.answer(
        ProjectRecord.of(project, call.workspace),
        f"Restored {name} over {', '.join(map(short_path, project.roots))}.",
    )


@project_command.command("trust", cls=Command, record=TrustRecord)
@click.argument("path", required=False, type=click.Path(path_type=Path, exists=True))
@click.option("--revoke", is_flag=True, help="Withdraw your consent.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@pass_call
def trust(call: Call, path: Path | None, revoke: bool, yes: bool) -> None:
    """Agree to what a dowse.toml asks for.

    A dowse.toml is among the documents, and people who can change them can change it. What it says
    about other folders, models and endpoints counts only with your consent, and only until the file
    changes. PATH is the file or a folder below it; by default the current one.
    """
    local = _local_file(call, path)
    wishes = local.withheld if revoke else call.workspace.wishes(local)
    if revoke:
        call.workspace.trust.revoke(local.path)
    elif wishes:
        call.aside.say((f"{short_path(local.path)} asks to:", "bold"))
        if local.strange:
            call.aside.say(f"All of it needs consent, because {local.strange}.", indent=2)
        for wish in wishes:
            call.aside.say(wish, indent=2)
        call.require_yes("Do you agree?", yes=yes)
        if _local_file(call, local.path) != local:
            raise Refused(
                "The file has changed meanwhile.", "Look at it again: dowse project trust"
            )
        call.workspace.trust.grant(local.path, local.digest)
    trusted = call.workspace.trust.covers(local.path, local.digest)
    said = "is not trusted." if local.withheld else "asks for nothing that needs consent."
    if trusted:
        said = "is trusted until it changes. It takes effect with: dowse index"
    call.answer(TrustRecord(str(local.path), trusted, wishes), f"{short_path(local.path)} {said}")


def _local_file(call: Call, path: Path | None) -> LocalFile:
    given = typed_path(path or call.here)
    start = real_path(given.parent if given.is_file() else given)  # the file may be a link
    local = call.workspace.local_file(start)
    if local is None:
        raise NotFound(
            f"There is no dowse.toml in {start} or above it.", "Name the folder it is in."
        )
    return local


# ── Settings ────────────────────────────────────────────────────────────────────


class SettingsRecord(Struct, frozen=True):
    """What `dowse config show` shows."""

    project: Annotated[str | None, "The project that the values hold for."]
    settings: Annotated[tuple[SettingRecord, ...], "All of them."]
    withheld: Annotated[tuple[str, ...], "What a dowse.toml asks for without your consent."]


def _setting_values(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Complete values of the setting that is named before, if there are only a few."""
    setting = known_settings().get(str(context.params.get("name", "")))
    kind: Any = setting.type if setting else None
    values = get_args(kind) if get_origin(kind) is Literal else ()
    if kind is bool:
        values = ("true", "false")
    return [str(one) for one in values if one and str(one).startswith(incomplete)]


@click.group(cls=Group)
def config_command() -> None:
    """Show and change settings.

    Examples:
      dowse config show                   all settings, and where they come from
      dowse config get search.top_n
      dowse config set search.top_n 10    for all projects
      dowse config set -p work embed.provider none
      dowse config unset search.top_n

    The settings are explained in docs/settings.md. From weakest to strongest: defaults, your
    config.toml, a dowse.toml next to the documents, the project's own, DOWSE_SECTION_NAME in the
    environment, options of the command.
    """


@config_command.command("show", cls=Command, record=SettingsRecord)
@pass_call
def show(call: Call) -> None:
    """Show all settings, and where each value comes from.

    Names, passwords and parameters in addresses are shown as ***.
    """
    project = _project(call)
    chosen = call.workspace.settings(project)
    records = tuple(_records(chosen))
    call.answer(
        SettingsRecord(project.name if project else None, records, chosen.withheld),
        lambda width: _draw(records, width),
    )


@config_command.command("get", cls=Command, record=SettingRecord)
@click.argument("name", shell_complete=setting_names)
@pass_call
def get(call: Call, name: str) -> None:
    """Print the value of a setting."""
    find_setting(name)
    record = _record_of(name, call.workspace.settings(_project(call)))
    call.answer(record, lambda _: [line(_as_text(record.value))])


@config_command.command(
    "set", cls=Command, record=SettingRecord, context_settings={"ignore_unknown_options": True}
)
@click.argument("name", shell_complete=setting_names)
@click.argument("value", shell_complete=_setting_values)
@pass_call
def set_(call: Call, name: str, value: str) -> None:
    """Set a setting, for all projects or with -p for one.

    A list is written with commas: dowse config set read.exclude "drafts/,*.tmp.md"
    """
    _change(call, name, value)


@config_command.command("unset", cls=Command, record=SettingRecord)
@click.argument("name", shell_complete=setting_names)
@pass_call
def unset(call: Call, name: str) -> None:
    """Remove a setting, for all projects or with -p for one."""
    _change(call, name, None)


def _change(call: Call, name: str, text: str | None) -> None:
    project = call.workspace.projects.get(call.project) if call.project else None
    file = call.workspace.change_setting(name, text, project)
    record = _record_of(name, call.workspace.settings(project or _project(call)))
    call.answer(record, f"{name} = {_as_text(record.value)} (changed in {short_path(file)})")
    if record.origin not in {str(file), "default"}:
        call.remark(f"{short_path(record.origin)} overrides it.")
    for affected in [project] if project else call.workspace.projects.all():
        try:
            with call.workspace.open(affected) as engine:
                needed = engine.mismatches()
        except DowseError as error:  # the setting is changed; other problems go to stderr
            call.remark(str(error))
            continue
        if needed:
            call.remark(
                f"The index of {affected.name} was built with other settings.",
                f"Rebuild it with: dowse index --rebuild -p {affected.typed}",
            )


def _project(call: Call) -> Project | None:
    """Find the project that the call is about, if it is about one."""
    try:
        return call.select()
    except UsageError:
        if call.project:
            raise
        return None


def _records(chosen: ResolvedSettings) -> Iterator[SettingRecord]:
    for name, setting in known_settings().items():
        value = hide_in_value(chosen.settings.value(name))
        origin = chosen.origins.get(name, "default")
        yield filled(SettingRecord, setting, value=value, origin=origin)


def _record_of(name: str, chosen: ResolvedSettings) -> SettingRecord:
    return next(one for one in _records(chosen) if one.name == name)


def _draw(records: tuple[SettingRecord, ...], width: int | None) -> Iterator[Text]:
    """Draw the settings in the syntax of their files."""
    section = ""
    for record in records:
        if record.name.partition(".")[0] != section:
            yield from [Text()] if section else []
            section = record.name.partition(".")[0]
            yield line((f"[{section}]", "bold"))
        drawn = line(record.name.partition(".")[2], (" = ", "dim"), as_toml(record.value))
        if record.origin == "default":
            drawn.stylize("dim")
        else:
            drawn += line((f"  # {short_path(record.origin)}", "green"))
        yield from folded(drawn, width)


def as_toml(value: object) -> str:
    """Write a value as a TOML file has it."""
    return tomlkit.item(list(value) if isinstance(value, tuple) else value).as_string()


def _as_text(value: object) -> str:
    """Write a value as people type it."""
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
