"""The records of the HTTP API beyond those that all interfaces share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, get_args, get_origin

import msgspec
from msgspec import Struct

from dowse._config.presets import PRESETS, preset_values
from dowse._config.request import filters_of, settable
from dowse._config.schema import Setting, known_settings
from dowse._interfaces.records import IndexRecord, ProjectRecord, StatusRecord, filled
from dowse._model import Event
from dowse._project.engine import Engine
from dowse._project.pool import Job
from dowse._project.registry import Project
from dowse._project.workspace import ResolvedSettings
from dowse._search.pipeline import SEARCH_FLOW
from dowse._search.strategies import MODES, STRATEGIES
from dowse.errors import DowseError

SwitchType = Literal["boolean", "integer", "number", "string", "choice"]
"""How a setting can be shown: a switch, a number, a text, a list to choose from."""


class ErrorRecord(Struct, frozen=True):
    """What went wrong."""

    error: Annotated[str, "What happened."]
    hint: Annotated[str, "What to do next; empty where nothing can be done."]

    @classmethod
    def of(cls, error: DowseError | None) -> ErrorRecord | None:
        """Make the record of an error, if there is one."""
        return cls(error.message, error.hint) if error else None


class HealthRecord(Struct, frozen=True):
    """That the server is there."""

    status: Annotated[Literal["ok"], "Always `ok`."]
    version: Annotated[str, "Of dowse."]


class JobRecord(Struct, frozen=True):
    """An indexing run in the background."""

    project: Annotated[str, "Name of the project."]
    state: Annotated[Literal["running", "done", "failed"], "How far it is."]
    event: Annotated[Event | None, "The last thing it said."]
    report: Annotated[IndexRecord | None, "What it did, once it has ended well."]
    error: Annotated[ErrorRecord | None, "Why it failed."]

    @classmethod
    def of(cls, job: Job, project: Project) -> JobRecord:
        """Make the record of a job."""
        state: Literal["running", "done", "failed"] = "running"
        if job.ended.is_set():
            state = "failed" if job.report is None else "done"
        return cls(
            job.project,
            state,
            job.event,
            IndexRecord.of(project, job.report) if job.report else None,
            ErrorRecord.of(job.error),
        )


class WatchRecord(Struct, frozen=True):
    """How the index is updated while the folder changes."""

    watching: Annotated[bool, "Whether changes are followed as they happen."]
    event: Annotated[Event | None, "The last thing that was said of it."]
    error: Annotated[ErrorRecord | None, "Why they cannot be followed; it is tried again."]


class ServerStatusRecord(StatusRecord, frozen=True):
    """What there is to know about a project, and what the server does for it."""

    job: Annotated[JobRecord | None, "The last indexing run that was asked for."]
    watch: Annotated[WatchRecord, "The watcher."]

    @classmethod
    def around(cls, status: StatusRecord, job: JobRecord | None, watch: WatchRecord) -> Self:
        """Make the record of a status, with what the server does."""
        return filled(cls, status, job=job, watch=watch)


class PageProjectsRecord(Struct, frozen=True):
    """All projects, and the one that is meant when a request names none."""

    projects: Annotated[tuple[ProjectRecord, ...], "By name."]
    current: Annotated[str | None, "The project of requests that name none; null: they must."]


class DocumentPageRecord(Struct, frozen=True):
    """A document, or a part of it."""

    project: Annotated[str, "Name of the project."]
    document: Annotated[str, "Id of the document."]
    path: Annotated[str, "Where the file is, absolute."]
    title: Annotated[str, "Title of the document."]
    first_line: Annotated[int, "Of what the reference means, from 1."]
    last_line: Annotated[int, "The last line of that."]
    total_lines: Annotated[int, "Of the document."]
    text: Annotated[str, "As the index has it; with `whole`, all of the document."]
    html: Annotated[
        str | None,
        "The same, rendered and sanitised; blocks carry `data-first-line` and `data-last-line`.",
    ]
    editor: Annotated[
        str, "Address that opens the file in the user's editor, with `{line}`; empty: it has none."
    ]
    obsidian: Annotated[str, "Address that opens the file in Obsidian; empty: it is in no vault."]


class PictureRecord(Struct, frozen=True):
    """A picture that a document shows."""

    project: Annotated[str, "Name of the project."]
    document: Annotated[str, "Id of the document."]
    name: Annotated[str, "As the document writes its path."]
    type: Annotated[str, "Its media type, such as `image/png`."]
    data: Annotated[bytes, "The file, in base64."]


class SwitchRecord(Struct, frozen=True):
    """A setting that one search may change."""

    name: Annotated[str, "As in `search.top_n`; `set` takes it."]
    section: Annotated[str, "The stage that it belongs to."]
    type: Annotated[SwitchType, "How it can be shown."]
    choices: Annotated[tuple[str, ...], "Of a `choice`: all there are."]
    value: Annotated[Any, "What holds now."]
    default: Annotated[Any, "What would hold if nobody said anything."]
    origin: Annotated[str, "Where the value comes from: `default`, a file, `environment`."]
    meaning: Annotated[str, "What it decides."]

    @classmethod
    def of(cls, setting: Setting, chosen: ResolvedSettings) -> SwitchRecord:
        """Make the record of a setting."""
        section, _, _ = setting.name.partition(".")
        choices = _choices(setting)
        return cls(
            name=setting.name,
            section=section,
            type="choice" if choices else _type(setting),
            choices=choices,
            value=chosen.settings.value(setting.name),
            default=setting.default,
            origin=chosen.origins.get(setting.name, "default"),
            meaning=setting.meaning,
        )


class ModeRecord(Struct, frozen=True):
    """A mode of search."""

    name: Annotated[str, "As `mode` takes it."]
    label: Annotated[str, "How the page calls it."]
    meaning: Annotated[str, "What it does."]


class FilterRecord(Struct, frozen=True):
    """A filter of a search."""

    name: Annotated[str, "As a search takes it."]
    meaning: Annotated[str, "What it demands of a result."]
    repeated: Annotated[bool, "Whether it can be given several times."]
    example: Annotated[str, "A value that it could have."]


class SwitchesRecord(Struct, frozen=True):
    """The settings of a search, in the order of its stages."""

    project: Annotated[str, "The project that the values hold for."]
    settings: Annotated[tuple[SwitchRecord, ...], "All that `set` takes."]
    presets: Annotated[Mapping[str, Mapping[str, Any]], "The settings of each preset."]
    modes: Annotated[tuple[ModeRecord, ...], "The modes of search; the first is the default."]
    filters: Annotated[tuple[FilterRecord, ...], "The filters of a search."]
    strategies: Annotated[tuple[str, ...], "The names of all strategies, in their order."]
    stage_words: Annotated[Mapping[str, str], "What each stage does, in plain words."]
    strategy_words: Annotated[Mapping[str, str], "How each strategy ranks, in plain words."]

    @classmethod
    def of(cls, engine: Engine, chosen: ResolvedSettings) -> SwitchesRecord:
        """Make the record of the settings that hold."""
        known = known_settings()
        switches = tuple(SwitchRecord.of(known[name], chosen) for name in settable("search"))
        return cls(
            engine.project.name,
            switches,
            {name: preset_values(name) for name in PRESETS},
            tuple(ModeRecord(mode.name, mode.label, mode.meaning) for mode in MODES),
            tuple(
                FilterRecord(one.name, one.meaning, one.is_list, one.example)
                for one in filters_of("search")
            ),
            tuple(one.name for one in STRATEGIES),
            {one.name: one.words for one in SEARCH_FLOW},
            {one.name: one.meaning for one in STRATEGIES},
        )


def _choices(setting: Setting) -> tuple[str, ...]:
    """List all that a setting can be; empty is the choice of none."""
    is_choice = get_origin(setting.type) is Literal
    return tuple(str(one) for one in get_args(setting.type) if one) if is_choice else ()


def _type(setting: Setting) -> SwitchType:
    kind = msgspec.json.schema(setting.type).get("type")
    return kind if kind in {"boolean", "integer", "number"} else "string"
