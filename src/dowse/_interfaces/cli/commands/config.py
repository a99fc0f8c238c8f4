"""`dowse config`: show and change settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args, get_origin

import click
import tomlkit
from msgspec import Struct
from rich.text import Text

from dowse._config.schema import find_setting, known_settings
from dowse._interfaces.cli.call import Call, Command, Group, pass_call
from dowse._interfaces.cli.draw import folded, line
from dowse._project.registry import Project
from dowse._project.workspace import ResolvedSettings
from dowse._util.locations import short_path
from dowse._util.messages import hide_in_value
from dowse.errors import DowseError, UsageError

_EXAMPLES = """\
\b
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


class SettingRecord(Struct, frozen=True):
    """A setting that holds."""

    name: Annotated[str, "As in `search.top_n`."]
    value: Annotated[Any, "What holds."]
    default: Annotated[Any, "What would hold if nobody said anything."]
    origin: Annotated[str, "Where the value comes from: `default`, a file, `environment`."]
    meaning: Annotated[str, "What it decides."]


class SettingsRecord(Struct, frozen=True):
    """What `dowse config show` shows."""

    project: Annotated[str | None, "The project that the values hold for."]
    settings: Annotated[tuple[SettingRecord, ...], "All of them."]
    withheld: Annotated[tuple[str, ...], "What a dowse.toml asks for without your consent."]


def setting_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Complete names of settings."""
    return [name for name in known_settings() if name.startswith(incomplete)]


def _setting_values(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Complete values of the setting that is named before, if there are only a few."""
    setting = known_settings().get(str(context.params.get("name", "")))
    kind: Any = setting.type if setting else None
    values = get_args(kind) if get_origin(kind) is Literal else ()
    if kind is bool:
        values = ("true", "false")
    return [str(one) for one in values if one and str(one).startswith(incomplete)]


@click.group(cls=Group, epilog=_EXAMPLES)
def config_command() -> None:
    """Show and change settings."""


@config_command.command("show", cls=Command, record=SettingsRecord)
@pass_call
def show(call: Call) -> None:
    """Show all settings, and where each value comes from.

    Names, passwords and parameters in addresses are shown as ***.
    """
    project = _project(call)
    chosen = call.workspace.settings(project)
    records = tuple(_records(chosen))
    whole = SettingsRecord(project.name if project else None, records, chosen.withheld)
    call.answer(whole, lambda width: _draw(records, width))


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
    """Take back what was set, for all projects or with -p for one."""
    _change(call, name, None)


def _change(call: Call, name: str, text: str | None) -> None:
    project = call.workspace.projects.get(call.project) if call.project else None
    file = call.workspace.change_setting(name, text, project)
    record = _record_of(name, call.workspace.settings(project or _project(call)))
    call.answer(record, f"{name} = {_as_text(record.value)} (changed in {short_path(file)})")
    if record.origin not in {str(file), "default"}:
        call.remark(f"{short_path(record.origin)} says otherwise, and is stronger.")
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
        yield SettingRecord(name, value, setting.default, origin, setting.meaning)


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
        option = record.name.partition(".")[2]
        drawn = line(option, (" = ", "dim"), as_toml(record.value))
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
